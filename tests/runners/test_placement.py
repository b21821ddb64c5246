"""Where threads run: one processor each, of different cores first, and what the user has settled stays settled."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tunewright.kernel import Argument, Kernel, Measuring, Role, Verification
from tunewright.measure import Measurement, Status
from tunewright.runners import host as host_module
from tunewright.runners import placement as module
from tunewright.runners.host import HostRunner
from tunewright.runners.identity import measuring_settings
from tunewright.runners.placement import Placement, apart, placement, runs_threads

BOUND = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
CORES = frozenset(os.sched_getaffinity(0))
Make = Callable[..., Kernel]


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which processors k and k + 4 share a core."""
    monkeypatch.setattr(module, "core_threads", lambda cpu: frozenset({cpu % 4, cpu % 4 + 4}))


@pytest.mark.usefixtures("pairs")
def test_every_core_is_used_once_before_any_is_used_twice() -> None:
    assert apart(set(range(8))) == (7, 6, 5, 4, 3, 2, 1, 0)
    assert apart({0, 1, 4, 5, 6}) == (6, 5, 4, 1, 0)
    assert apart({0, 1, 2, 3}) == (3, 2, 1, 0), "the other half belongs to somebody else"


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize(
    ("threads", "cores"),
    [(1, (7,)), (2, (7, 6)), (4, (7, 6, 5, 4)), (6, (7, 6, 5, 4, 3, 2)), (7, (7, 6, 5, 4, 3, 2, 1)), (8, ()), (99, ())],
)
def test_a_processor_for_each_thread_while_there_are_more_of_them(threads: int, cores: tuple[int, ...]) -> None:
    assert placement(threads, set(range(8)), {}).cores == cores


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Placement((7, 6), BOUND)),
        ({"OMP_PROC_BIND": "false"}, Placement((7, 6), {"OMP_PLACES": "cores"})),
        ({"OMP_PLACES": "{0},{4}"}, Placement((), {"OMP_PROC_BIND": "close"})),
        ({"GOMP_CPU_AFFINITY": "0 4"}, Placement((), {})),
        ({"KMP_AFFINITY": "compact"}, Placement((), {})),
        ({"OMP_SCHEDULE": "dynamic"}, Placement((7, 6), BOUND)),
    ],
)
def test_what_the_user_has_settled_is_left_alone(environment: dict[str, str], expected: Placement) -> None:
    assert placement(2, set(range(8)), environment) == expected


def test_a_single_thread_needs_no_binding() -> None:
    assert placement(1, {0, 1}, {}) == Placement((1,), {})


@pytest.fixture
def make(tmp_path: Path, compiler: str) -> Make:
    """A kernel on two threads that has to write a number."""

    def kernel(text: str, number: int, **changes: object) -> Kernel:
        source = tmp_path / "kernel.c"
        source.write_text(text)
        np.save(tmp_path / "expected.npy", np.full(8, number, np.int32))
        plain = Kernel(
            name="threads",
            source=source,
            entry="kernel",
            arguments=[Argument(name="c", dtype="int32", shape=(8,), role=Role.OUT)],
            parameters={"FACTOR": [2]},
            threads=2,
            flags=("-O1",),
            compiler=compiler,
            verification=Verification(files={"c": tmp_path / "expected.npy"}),
            measuring=Measuring(sampling_s=0.005, samples_min=2, samples_max=4),
        )
        return replace(plain, **changes)  # type: ignore[arg-type]

    return kernel


def measured(kernel: Kernel) -> tuple[Status, str]:
    with HostRunner(kernel) as runner:
        found: list[Measurement] = runner.measure([0])
    return found[0].status, found[0].detail


ENVIRONMENT = """
#include <stdlib.h>
#include <string.h>
static int is(const char *name, const char *value) { return getenv(name) && !strcmp(getenv(name), value); }
void kernel(int *c)
{
    for (int i = 0; i < 8; i++)
        c[i] = is("OMP_NUM_THREADS", "2") + 10 * is("OMP_PROC_BIND", "close") + 100 * is("OMP_PROC_BIND", "spread")
            + 1000 * is("OMP_PLACES", "cores");
}
"""
AFFINITY = """
#define _GNU_SOURCE
#include <sched.h>
void kernel(int *c)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < 8; i++)
        c[i] = CPU_COUNT(&set);
}
"""
OPENMP = """
#include <omp.h>
void kernel(int *c)
{
    int bound = 0;
#pragma omp parallel reduction(+ : bound)
    bound += omp_get_place_num() >= 0;
    for (int i = 0; i < 8; i++)
        c[i] = bound + 10 * (omp_get_proc_bind() == omp_proc_bind_close);
}
"""


def test_the_openmp_library_is_told_to_keep_threads_in_place(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"):
        monkeypatch.delenv(name, raising=False)
    assert measured(make(ENVIRONMENT, 1011)) == (Status.OK, "")
    monkeypatch.setenv("OMP_PROC_BIND", "spread")
    assert measured(make(ENVIRONMENT, 1101)) == (Status.OK, "")


def test_its_threads_are_bound(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"):
        monkeypatch.delenv(name, raising=False)
    status, detail = measured(make(OPENMP, 12, flags=("-O1", "-fopenmp")))
    if status is Status.COMPILE_ERROR:
        pytest.skip("no OpenMP here")
    assert (status, detail) == (Status.OK, "")


def test_the_placement_reaches_the_job(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, object]] = []

    def one(threads: int, cores: frozenset[int], environment: object) -> Placement:
        seen.append((threads, cores))
        return Placement((max(cores),), {})

    monkeypatch.setattr(host_module, "placement", one)
    assert measured(make(AFFINITY, 1)) == (Status.OK, "")
    assert set(seen) == {(2, CORES)}


@pytest.mark.skipif(len(CORES) < 3, reason="needs more cores than threads")
def test_two_threads_have_two_of_several_processors(make: Make) -> None:
    assert measured(make(AFFINITY, 2)) == (Status.OK, "")


def test_as_many_threads_as_processors_are_not_restricted(make: Make) -> None:
    assert measured(make(AFFINITY, len(CORES), threads=len(CORES) + 1)) == (Status.OK, "")


@pytest.mark.parametrize(
    ("threads", "flags", "several"),
    [
        (None, (), False),
        (1, (), False),
        (1, ("-fopenmp",), False),
        (None, ("-fopenmp",), True),
        (2, (), True),
        ("T", (), True),
    ],
)
def test_only_kernels_of_several_threads_are_measured_anew(
    make: Make, threads: int | str | None, flags: tuple[str, ...], several: bool
) -> None:
    kernel = make("", 0, threads=threads, flags=flags)
    assert runs_threads(kernel) is several
    assert ("placement" in measuring_settings(kernel, ["gcc"], 2, {})) is several
