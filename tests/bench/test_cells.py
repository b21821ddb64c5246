"""Optimizers that fail, hang or attack lose their own runs and nothing else; results are kept and reused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tunewright.bench import cell as cells_module
from tunewright.bench.cell import Cell, Conditions, run_cells
from tunewright.bench.contestant import contestant
from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.runs import Run, pack, unpack
from tunewright.bench.suite import read_suite
from tunewright.errors import OptionError, RecordError

BODIES = {
    "raises": ("raise ValueError('lost')", "the optimizer raised ValueError: lost"),
    "not_ids": ("yield ['x']", "the optimizer proposed 'x'"),
    "exits": ("import os; os._exit(3)", "ended with status 3"),
    "kills": ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
    "hangs": ("while True: pass", "timeout"),
    "swallows": (
        "while True:\n        try:\n            yield [0]\n        except GeneratorExit:\n            pass",
        "",
    ),
    "eats": ("x = 'a' * (1 << 34); yield [0]", "MemoryError"),
    "forks": ("import os; os.fork()\n    yield [0]", "ended by signal 31"),
    "connects": ("import socket; socket.socket()\n    yield [0]", "ended by signal 31"),
}


@pytest.fixture
def prepared(suite_file: Callable[..., Path]) -> Prepared:
    return prepare(read_suite(suite_file()).entries[0])


def cell(what: str, prepared: Prepared, count: int = 3, first: int = 0) -> Cell:
    return Cell(contestant(what), prepared, Conditions(seconds=prepared.baseline.end_s), first, count)


@pytest.mark.parametrize("name", BODIES)
def test_an_optimizer_that_misbehaves_loses_its_own_runs_only(name: str, prepared: Prepared, tmp_path: Path) -> None:
    body, words = BODIES[name]
    file = tmp_path / f"{name}.py"
    file.write_text(f"def {name}(space, budget, rng, *, start=()):\n    {body}\n    yield [1]\n")
    bad, good = run_cells([cell(str(file), prepared), cell("random", prepared)], run_timeout_s=0.7, memory_mib=512)
    assert len(bad) == len(good) == 3
    assert all(words in run.failure for run in bad)
    assert not any(run.failure for run in good)


def test_runs_made_before_a_process_ended_are_kept_and_the_rest_is_made(prepared: Prepared, tmp_path: Path) -> None:
    file = tmp_path / "sometimes.py"
    file.write_text(
        "import os\n"
        "def sometimes(space, budget, rng, *, start=()):\n"
        "    if rng.random() < 0.2:\n"
        "        os._exit(1)\n"
        "    while True:\n"
        "        yield [space.sample(rng)]\n"
    )
    [runs] = run_cells([cell(str(file), prepared, 10)])
    assert len(runs) == 10
    assert 0 < sum(bool(run.failure) for run in runs) < 10
    assert all(len(run.ids) for run in runs if not run.failure)


def test_results_are_reused_until_the_optimizers_text_changes(prepared: Prepared, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    known: list[bool] = []

    def again() -> list[int]:
        known.clear()
        [runs] = run_cells([cell(str(file), prepared)], on_done=lambda _, was: known.append(was))
        return [len(run.ids) for run in runs]

    file.write_text("def mine(space, budget, rng, *, start=()):\n    yield [0]\n")
    assert (again(), known) == ([1, 1, 1], [False])
    assert (again(), known) == ([1, 1, 1], [True])
    file.write_text("def mine(space, budget, rng, *, start=()):\n    yield [0, 1]\n")
    assert (again(), known) == ([2, 2, 2], [False])


def test_a_damaged_result_in_the_cache_is_made_again(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    one = cell("random", prepared)
    [before] = run_cells([one])
    [file] = (cells_module.cache_folder() / "cells").glob("*.npz")
    file.write_bytes(file.read_bytes()[:-40])
    [after] = run_cells([one])
    assert [run.ids.tolist() for run in after] == [run.ids.tolist() for run in before]


def test_an_option_that_does_not_fit_is_an_error_not_a_score(prepared: Prepared) -> None:
    with pytest.raises(OptionError, match="nonsense"):
        run_cells([cell("genetic,nonsense=3", prepared)])


def test_an_optimizer_file_without_an_optimizer_is_an_error(prepared: Prepared, tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    with pytest.raises(OptionError, match="holds no generator function"):
        run_cells([cell(str(file), prepared)])


def test_naming_a_contestant_runs_none_of_its_code(tmp_path: Path) -> None:
    file = tmp_path / "touch.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    contestant(str(file))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "runs",
    [
        [Run(np.array([999], np.int32))],
        [Run(np.array([1, 1], np.int32))],
        [Run(np.array([-1], np.int32))],
    ],
)
def test_results_that_cannot_be_are_refused(runs: list[Run]) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        unpack(pack(runs), 216)


def test_runs_survive_packing() -> None:
    runs = [Run(np.array([3, 1], np.int32), None, 5, "budget", 0.25), Run(np.zeros(0, np.int32), failure="lost")]
    back = unpack(pack(runs), 4)
    assert [run.ids.tolist() for run in back] == [[3, 1], []]
    assert [(r.repeats, r.stopped, r.cpu_s, r.failure) for r in back] == [(5, "budget", 0.25, ""), (0, "", 0.0, "lost")]
