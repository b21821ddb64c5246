"""The store keeps every finished measurement, whatever happens to the processes that write it."""

import importlib.util
import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright.errors import RecordError
from tunewright.measure import TRANSIENT, Decision, Leader, Measurement, Objective, Status, Stopped, Task, Trial
from tunewright.records import Store
from tunewright.records import store as module
from tunewright.runners.stored import StoredRunner
from tunewright.space import SearchSpace

PROGRAM = Path(__file__).with_name("stored_replay.py")
TASK = Task("k", "cpu", {"N": 64}, "gcc 12", "abc", {"flags": ["-O3"], "measuring": {"warmup": 1}})
SPACE = SearchSpace({"x": [1, 2, 4], "mode": ["a", "b"]})
GOOD = Measurement(Status.OK, (1.5, 0.1 + 0.2), 0.25, 0.5, 1.0, {"cpu_ms": 1.4}, "fine")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "deep" / "store.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stored_replay", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


measurements = st.builds(
    Measurement,
    st.just(Status.OK),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=6).map(tuple),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from([(), ("censored",), ("confirmed", "censored")]),
)


@given(measurements)
def test_what_is_written_is_read_back_bit_for_bit(measured: Measurement) -> None:
    with Store(":memory:") as opened:
        key = opened.task(TASK)
        opened.begin(key, {"x": 1})
        opened.finish(key, {"x": 1}, measured)
        assert opened.find(key, {"x": 1}) == measured


@pytest.mark.parametrize("status", list(Status))
def test_failures_are_kept_with_their_cause(store: Store, status: Status) -> None:
    key = store.task(TASK)
    measured = Measurement(status, (1.0,) if status is Status.OK else (), detail="why\nnot")
    store.finish(key, {"x": 1}, measured)
    assert store.find(key, {"x": 1}) == measured


@pytest.mark.parametrize(
    "other",
    [
        replace(TASK, source_digest="abd"),
        replace(TASK, problem={"N": 128}),
        replace(TASK, device="other cpu"),
        replace(TASK, toolchain="gcc 13"),
        replace(TASK, kernel="k2"),
        replace(TASK, settings={"flags": ["-O2"], "measuring": {"warmup": 1}}),
        replace(TASK, settings={"flags": ["-O3"], "measuring": {"warmup": 10}}),
    ],
)
def test_u079_u080_u083_a_measurement_belongs_to_source_size_device_and_settings(store: Store, other: Task) -> None:
    store.finish(store.task(TASK), {"x": 1}, GOOD)
    assert store.find(store.task(other), {"x": 1}) is None


def test_u071_the_order_of_parameters_does_not_matter(store: Store) -> None:
    key = store.task(TASK)
    store.finish(key, {"x": 1, "mode": "a"}, GOOD)
    assert store.find(key, {"mode": "a", "x": 1}) == GOOD


class Counting:
    """A runner that counts."""

    def __init__(self) -> None:
        self.prepared: list[int] = []
        self.measured: list[int] = []
        self.learned: list[Measurement] = []

    def prepare(self, ids: list[int]) -> None:
        self.prepared += ids

    def measure(self, ids: list[int]) -> list[Measurement]:
        self.measured += ids
        return [GOOD for _ in ids]

    def learn(self, measured: Measurement) -> None:
        self.learned.append(measured)

    def close(self) -> None:
        pass


def test_u082_a_grown_space_measures_only_what_is_new(store: Store) -> None:
    key = store.task(TASK)
    small, large = SearchSpace({"x": [1, 2, 4]}), SearchSpace({"x": [1, 2, 4, 8]})
    StoredRunner(Counting(), store, key, small).measure(range(small.size))
    inner = Counting()
    runner = StoredRunner(inner, store, key, large)
    runner.prepare(range(large.size))
    assert runner.measure(range(large.size)) == [GOOD] * 4
    assert [large.config(i) for i in inner.measured] == [{"x": 8}]
    assert inner.prepared == inner.measured
    assert runner.reused == 3
    assert inner.learned == [GOOD] * 3, "what is served, once each"


def killed_while_measuring(store: Store, key: str) -> None:
    """As if a process had begun and gone without a word."""
    store.begin(key, {"x": 1})
    store._db.execute("UPDATE measurement SET pid = 4000000 WHERE state = 'started'")


def test_u029_u085_u103_u109_what_took_its_process_down_is_tried_once_more_then_called_a_crash(store: Store) -> None:
    key = store.task(TASK)
    killed_while_measuring(store, key)
    assert store.find(key, {"x": 1}) is None
    killed_while_measuring(store, key)
    found = store.find(key, {"x": 1})
    assert found is not None
    assert found.status is Status.CRASH
    assert "began 2 times and never ended" in found.detail
    store.finish(key, {"x": 1}, GOOD)
    assert store.find(key, {"x": 1}) == GOOD


def test_being_measured_elsewhere_or_interrupted_is_no_crash(store: Store) -> None:
    key = store.task(TASK)
    for _ in range(5):
        store.begin(key, {"x": 1})
        assert store.find(key, {"x": 1}) is None, "this process is alive"
        store.abandon(key, {"x": 1}, blame=False)
        assert store.find(key, {"x": 1}) is None


