"""The host runner: what reaches the compiler, what is verified, and what is timed."""

import math
import os
import shlex
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tunewright.errors import OptionError, RunnerError, SpecificationError, ToolchainError
from tunewright.kernel.spec import (
    DTYPES,
    Argument,
    Init,
    Kernel,
    Measuring,
    Reference,
    Role,
    Use,
    Verification,
)
from tunewright.measure import Status
from tunewright.runners import host as host_module
from tunewright.runners.compile import CompilePool
from tunewright.runners.host import HostRunner
from tunewright.runners.launch import clock_failure

FAST = Measuring(sampling_s=0.005, samples_min=2, samples_max=6, timeout_s=20.0)
SCALE = "void kernel(const float *a, float *c, int n) { for (int i = 0; i < n; i++) c[i] = FACTOR * a[i]; }\n"


@pytest.fixture
def make(tmp_path, compiler):
    """Makes a kernel from C text."""

    def kernel(text: str, **changes: object) -> Kernel:
        source = tmp_path / "kernel.c"
        source.write_text(text, "utf-8")
        settings: dict[str, object] = {
            "name": "test",
            "source": source,
            "entry": "kernel",
            "arguments": [
                array("a"),
                array("c", role=Role.OUT),
                Argument(name="n", dtype="int32", value="N"),
            ],
            "parameters": {"FACTOR": [2]},
            "problem": {"N": 100},
            "flags": ("-O1",),
            "compiler": compiler,
            "measuring": FAST,
        }
        return Kernel(**{**settings, **changes})

    return kernel


def array(name: str, dtype: str = "float32", **others: object) -> Argument:
    return Argument(**{"name": name, "dtype": dtype, "shape": ("N",), **others})


def measured(kernel: Kernel):
    """All its configurations, in the order of the space."""
    with HostRunner(kernel) as runner:
        return runner.measure(range(len(kernel.space)))


def command(kernel: Kernel) -> list[str]:
    with HostRunner(kernel) as runner:
        return list(runner.command(0))


def test_parameters_and_problem_sizes_reach_the_compiler_as_macros(make):
    words = command(make(SCALE, parameters={"FACTOR": [2.5], "FAST": [True], "TYPE": ["unsigned int"]}))
    assert {"-DFACTOR=2.5", "-DFAST=1", "-DTYPE=unsigned int", "-DN=100"} <= set(words)


def test_a_parameter_can_have_another_macro_no_macro_or_a_flag(make):
    uses = {
        "FACTOR": Use(define="SCALE_BY"),
        "HIDDEN": Use(),
        "WIDTH": Use(flag="-falign-functions={}"),
        "FASTER": Use(flag="-ffast-math"),
        "LEVEL": Use(flag="{}"),
    }
    values = {"FACTOR": [2], "HIDDEN": [5], "WIDTH": [32], "FASTER": [False], "LEVEL": ["-O2 -g"]}
    words = command(make(SCALE.replace("FACTOR", "SCALE_BY"), parameters=values, uses=uses))
    assert {"-DSCALE_BY=2", "-falign-functions=32", "-O2", "-g"} <= set(words)
    assert not any("HIDDEN" in word or word in ("-DFACTOR=2", "-ffast-math") for word in words)


def test_a_sources_own_includes_are_found(make, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "factor.h").write_text("#define VALUE FACTOR\n", "ascii")
    text = '#include "parts/factor.h"\n' + SCALE.replace("FACTOR", "VALUE")
    assert [m.status for m in measured(make(text))] == [Status.OK]


def test_samples_are_kept_with_processor_time_beside_them(make):
    [found] = measured(make(SCALE))
    assert 2 <= len(found.runtimes_ms) <= 6
    assert all(0 < sample < math.inf for sample in found.runtimes_ms)
    assert found.metrics["cpu_ms"] > 0
    assert min(found.compile_s, found.verify_s, found.benchmark_s) > 0


def test_a_short_kernel_is_called_several_times_for_each_sample_unless_it_changes_its_input(make):
    [plain] = measured(make(SCALE))
    assert plain.metrics["calls_per_sample"] > 1
    arguments = [array("c", role=Role.INOUT), Argument(name="n", dtype="int32", value="N")]
    text = "void kernel(float *c, int n) { for (int i = 0; i < n; i++) c[i] += FACTOR; }\n"
    [changing] = measured(make(text, arguments=arguments))
    assert (changing.status, changing.metrics["calls_per_sample"]) == (Status.OK, 1)


