"""A run with a deadline ends at it, whatever a compiler, a kernel or the final comparison is doing."""

import json
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tunewright.budget import NEVER, Budget, Clock, Deadline
from tunewright.cli import main
from tunewright.errors import DeadlineError, OptionError
from tunewright.kernel import Argument, Kernel, Measuring, Role, Verification
from tunewright.measure import Measurement, Objective, Status, Stopped
from tunewright.plan import Plan, drive
from tunewright.record import record
from tunewright.records import PartialRecord, Store, read_recording
from tunewright.runners.host import HostRunner
from tunewright.runners.program import ProgramRunner
from tunewright.runners.punctual import PunctualRunner
from tunewright.space import SearchSpace
from tunewright.tune import tune

PASSED = Deadline(time.monotonic() - 1.0)
DEADLINE_S = 4.0
LATE_S = 12.0
"""Far less than whatever hangs would take, and more than a busy machine adds."""

ADD = """
void add(float *o, const float *a, int n) {
#if BS == 64
  %s
#endif
  for (int i = 0; i < n; i++) o[i] = a[i] + 1.0f;
}
"""
HANG = "for (volatile int k = 0;;) { (void)k; }"
Make = Callable[..., Kernel]


@pytest.fixture
def add(tmp_path: Path, compiler: str) -> Make:
    """A kernel whose default is BS=32; BS=64 misbehaves as told."""

    def make(what: str = "", **changes: Any) -> Kernel:
        (tmp_path / "add.c").write_text(ADD % what)
        np.save(tmp_path / "answer.npy", np.arange(1, 257, dtype=np.float32))
        settings: dict[str, Any] = {
            "name": "add",
            "source": tmp_path / "add.c",
            "entry": "add",
            "arguments": [
                Argument(name="o", dtype="float32", shape=(256,), role=Role.OUT),
                Argument(name="a", dtype="float32", shape=(256,), init="range"),  # type: ignore[arg-type]
                Argument(name="n", dtype="int32", value=256),
            ],
            "parameters": {"BS": [32, 64]},
            "flags": ("-O1",),
            "verification": Verification(files={"o": tmp_path / "answer.npy"}),
            "measuring": Measuring(sampling_s=0.01, timeout_s=300.0, compile_timeout_s=300.0, rounds=6),
        }
        return Kernel(**{**settings, **changes})

    return make


def compiler_stub(folder: Path, hangs_for: str) -> str:
    """A compiler that hangs where its arguments match, and is gcc otherwise."""
    stub = folder / "cc-stub"
    stub.write_text(f'#!/bin/sh\ncase "$*" in {hangs_for}) sleep 300;; esac\nexec gcc "$@"\n')
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    return str(stub)


@contextmanager
def in_time() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < LATE_S


def one_after_another(space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = ()) -> Plan:
    for i in range(space.size):
        yield [i]


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True, "3"])
def test_a_deadline_is_a_finite_time_ahead(seconds: Any) -> None:
    with pytest.raises(OptionError, match="finite number above 0"):
        Deadline.after(seconds)


def test_a_deadline_passes_once_and_never_without_one() -> None:
    assert Deadline.after(None) is NEVER
    assert NEVER.left_s == float("inf")
    assert 0 < Deadline.after(1000).left_s <= 1000
    assert PASSED.left_s == 0
    with pytest.raises(DeadlineError):
        PASSED.check()