class Failing(Counting):
    def measure(self, ids: list[int]) -> list[Measurement]:
        raise KeyboardInterrupt


class Losing(Counting):
    def measure(self, ids: list[int]) -> list[Measurement]:
        self.measured += ids
        return [Measurement(Status.CRASH, detail="the worker is gone", remarks=(TRANSIENT,)) for _ in ids]


def test_an_interrupted_measurement_is_made_again_however_often(store: Store) -> None:
    key = store.task(TASK)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            StoredRunner(Failing(), store, key, SPACE).measure([0])
    assert StoredRunner(Counting(), store, key, SPACE).measure([0]) == [GOOD]


def test_a_failure_from_outside_is_not_kept_but_what_loses_its_worker_twice_is_given_up(store: Store) -> None:
    key = store.task(TASK)
    inner = Losing()
    for _ in range(4):
        StoredRunner(inner, store, key, SPACE).measure([0])
    assert len(inner.measured) == 2
    found = store.find(key, SPACE.config(0))
    assert found is not None
    assert "not tried again" in found.detail


def test_the_first_of_two_processes_to_finish_a_measurement_wins(store: Store) -> None:
    key = store.task(TASK)
    with Store(store.path) as other:
        other.begin(key, {"x": 1})
        store.begin(key, {"x": 1})
        other.finish(key, {"x": 1}, GOOD)
        store.finish(key, {"x": 1}, replace(GOOD, detail="later"))
    assert store.find(key, {"x": 1}) == GOOD