def test_a_slow_kernel_gets_fewer_samples_rather_than_none(make):
    text = (
        "#include <time.h>\n"
        "static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);"
        " return t.tv_sec + t.tv_nsec * 1e-9; }\n"
        "void kernel(const float *a, float *c, int n) { double end = now() + 0.3; while (now() < end) ;"
        " for (int i = 0; i < n; i++) c[i] = a[i]; }\n"
    )
    measuring = Measuring(samples_min=50, samples_max=50, timeout_s=2.0, warmup=20)
    kernel = make(text, measuring=measuring, verification=Verification(skip=True))
    [found] = measured(kernel)
    assert (found.status, 1 <= len(found.runtimes_ms) < 6) == (Status.OK, True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_scalars_of_every_dtype_arrive_as_they_are(make, dtype):
    c_type = DTYPES[dtype]
    text = (
        f"void kernel(const {c_type} *a, {c_type} s, {c_type} *c) {{ for (int i = 0; i < N; i++) c[i] = a[i] + s; }}\n"
    )
    arguments = [
        array("a", dtype, init=Init.RANGE),
        Argument(name="s", dtype=dtype, value=3),
        array("c", dtype, role=Role.OUT),
    ]
    expected = Path(make("").source.parent / "expected.npy")
    np.save(expected, (np.arange(100) + 3).astype(dtype))
    kernel = make(text, arguments=arguments, verification=Verification(files={"c": expected}))
    assert [(m.status, m.detail) for m in measured(kernel)] == [(Status.OK, "")]


def test_an_integer_that_is_never_written_is_found_even_if_it_looks_right_at_first(make):
    text = (
        "void kernel(unsigned char *c) { for (int i = 0; i < N - SKIP; i++) c[i] = 0xA5; }\n"
        "void right(unsigned char *c) { for (int i = 0; i < N; i++) c[i] = i == N - 1 ? 0xA4 : 0xA5; }\n"
    )
    kernel = make(text, arguments=[array("c", "uint8", role=Role.OUT)], parameters={"SKIP": [1]})
    verification = Verification(reference=Reference(source=kernel.source, entry="right", flags=("-DSKIP=0",)))
    [found] = measured(replace(kernel, verification=verification))
    assert found.status is Status.WRONG_RESULT


def test_what_the_reference_leaves_unwritten_may_stay_unwritten(make):
    text = (
        "void kernel(int *c) { for (int i = 1; i < N - 1; i++) c[i] = 0 * SKIP; }\n"
        "void right(int *c) { for (int i = 1; i < N - 1; i++) c[i] = 0; }\n"
    )
    kernel = make(text, arguments=[array("c", "int32", role=Role.OUT)], parameters={"SKIP": [1]})
    verification = Verification(reference=Reference(source=kernel.source, entry="right", flags=("-DSKIP=0",)))
    [found] = measured(replace(kernel, verification=verification))
    assert (found.status, found.detail) == (Status.OK, "")


def test_without_a_reference_all_are_compared_with_the_default(make):
    kernel = make(SCALE, parameters={"FACTOR": [2, 3]}, default={"FACTOR": 3})
    with HostRunner(kernel) as runner:
        ids = [kernel.space.find({"FACTOR": factor}) for factor in (2, 3)]
        assert [m.status for m in runner.measure(ids)] == [Status.WRONG_RESULT, Status.OK]


def test_a_default_that_fails_is_a_runner_error_with_its_cause(make):
    kernel = make("void kernel(const float *a, float *c, int n) { __builtin_trap(); }\n")
    with HostRunner(kernel) as runner, pytest.raises(RunnerError, match=r"default .*FACTOR.* illegal instr"):
        runner.measure([0])


def test_a_reference_that_does_not_compile_is_a_runner_error_with_the_messages(make, tmp_path):
    (tmp_path / "reference.c").write_text("#error not today\n", "ascii")
    reference = Reference(source=tmp_path / "reference.c", entry="right")
    kernel = make(SCALE, verification=Verification(reference=reference))
    with HostRunner(kernel) as runner, pytest.raises(RunnerError, match="not today"):
        runner.measure([0])


def test_expected_files_must_fit_the_array(make, tmp_path):
    np.save(tmp_path / "c.npy", np.zeros(99, np.float32))
    kernel = make(SCALE, verification=Verification(files={"c": tmp_path / "c.npy"}))
    with pytest.raises(SpecificationError, match=r"float32 \(100,\) is needed"):
        HostRunner(kernel)


def test_pickled_arrays_are_refused(make, tmp_path):
    np.save(tmp_path / "c.npy", np.array([{}] * 100, object), allow_pickle=True)
    kernel = make(SCALE, verification=Verification(files={"c": tmp_path / "c.npy"}))
    with pytest.raises(SpecificationError, match="cannot read"):
        HostRunner(kernel)


def test_verification_can_be_skipped(make):
    kernel = make("void kernel(const float *a, float *c, int n) { }\n", verification=Verification(skip=True))
    assert [m.status for m in measured(kernel)] == [Status.OK]


def test_leaders_are_measured_again_round_by_round_failures_included(make):
    text = SCALE.replace("{ for", "{ if (FACTOR == 5) __builtin_trap(); for")
    kernel = make(text, parameters={"FACTOR": [2, 5]})
    with HostRunner(kernel) as runner:
        good, bad = (kernel.space.find({"FACTOR": factor}) for factor in (2, 5))
        found = runner.remeasure([good, bad], 3)
    assert [m.status for m in found[good]] == [Status.OK] * 3
    assert [m.status for m in found[bad]] == [Status.CRASH] * 3


def test_a_kernel_of_several_threads_gets_them_and_no_processor_time(make):
    text = (
        "#include <stdlib.h>\n"
        "void kernel(const float *a, float *c, int n)"
        ' { for (int i = 0; i < n; i++) c[i] = atoi(getenv("OMP_NUM_THREADS")) + 0 * FACTOR; }\n'
    )
    expected = make("").source.parent / "expected.npy"
    np.save(expected, np.full(100, 4, np.float32))
    kernel = make(text, threads="FACTOR * 2", verification=Verification(files={"c": expected}))
    [found] = measured(kernel)
    assert (found.status, "cpu_ms" in found.metrics) == (Status.OK, False)


def test_openmp_kernels_run_on_all_cores_by_default(make):
    text = (
        "#include <omp.h>\n"
        "void kernel(const float *a, float *c, int n) {\n"
        "#pragma omp parallel for\n"
        " for (int i = 0; i < n; i++) c[i] = omp_get_num_threads(); }\n"
    )
    expected = make("").source.parent / "expected.npy"
    np.save(expected, np.full(100, len(os.sched_getaffinity(0)), np.float32))
    flags = ("-O1", "-fopenmp")
    [found] = measured(make(text, flags=flags, verification=Verification(files={"c": expected})))
    if found.status is Status.COMPILE_ERROR:
        pytest.skip("no OpenMP here")
    assert (found.status, found.detail) == (Status.OK, "")


def test_a_single_thread_is_pinned_to_one_core(make):
    text = (
        "#define _GNU_SOURCE\n#include <sched.h>\n"
        "void kernel(const float *a, float *c, int n) {"
        " cpu_set_t set; sched_getaffinity(0, sizeof set, &set);"
        " for (int i = 0; i < n; i++) c[i] = CPU_COUNT(&set); }\n"
    )
    expected = make("").source.parent / "expected.npy"
    np.save(expected, np.ones(100, np.float32))
    assert [m.status for m in measured(make(text, verification=Verification(files={"c": expected})))] == [Status.OK]


@pytest.mark.parametrize(("threads", "used"), [(1, ["timed"]), (2, ["quiet"])])
def test_compilers_are_kept_away_from_what_is_timed(make, monkeypatch, threads, used):
    seen = []

    def spy(name, wrapped):
        def context(pool):
            seen.append(name)
            return wrapped(pool)

        monkeypatch.setattr(CompilePool, name, context)

    spy("timed", CompilePool.timed)
    spy("quiet", CompilePool.quiet)
    kernel = make(SCALE, threads=threads)
    with HostRunner(kernel) as runner:
        assert [m.status for m in runner.measure([0])] == [Status.OK]
        assert seen == used
        runner.remeasure([0], 1)
        assert seen[: len(used) + 1] == [*used, "quiet"]


def test_a_configuration_whose_threads_make_no_sense_is_invalid(make):
    assert [m.status for m in measured(make(SCALE, threads="FACTOR - 2"))] == [Status.INVALID]


def test_the_task_says_what_is_tuned_where_and_with_what(make):
    with HostRunner(make(SCALE)) as runner:
        task = runner.task
    assert (task.kernel, task.problem, len(task.source_digest)) == ("test", {"N": 100}, 64)
    assert task.device
    assert task.toolchain


def test_a_folder_from_which_no_library_can_be_loaded_is_told_at_once(make, monkeypatch):
    monkeypatch.setattr(host_module, "forbids_programs", lambda folder: True)
    with pytest.raises(RunnerError, match="TMPDIR"):
        HostRunner(make(SCALE))


def test_prepare_compiles_before_anything_is_measured(make):
    with HostRunner(make(SCALE)) as runner:
        runner.prepare([0])
        library = Path(runner.command(0)[runner.command(0).index("-o") + 1])
        last = time.monotonic() + 20
        while not library.exists():
            assert time.monotonic() < last


def test_a_missing_compiler_is_named(make):
    with pytest.raises(ToolchainError, match=r"'no-such-cc'.*not found on PATH"):
        HostRunner(make(SCALE, compiler="no-such-cc"))


def test_without_any_compiler_it_is_said_what_was_looked_for(make, monkeypatch, tmp_path):
    kernel = make(SCALE, compiler=None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolchainError, match=r"looked for gcc, clang, cc on PATH; install one .* or set CC"):
        HostRunner(kernel)


def test_the_environment_chooses_the_compiler(make, monkeypatch, compiler):
    monkeypatch.setenv("CC", f"{shlex.quote(compiler)} -DEXTRA=1")
    assert "-DEXTRA=1" in command(make(SCALE, compiler=None))


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (array("c", "float16"), "unknown dtype 'float16'"),
        (array("c", shape=("N - 200",)), "must be a whole number above 0"),
        (array("c", shape=("M",)), "cannot evaluate 'M'"),
        (array("c", shape=("N * 10 ** 12",)), "use a smaller problem"),
        (Argument(name="n", dtype="int32"), "a scalar needs a value"),
        (Argument(name="n", dtype="int8", value=1000), "does not fit into int8"),
        (Argument(name="n", dtype="int32", value="N / 8"), "no whole number"),
        (Argument(name="n", dtype="int32", value=1, role=Role.OUT), "a scalar cannot be out"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_with_their_place(make, argument, words):
    with pytest.raises(SpecificationError, match=rf"arguments.*{words}".replace("**", r"\*\*")):
        HostRunner(make(SCALE, arguments=[argument]))


def test_a_source_that_cannot_be_read_is_refused(make, tmp_path):
    with pytest.raises(SpecificationError, match="source: cannot read"):
        HostRunner(make(SCALE, source=tmp_path / "none.c"))


def test_settings_under_which_nothing_could_be_measured_are_refused(make):
    with pytest.raises(OptionError, match="jobs must be from 1"):
        HostRunner(make(SCALE), jobs=0)


def test_closing_twice_is_allowed_and_removes_processes_and_files(make, left_behind):
    runner = HostRunner(make(SCALE))
    runner.measure([0])
    folder = Path(runner.command(0)[-2]).parent
    assert folder.is_dir()
    runner.close()
    runner.close()
    assert (folder.exists(), left_behind()) == (False, [])
    with pytest.raises(RunnerError, match="closed"):
        runner.measure([0])


def test_cplusplus_kernels_are_measured_and_their_exceptions_are_crashes(make):
    text = (
        '#include <stdexcept>\nextern "C" void kernel(const float *a, float *c, int n) {\n'
        ' if (FACTOR == 3) throw std::logic_error("no");\n'
        " for (int i = 0; i < n; i++) c[i] = 2 * a[i]; }\n"
    )
    kernel = make(text, language="c++", compiler=None, parameters={"FACTOR": [2, 3]})
    try:
        good, bad = measured(kernel)
    except ToolchainError as error:
        pytest.skip(str(error))
    assert (good.status, bad.status) == (Status.OK, Status.CRASH)
    assert "terminate called" in bad.detail or "aborted itself" in bad.detail


def test_a_kernel_that_changes_files_does_so_in_a_folder_that_is_removed(make):
    text = SCALE.replace("{ for", '{ fclose(fopen("left.txt", "w")); for')
    assert [m.status for m in measured(make("#include <stdio.h>\n" + text))] == [Status.OK]
    assert not Path("left.txt").exists()


@pytest.mark.parametrize(
    ("samples_ns", "passed_s", "words"),
    [
        ((1e6, 0.0), 1.0, "cannot be"),
        ((1e6, -5.0), 1.0, "cannot be"),
        ((1e9, 1e9), 1.0, "only 1e"),
        ((), 1.0, "without a sample"),
        ((4e8, 4e8), 1.0, ""),
    ],
)
def test_samples_that_cannot_be_true_are_told(samples_ns, passed_s, words):
    found = clock_failure(samples_ns, 1, passed_s)
    assert (words in found, bool(found)) == (True, bool(words))


def test_runs_without_the_right_to_choose_cores_are_possible(make, monkeypatch):
    def refused(*_: object) -> None:
        raise OSError("not here")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    assert [m.status for m in measured(make(SCALE))] == [Status.OK]