class Instant:
    """Measures in no time, until the third one is cut off."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def prepare(self, ids: Sequence[int]) -> None:
        pass

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        self.asked += ids
        if len(self.asked) > 2:
            raise DeadlineError("now")
        return [Measurement(Status.OK, (1.0,)) for _ in ids]


def test_the_driver_keeps_what_was_measured_before_the_deadline() -> None:
    space = SearchSpace({"x": list(range(9))})
    outcome = drive(one_after_another, space, Instant(), Objective(), Budget(), Random(0))
    assert outcome.stopped is Stopped.DEADLINE
    assert [trial.id for trial in outcome.trials] == [0, 1]
    assert outcome.failure is None


def test_after_the_deadline_not_even_what_is_known_is_asked_for() -> None:
    inner = Instant()
    assert PunctualRunner(inner, NEVER).measure([1])
    with pytest.raises(DeadlineError):
        PunctualRunner(inner, PASSED).measure([1])
    assert inner.asked == [1]


def test_a_compiler_that_hangs_does_not_outlast_the_deadline(
    add: Make, tmp_path: Path, left_behind: Callable[[], list[int]]
) -> None:
    kernel = add(compiler=compiler_stub(tmp_path, "*-DBS=64*"))
    with in_time(), Store(tmp_path / "store.sqlite") as store:
        run = tune(kernel, optimizer=one_after_another, deadline_s=DEADLINE_S, store=store)
        states = store._db.execute("SELECT state, attempts, pid FROM measurement ORDER BY id").fetchall()
    assert run.stopped is Stopped.DEADLINE
    assert [kernel.space.config(trial.id)["BS"] for trial in run.trials] == [32], "the default comes first"
    assert run.best_configuration == {"BS": 32}
    assert [state[:2] for state in states] == [("done", 0), ("started", 0)], "nobody is blamed"
    assert states[1][2] is None
    assert left_behind() == []


def test_a_measurement_in_flight_is_ended_and_is_no_failure(
    add: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = add(HANG)
    monkeypatch.setattr(sys.modules["tunewright.tune"], "_FOR_LEADERS", 0.5)  # time enough on a busy machine
    with in_time(), Store(tmp_path / "store.sqlite") as store:
        run = tune(kernel, optimizer=one_after_another, deadline_s=2 * DEADLINE_S, store=store)
        again = store.find(store.task(run.task), {"BS": 64})
    assert run.stopped is Stopped.DEADLINE
    assert dict(run.counts) == {Status.OK: 1}
    assert again is None, "it is measured again by the next run"
    assert run.decision is not None, "the last part is for the leaders"
    assert len(run.decision.best.rounds) == 6


@pytest.mark.parametrize("hangs_for", ["*--version*", "*-MM*", "*-shared*"])
def test_a_compiler_that_hangs_from_the_start_is_not_waited_for(add: Make, tmp_path: Path, hangs_for: str) -> None:
    kernel = add(compiler=compiler_stub(tmp_path, hangs_for))
    with in_time(), pytest.raises(DeadlineError, match="allow more time"):
        tune(kernel, deadline_s=1.0)


def test_a_reference_that_hangs_leaves_an_empty_run(add: Make) -> None:
    kernel = add(HANG, default={"BS": 64}, verification=Verification())
    with in_time():
        run = tune(kernel, deadline_s=2.0)
    assert (run.stopped, run.trials, run.best) == (Stopped.DEADLINE, (), None)
    assert any("nothing was measured" in note for note in run.notes)


def test_rounds_that_do_not_fit_in_are_left_out_for_all_alike(add: Make) -> None:
    with in_time(), HostRunner(add(), deadline=Deadline.after(3.0)) as runner:
        rounds = runner.remeasure([0, 1], 10**6)
    assert 0 <= len(rounds[0]) == len(rounds[1]) < 10**6


def test_too_few_rounds_are_no_decision(add: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    remeasure = HostRunner.remeasure
    monkeypatch.setattr(HostRunner, "remeasure", lambda self, ids, rounds: remeasure(self, ids, rounds - 1))
    run = tune(add(), deadline_s=1000)
    assert run.decision is None
    assert run.stopped is Stopped.DEADLINE
    assert run.best is not None
    assert any("5 rounds were done before the deadline, a decision needs 6" in note for note in run.notes)


def test_a_far_deadline_changes_nothing(add: Make) -> None:
    run = tune(add(), deadline_s=1000)
    assert run.stopped is Stopped.EXHAUSTED
    assert run.decision is not None


def program(folder: Path, text: str) -> Kernel:
    (folder / "program.sh").write_text(text)
    return Kernel(
        name="program", language="command", source=folder, entry="", arguments=[], command=["sh", "program.sh", "{X}"],
        parameters={"X": [1, 2]}, measuring=Measuring(timeout_s=300.0, rounds=6),
    )  # fmt: skip


def test_u110_a_program_that_hangs_is_ended_at_the_deadline(tmp_path: Path) -> None:
    kernel = program(tmp_path, "[ $1 = 2 ] && sleep 300\necho $1\n")
    with in_time():
        run = tune(kernel, optimizer=one_after_another, deadline_s=3.0)
    assert run.stopped is Stopped.DEADLINE
    assert run.best_configuration == {"X": 1}
    assert dict(run.counts) == {Status.OK: 1}


def test_rounds_of_programs_end_at_the_deadline_too(tmp_path: Path) -> None:
    with in_time(), ProgramRunner(program(tmp_path, "echo $1\n"), deadline=Deadline.after(1.0)) as runner:
        rounds = runner.remeasure([0, 1], 10**6)
    assert len(rounds[0]) == len(rounds[1]) < 10**6


def test_a_recording_with_a_deadline_holds_what_was_measured(add: Make, tmp_path: Path) -> None:
    kernel = replace(add(HANG), parameters={"BS": [32, 64, 128]})
    out = tmp_path / "add.npz"
    with in_time(), Store(tmp_path / "store.sqlite") as store:
        found = record(kernel, out, store, deadline_s=DEADLINE_S, patience_s=0.01, seed=1)
        assert store.find(store.task(found.task), {"BS": 64}) is None
    assert isinstance(found, PartialRecord)
    assert 64 not in {found.space.config(i)["BS"] for i in found.rows}
    again, _ = read_recording(out)
    assert again.notes == (f"ended at the deadline, after {len(found.rows)} of 3 configurations",)


def test_a_recording_without_a_row_is_an_error_and_no_file(add: Make, tmp_path: Path) -> None:
    kernel = add(HANG, parameters={"BS": [64]})
    with in_time(), Store(tmp_path / "store.sqlite") as store, pytest.raises(DeadlineError):
        record(kernel, tmp_path / "add.npz", store, deadline_s=2.0, patience_s=0.01)
    assert not (tmp_path / "add.npz").exists()


SPEC = """
[kernel]
source = "add.c"
entry = "add"
flags = ["-O1"]
[[arguments]]
name = "o"
dtype = "float32"
shape = [256]
role = "out"
[[arguments]]
name = "a"
dtype = "float32"
shape = [256]
[[arguments]]
name = "n"
dtype = "int32"
value = 256
[parameters]
BS = [32, 64]
[measuring]
sampling_s = 0.01
timeout_s = 300.0
rounds = 6
"""


def test_the_command_line_has_it_with_the_exit_code_of_a_spent_budget(
    tmp_path: Path, compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "add.c").write_text(ADD % HANG)
    spec = tmp_path / "add.toml"
    spec.write_text(SPEC)
    with in_time():
        assert main(["tune", str(spec), "--deadline", "3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["stopped"] == "deadline"
    assert data["counts"] == {"ok": 1}
    spec.write_text(SPEC + "[default]\nBS = 64\n")
    with in_time():
        assert main(["tune", str(spec), "--deadline", "2"]) == 1
    assert "nothing was measured" in capsys.readouterr().out
    out = tmp_path / "add.npz"
    with in_time():
        main(["record", str(spec), "--deadline", "3", "--out", str(out), "--patience", "0.01", "--fix", "BS=64"])
    assert not out.exists()
    assert "deadline" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tune", str(spec), "--deadline", "0"])