def test_u076_four_processes_lose_nothing_and_double_nothing(store: Store) -> None:
    code = (
        "import sys\n"
        "from tunewright.records import Store\n"
        "from tunewright.measure import Measurement, Status, Task\n"
        "me = int(sys.argv[2])\n"
        "with Store(sys.argv[1]) as store:\n"
        "    key = store.task(Task('shared'))\n"
        "    for i in range(50):\n"
        "        for x in (f'own {me} {i}', f'common {i}'):\n"
        "            store.begin(key, {'x': x})\n"
        "            store.finish(key, {'x': x}, Measurement(Status.OK, (1.0,)))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(store.path), str(me)]) for me in range(4)]
    reads = 0
    while any(process.poll() is None for process in running):
        with sqlite3.connect(store.path) as raw:
            raw.execute("SELECT COUNT(*) FROM measurement").fetchone()
        reads += 1
    assert [process.returncode for process in running] == [0] * 4
    with sqlite3.connect(store.path) as raw:
        rows = raw.execute("SELECT configuration FROM measurement WHERE state = 'done'").fetchall()
    assert len(rows) == len(set(rows)) == 4 * 50 + 50
    assert reads


def test_u075_a_killed_process_holds_no_lock(store: Store) -> None:
    code = (
        "import signal, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "signal.pause()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    holder.kill()
    holder.communicate()
    key = store.task(TASK)
    store.finish(key, {"x": 1}, GOOD)
    assert store.find(key, {"x": 1}) == GOOD


@pytest.mark.slow
def test_u084_killed_at_twenty_moments_a_run_resumes_exactly(tmp_path: Path, program: ModuleType) -> None:
    rng = random.Random(5)
    path = tmp_path / "store.sqlite"
    with Store(tmp_path / "whole.sqlite") as whole:
        expected, _ = program.search(whole, 0.0)
    done_before = 0
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(path), "0.01"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(rng.randrange(1, 6)):  # measurements begun before it is hit
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with sqlite3.connect(path) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if raw.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'measurement'").fetchone()[0]:
                done = raw.execute("SELECT COUNT(*) FROM measurement WHERE state = 'done'").fetchone()[0]
                assert done >= done_before
                done_before = done
                # hit twice in the same measurement it would be called a crash; that is another test's promise
                raw.execute("UPDATE measurement SET attempts = 0, pid = NULL WHERE state = 'started'")
    with Store(path) as opened:
        resumed, new = program.search(opened, 0.0)
        assert new <= program.EVALUATIONS - done_before
    assert resumed == expected


@pytest.mark.parametrize("pages", [14, 17, 20, 23, 26])
def test_a_full_disk_loses_no_finished_measurement_and_ends_no_run(
    tmp_path: Path, program: ModuleType, pages: int
) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as opened:
        key = opened.task(program.TASK)
        opened._db.execute(f"PRAGMA max_page_count = {pages}")
        landscape = program.Landscape(0.0)
        runner = StoredRunner(landscape, opened, key, program.SPACE)
        answers = [runner.measure([i])[0] for i in range(300)]
        assert len(answers) == 300, "measuring went on"
        assert "full" in runner.problem
        kept = [i for i in range(300) if opened.find(key, program.SPACE.config(i)) is not None]
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Store(path) as opened:
        assert kept
        for i in kept:
            assert opened.find(key, program.SPACE.config(i)) == answers[i]


def test_u077_a_store_that_cannot_be_read_does_not_stop_measuring(store: Store) -> None:
    key = store.task(TASK)
    runner = StoredRunner(Counting(), store, key, SPACE)
    store.close()
    assert runner.measure([0]) == [GOOD]
    assert "cannot be" in runner.problem


def decision() -> Decision:
    leaders = [Leader(i, 1.0 + i, 0.9 + i, 1.1 + i, (1.0 + i, 1.0 + i)) for i in range(3)]
    return Decision(leaders[0], (leaders[1],), leaders[2], 3.0, 2.9, 3.1)


def test_u066_u080_the_best_is_looked_up_by_its_conditions(store: Store) -> None:
    request = {"seed": 1}
    for task in (TASK, replace(TASK, problem={"N": 128}), replace(TASK, device="gpu")):
        key = store.task(task)
        run = store.start_run(key, SPACE, Objective(), "ridge", request, "0")
        store.end_run(run, Stopped.BUDGET, decision(), SPACE, ["a note"])
    assert len(store.best(kernel="k")) == 3
    found = next(row for row in store.best(kernel="k", device="cpu") if row.task == TASK)
    assert found.configuration == SPACE.config(0)
    assert (found.cost, found.speedup) == (1.0, 3.0)
    assert store.best(kernel="other") == []
    assert store.decision(store.task(TASK), SPACE, request) == decision()
    assert store.decision(store.task(TASK), SPACE, {"seed": 2}) is None


def test_runs_show_what_goes_on_in_another_process(store: Store) -> None:
    key = store.task(TASK)
    run = store.start_run(key, SPACE, Objective(), "ridge", {"seed": 1, "evaluations": 4}, "0")
    for position, (measured, cost) in enumerate([(GOOD, 1.5), (Measurement(Status.CRASH), float("inf"))]):
        store.finish(key, SPACE.config(position), measured)
        trial = Trial(position, measured, cost, 1.75 * (position + 1))
        store.add_trial(run, key, position, SPACE.config(position), trial)
    with Store(store.path) as other:
        [row] = other.runs()
    assert (row.trials, row.failures, row.best_cost, row.clock_s) == (2, 1, 1.5, 3.5)
    assert row.alive
    assert row.ended is None
    store._db.execute("UPDATE run SET pid = 4000000")
    [row] = store.runs(kernel="k")
    assert not row.alive, "its process is gone"


def test_collecting_deletes_old_runs_and_what_they_alone_used(store: Store) -> None:
    key = store.task(TASK)
    run = store.start_run(key, SPACE, Objective(), "ridge", {}, "0")
    store.finish(key, SPACE.config(0), GOOD)
    store.add_trial(run, key, 0, SPACE.config(0), Trial(0, GOOD, 1.0, 1.0))
    store.end_run(run, Stopped.BUDGET, None, SPACE, [])
    assert store.collect(older_than_s=60) == {"runs": 0, "measurements": 0, "tasks": 0}
    assert store.find(key, SPACE.config(0)) == GOOD
    assert store.collect(older_than_s=-1) == {"runs": 1, "measurements": 1, "tasks": 1}
    assert store.runs() == []


def test_a_store_of_another_version_is_refused_and_kept(store: Store) -> None:
    store._db.execute(f"PRAGMA user_version = {module.SCHEMA_VERSION + 1}")
    store.close()
    before = store.path.read_bytes()
    with pytest.raises(RecordError, match=f"version {module.SCHEMA_VERSION + 1}"):
        Store(store.path)
    assert store.path.read_bytes() == before


def test_an_older_store_is_migrated_with_its_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = store.task(TASK)
    store.finish(key, {"x": 1}, GOOD)
    store.close()
    monkeypatch.setattr(module, "SCHEMA_VERSION", module.SCHEMA_VERSION + 1)
    monkeypatch.setattr(module, "_MIGRATIONS", {module.SCHEMA_VERSION - 1: "ALTER TABLE run ADD COLUMN extra TEXT"})
    with Store(store.path) as opened:
        assert opened.find(key, {"x": 1}) == GOOD
        assert opened._db.execute("PRAGMA user_version").fetchone() == (module.SCHEMA_VERSION,)


@pytest.mark.parametrize("content", [b"not a database at all, sorry", b"\xff\xfe\x00{", b'{"best": {"BS": 6'])
def test_u073_a_damaged_store_is_named_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"store\.sqlite"):
        Store(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE precious (x)")
    with pytest.raises(RecordError, match="something else"):
        Store(path)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("precious",)]


def test_the_store_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUNEWRIGHT_STORE", str(tmp_path / "here.sqlite"))
    assert module.default_path() == tmp_path / "here.sqlite"
    monkeypatch.delenv("TUNEWRIGHT_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert module.default_path() == tmp_path / "tunewright" / "store.sqlite"


def test_stored_rows_are_strict_json(store: Store) -> None:
    key = store.task(TASK)
    store.finish(key, {"x": 1}, replace(GOOD, metrics={"a": float("nan"), "b": 2.0}))
    [text] = store._db.execute("SELECT metrics FROM measurement").fetchone()
    assert json.loads(text) == {"b": 2.0}
