"""Commands and Python functions as kernels: isolated, limited, and never the end of a run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tunewright.errors import OptionError, SpecificationError
from tunewright.kernel import Kernel, Measuring, read_kernel
from tunewright.measure import Measurement, Status
from tunewright.runners.keeper import KEEPERS
from tunewright.runners.program import ProgramRunner, parse_answer
from tunewright.tune import tune

QUICK = Measuring(timeout_s=1.0, memory_mib=256, output_kib=64, rounds=6)
SHELL = {
    "number": ("echo 3.5", Status.OK, ""),
    "chatty": ("echo hello; echo 3.5", Status.OK, ""),
    "json": ('echo \'{"runtimes_ms": [1, 2], "energy_j": 0.5}\'', Status.OK, ""),
    "fails": ("echo broken >&2; exit 3", Status.CRASH, "exit status 3; it said: broken"),
    "silent": ("true", Status.WRONG_RESULT, "gave no answer"),
    "words": ("echo fast", Status.WRONG_RESULT, "neither a number nor JSON"),
    "zero": ("echo 0", Status.WRONG_RESULT, "above zero"),
    "negative": ("echo -1", Status.WRONG_RESULT, "above zero"),
    "nan": ("echo NaN", Status.WRONG_RESULT, "no finite number"),
    "hangs": ("sleep 60", Status.TIMEOUT, "not done within 1 s"),
    "leaves": ("sleep 60 & setsid sleep 60 & echo 1", Status.OK, ""),
    "killed": ("kill -9 $$", Status.CRASH, "signal 9"),
    "floods": ("yes", Status.CRASH, "output limit"),
}


@pytest.fixture
def shell(tmp_path: Path) -> Kernel:
    for name, (text, _, _) in SHELL.items():
        (tmp_path / f"{name}.sh").write_text(text + "\n")
    return Kernel(
        name="shell",
        language="command",
        source=tmp_path / "number.sh",
        entry="",
        arguments=[],
        command=["sh", "{WHAT}.sh"],
        parameters={"WHAT": list(SHELL)},
        measuring=QUICK,
    )


def test_each_way_a_command_can_end_has_its_status_and_cause(
    shell: Kernel, left_behind: Callable[[], list[int]]
) -> None:
    with ProgramRunner(shell) as runner:
        found = dict(zip(SHELL, runner.measure(range(len(SHELL))), strict=True))
        assert len(left_behind()) <= KEEPERS
    for name, (_, status, words) in SHELL.items():
        assert (found[name].status, words in found[name].detail) == (status, True), (name, found[name])
    assert found["json"].runtimes_ms == (1.0, 2.0)
    assert found["json"].metrics["energy_j"] == 0.5
    assert left_behind() == []


def test_a_command_is_tuned_from_a_specification(tmp_path: Path) -> None:
    (tmp_path / "cost.sh").write_text("echo $(( ($1 - 3) * ($1 - 3) + $2 ))\n")
    (tmp_path / "cost.toml").write_text(
        '[kernel]\nlanguage = "command"\ncommand = ["sh", "cost.sh", "{X}", "{N}"]\n'
        "[problem]\nN = 2\n[parameters]\nX = [1, 2, 3, 4, 5]\n[measuring]\nrounds = 6\n"
    )
    run = tune(read_kernel(tmp_path / "cost.toml"))
    assert run.best_configuration == {"X": 3}
    assert run.decision is not None
    assert run.decision.speedup == 3.0


PYTHON = """
import math

def returns(X, N):
    if X == 4:
        raise ValueError("not four")
    if X == 5:
        while True:
            pass
    if X == 6:
        import os
        os._exit(7)
    if X == 7:
        return {"runtime_ms": 1.5, "energy_j": math.inf}
    return X * N

def does(X, N):
    sum(range(X * N))
"""


@pytest.fixture
def function(tmp_path: Path) -> Kernel:
    source = tmp_path / "function.py"
    source.write_text(PYTHON)
    return Kernel(
        name="function",
        language="python",
        source=source,
        entry="returns",
        arguments=[],
        problem={"N": 2},
        parameters={"X": [1, 4, 5, 6, 7]},
        measuring=QUICK,
    )


def test_what_a_function_returns_is_its_time_and_what_it_does_wrong_is_a_status(function: Kernel) -> None:
    with ProgramRunner(function) as runner:
        good, raises, hangs, exits, nonsense = runner.measure(range(5))
    assert (good.status, good.runtimes_ms) == (Status.OK, (2.0,))
    assert raises.status is Status.CRASH
    assert "not four" in raises.detail
    assert hangs.status is Status.TIMEOUT
    assert exits.status is Status.CRASH
    assert nonsense.status is Status.WRONG_RESULT
    assert "no finite number" in nonsense.detail


def test_a_function_that_returns_nothing_is_timed(function: Kernel) -> None:
    kernel = replace(function, entry="does", parameters={"X": [1000, 100_000]}, problem={"N": 10})
    with ProgramRunner(kernel) as runner:
        short, long = runner.measure([0, 1])
    assert len(short.runtimes_ms) == kernel.measuring.samples_min
    assert min(long.runtimes_ms) > max(short.runtimes_ms)


def test_what_cannot_be_found_is_a_specification_error(function: Kernel, tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="no file"):
        ProgramRunner(replace(function, source=tmp_path / "absent.py"))
    with pytest.raises(SpecificationError, match="no command"):
        ProgramRunner(replace(function, language="command"))


@pytest.mark.parametrize("text", ["", "[]", "{}", "true", "[1, null]", '"3"', "[" * 10_000, '{"runtime_ms": "x"}'])
def test_an_answer_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_answer(text)


def test_a_lost_worker_is_replaced(shell: Kernel) -> None:
    with ProgramRunner(shell) as runner:
        assert runner.measure([0])[0].status is Status.OK
        keeper = runner._worker._keeper
        assert keeper is not None
        keeper.process.kill()
        keeper.process.wait()
        assert isinstance(runner.measure([0])[0], Measurement)
        assert runner.measure([0])[0].status is Status.OK
