"""The pool works ahead, keeps an order, and stands still when asked to."""

import os
import sys
import time
from pathlib import Path

import pytest

from tunewright.errors import RunnerError
from tunewright.runners.compile import CompileLimits, CompilePool
from tunewright.runners.toolchain import Recipe

CORES = frozenset(os.sched_getaffinity(0))


@pytest.fixture
def pool(tmp_path):
    made = make_pool(tmp_path)
    yield made
    made.close()


def make_pool(folder: Path, jobs: int = 1, wall_s: float = 60.0) -> CompilePool:
    return CompilePool(folder, CompileLimits(wall_s, 1 << 32), jobs=jobs, cores=CORES, kept_free={max(CORES)})


def recipe(folder: Path, name: str, script: str) -> Recipe:
    """A stand-in for a compiler: Python code that gets the output as `out` and the folder as `here`."""
    output = folder / f"{name}.so"
    head = f"import pathlib\nhere = pathlib.Path({str(folder)!r})\nout = here / {output.name!r}\n"
    return Recipe((sys.executable, "-I", "-S", "-c", head + script), output)


def log(folder: Path, name: str) -> Recipe:
    """Writes its name into a log, and succeeds."""
    return recipe(folder, name, f"(here / 'log').open('a').write('{name} ')\nout.touch()\n")


def until(condition) -> bool:
    """Look again and again, for some seconds at most."""
    last = time.monotonic() + 10
    while not condition():
        if time.monotonic() > last:
            return False
    return True


def state(pid: int) -> str:
    return Path("/proc", str(pid), "stat").read_text("ascii").rpartition(")")[2].split()[0]


def test_each_distinct_recipe_is_compiled_once(pool, tmp_path):
    recipes = [log(tmp_path, "a"), log(tmp_path, "b"), log(tmp_path, "a")]
    pool.request(recipes)
    for wanted in recipes:
        assert pool.get(wanted).path == wanted.output
    assert (tmp_path / "log").read_text("ascii") == "a b "


def test_what_is_waited_for_is_compiled_next(pool, tmp_path):
    with pool.quiet():
        pool.request([log(tmp_path, name) for name in "abcdefgh"])
    pool.get(log(tmp_path, "h"))
    assert (tmp_path / "log").read_text("ascii").split().index("h") <= 1


def test_in_quiet_a_running_compiler_is_stopped_and_no_other_starts(pool, tmp_path):
    busy = recipe(
        tmp_path, "busy",
        "import os\n(here / 'part').write_text(str(os.getpid()))\n(here / 'part').rename(here / 'pid')\n"
        "while not (here / 'go').exists(): pass\nout.touch()\n",
    )  # fmt: skip
    pool.request([busy, log(tmp_path, "next")])
    assert until((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text("ascii"))
    with pool.quiet():
        assert until(lambda: state(pid) == "T")
        (tmp_path / "go").touch()
        assert not (tmp_path / "log").exists()
    assert pool.get(busy).path is not None
    assert pool.get(log(tmp_path, "next")).path is not None


def test_a_pause_does_not_use_up_a_compilers_time(tmp_path):
    pool = make_pool(tmp_path, wall_s=1.0)
    slow = recipe(tmp_path, "slow", "(here / 'here').touch()\nwhile not (here / 'go').exists(): pass\nout.touch()\n")
    try:
        pool.request([slow])
        assert until((tmp_path / "here").exists)
        with pool.quiet():
            started = time.monotonic()
            assert until(lambda: time.monotonic() > started + 1.2)
            (tmp_path / "go").touch()
        assert pool.get(slow).detail == ""
    finally:
        pool.close()


def test_a_compiler_is_ended_at_its_deadline_with_all_it_started(tmp_path, left_behind):
    pool = make_pool(tmp_path, wall_s=0.3)
    try:
        found = pool.get(recipe(tmp_path, "hang", "import os\nos.fork()\nwhile True: pass\n"))
        assert "did not finish within 0.3 s" in found.detail
        assert found.path is None
        assert until(lambda: not left_behind())
    finally:
        pool.close()


def test_time_is_counted_as_processor_seconds(pool, tmp_path):
    found = pool.get(recipe(tmp_path, "sum", "sum(range(10 ** 6))\nout.touch()\n"))
    assert 0 < found.cpu_s < 60


def test_a_compiler_that_makes_no_file_has_failed(pool, tmp_path):
    assert "reports errors" in pool.get(recipe(tmp_path, "lazy", "")).detail


def test_no_compiler_outlives_the_pool(tmp_path, left_behind):
    pool = make_pool(tmp_path)
    pool.request([recipe(tmp_path, "hang", "(here / 'here').touch()\nwhile True: pass\n")])
    assert until((tmp_path / "here").exists)
    pool.close()
    assert until(lambda: not left_behind())
    with pytest.raises(RunnerError, match="closed"):
        pool.get(log(tmp_path, "late"))
