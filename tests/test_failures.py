"""Area 2: failures and wrong results of single configurations, as users met them."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tunewright.cli import main
from tunewright.cli.show import run_data, run_text
from tunewright.kernel import Argument, Kernel, Measuring, Role, Verification
from tunewright.measure import Measurement, Status
from tunewright.runners.host import HostRunner
from tunewright.tune import tune

ADD = """
void add(float *o, const float *a, int n) {
#if BS == 64
  %s
#endif
  for (int i = 0; i < n; i++) o[i] = a[i] + 1.0f;
}
"""
Make = Callable[..., Kernel]


@pytest.fixture
def add(tmp_path: Path, compiler: str) -> Make:
    """The kernel of most reports: three block sizes, 64 misbehaves as told."""

    def make(text: str, values: tuple[int, ...] = (32, 64, 128), **changes: Any) -> Kernel:
        source = tmp_path / "add.c"
        source.write_text(text)
        np.save(tmp_path / "answer.npy", np.arange(1, 257, dtype=np.float32))
        settings: dict[str, Any] = {
            "name": "add",
            "source": source,
            "entry": "add",
            "arguments": [
                Argument(name="o", dtype="float32", shape=(256,), role=Role.OUT),
                Argument(name="a", dtype="float32", shape=(256,), init="range"),  # type: ignore[arg-type]
                Argument(name="n", dtype="int32", value=256),
            ],
            "parameters": {"BS": values},
            "flags": ("-O1",),
            "verification": Verification(files={"o": tmp_path / "answer.npy"}),
            "measuring": Measuring(sampling_s=0.01, timeout_s=1.0, compile_timeout_s=2.0, rounds=6),
        }
        return Kernel(**{**settings, **changes})

    return make


def statuses(kernel: Kernel) -> dict[int, Measurement]:
    with HostRunner(kernel) as runner:
        found = runner.measure(range(kernel.space.size))
    return {int(kernel.space.config(i)["BS"]): measured for i, measured in enumerate(found)}


@pytest.mark.parametrize(
    ("what", "status", "words"),
    [
        ("*(volatile int *)0 = 1;", Status.CRASH, "null pointer"),
        ("for (volatile int k = 0;;) { (void)k; }", Status.TIMEOUT, "not done within 1 s"),
        ("n = n / 2;", Status.WRONG_RESULT, "128 left unwritten"),
        ("return;", Status.WRONG_RESULT, "left unwritten"),
        ("((float *)a)[0] = 0.0f;", Status.CRASH, "wrote to input a"),
        ("for (int i = 0; i < n; i++) o[i] = 0.0f; return;", Status.WRONG_RESULT, "256 of 256 values wrong"),
    ],
    ids=["U029", "U033", "U068", "U052", "U046", "zeros"],
)
def test_u029_u033_u046_u052_u068_one_configuration_fails_with_its_cause_and_the_others_are_measured(
    add: Make, what: str, status: Status, words: str
) -> None:
    found = statuses(add(ADD % what))
    assert (found[64].status, words in found[64].detail) == (status, True), found[64]
    assert [found[size].status for size in (32, 128)] == [Status.OK, Status.OK]


def test_u039_u041_a_compile_error_is_data_and_every_configuration_is_accounted_for(
    add: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = add("#if BS == 64\n#error unsupported\n#endif\n" + ADD % "", constraints=["BS < 128"])
    run = tune(kernel)
    data = run_data(run, kernel.space, "ms")
    assert data["counts"] == {"ok": 1, "compile_error": 1}
    assert data["accounting"] == {
        "total": 3,
        "excluded_by_constraints": 1,
        "measured": 1,
        "failed": {"compile_error": 1},
        "not_reached": 0,
    }
    text = "\n".join(run_text(run, kernel.space, "ms"))
    assert "-DBS=64" in text, "the exact command is shown"
    assert "unsupported" in text


def compiler_stub(folder: Path, when_64: str) -> str:
    """A compiler that misbehaves for BS=64 and is gcc otherwise."""
    stub = folder / "cc-stub"
    stub.write_text(f'#!/bin/sh\ncase "$*" in *-DBS=64*) {when_64};; esac\nexec gcc "$@"\n')
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    return str(stub)


def test_u030_a_compiler_that_crashes_is_a_compile_error_with_its_signal(add: Make, tmp_path: Path) -> None:
    found = statuses(add(ADD % "", compiler=compiler_stub(tmp_path, "kill -SEGV $$")))
    assert found[64].status is Status.COMPILE_ERROR
    assert "signal 11" in found[64].detail
    assert found[32].status is found[128].status is Status.OK


def test_u031_u036_a_compiler_that_hangs_is_ended_with_its_children(
    add: Make, tmp_path: Path, left_behind: Callable[[], list[int]]
) -> None:
    found = statuses(add(ADD % "", compiler=compiler_stub(tmp_path, "sleep 300 & sleep 300")))
    assert found[64].status is Status.COMPILE_ERROR
    assert "did not finish within 2 s" in found[64].detail
    assert found[32].status is found[128].status is Status.OK
    assert left_behind() == []


def test_u037_when_everything_fails_the_causes_are_grouped_with_what_they_share(add: Make) -> None:
    kernel = add("#error newflag\n", parameters={"BS": [32, 64], "newflag": ["on"]})
    lines = run_text(tune(kernel), kernel.space, "ms")
    assert any("2 compile_error" in line for line in lines)
    assert "all that failed have newflag=on" in lines
    assert "no configuration works" in lines


def test_u043_an_array_updated_in_place_is_restored_before_every_call(add: Make, tmp_path: Path) -> None:
    np.save(tmp_path / "twice.npy", 2 * np.arange(256, dtype=np.float32))
    kernel = add(
        "void scale(float *x, int n) { for (int i = 0; i < n; i++) x[i] = x[i] * 2.0f + (BS * 0.0f); }\n",
        values=(1, 2, 3),
        entry="scale",
        arguments=[
            Argument(name="x", dtype="float32", shape=(256,), role=Role.INOUT, init="range"),  # type: ignore[arg-type]
            Argument(name="n", dtype="int32", value=256),
        ],
        verification=Verification(files={"x": tmp_path / "twice.npy"}),
    )
    assert {measured.status for measured in statuses(kernel).values()} == {Status.OK}


def test_u045_a_check_that_zeros_would_pass_is_reported_as_weak(add: Make, tmp_path: Path) -> None:
    answer = tmp_path / "small.npy"
    np.save(answer, np.full(256, 4e-6, np.float32))
    source = "void add(float *o, const float *a, int n) { for (int i = 0; i < n; i++) o[i] = 4e-6f + 0 * BS; }\n"
    loose = tune(add(source, verification=Verification(files={"o": answer}, atol=0.01, rtol=0.01)))
    assert any("verification is weak: zeros in array 'o'" in note for note in loose.notes)
    zeros = source.replace("4e-6f", "0.0f")
    by_default = statuses(add(zeros, verification=Verification(files={"o": answer})))
    assert by_default[32].status is Status.WRONG_RESULT


def test_u047_small_values_are_judged_by_the_scale_of_the_array(add: Make, tmp_path: Path) -> None:
    answer = tmp_path / "mixed.npy"
    np.save(answer, np.array([1.0, 1e-7] * 128, np.float32))
    source = (
        "void add(float *o, const float *a, int n)"
        " { for (int i = 0; i < n; i++) o[i] = i % 2 ? 1.3e-7f : 1.000001f + 0 * BS; }\n"
    )
    assert statuses(add(source, verification=Verification(files={"o": answer})))[32].status is Status.OK


def test_u048_an_answer_in_double_is_compared_with_a_single_precision_result(add: Make, tmp_path: Path) -> None:
    answer = tmp_path / "double.npy"
    np.save(answer, np.arange(1, 257, dtype=np.float64) * 1.00000001)
    assert statuses(add(ADD % "", verification=Verification(files={"o": answer})))[32].status is Status.OK


def test_u049_u050_what_a_configuration_leaks_or_breaks_ends_with_its_process(add: Make) -> None:
    kernel = add(
        "#include <stdlib.h>\n#include <string.h>\n"
        + ADD.replace("void add", "void *kept;\nvoid add") % "memset(kept = malloc(90 << 20), 1, 90 << 20);",
        measuring=Measuring(sampling_s=0.01, timeout_s=5.0, memory_mib=1024, samples_min=1, samples_max=2, rounds=6),
    )
    with HostRunner(kernel) as runner:
        repeated = [runner.measure([1])[0].status for _ in range(12)]  # together far more than the limit
    assert set(repeated) == {Status.OK}


def test_a_run_that_verifies_nothing_says_so(add: Make) -> None:
    run = tune(add(ADD % "", verification=Verification(skip=True)))
    assert any("nothing was verified" in note for note in run.notes)


def test_expected_values_that_were_never_written_are_refused(
    add: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("void add(float *o, const float *a, int n) { (void)BS; }\n")
    (tmp_path / "add.toml").write_text(
        '[kernel]\nsource = "add.c"\nentry = "add"\n'
        '[[arguments]]\nname = "o"\ndtype = "float32"\nshape = [8]\nrole = "out"\n'
        '[[arguments]]\nname = "a"\ndtype = "float32"\nshape = [8]\n'
        '[[arguments]]\nname = "n"\ndtype = "int32"\nvalue = 8\n'
        "[parameters]\nBS = [1, 2]\n"
    )
    assert main(["tune", str(tmp_path / "add.toml"), "--json"]) == 3
    captured = capsys.readouterr()
    assert "nothing was written" in captured.err
    assert captured.out == "" or json.loads(captured.out)


def test_a_result_that_is_wrong_now_and_then_is_found(add: Make) -> None:
    kernel = add(
        "static int calls;\n" + ADD % "if (calls++ % 5 == 3) return;",
        measuring=Measuring(sampling_s=0.05, samples_min=20, samples_max=20, rounds=6),
    )
    found = statuses(kernel)[64]
    assert found.status is Status.WRONG_RESULT
    assert "wrong in a later one" in found.detail


def test_u034_a_compiler_s_time_counts_from_its_own_start(add: Make, tmp_path: Path) -> None:
    stub = compiler_stub(tmp_path, ":").replace("cc-stub", "slow-stub")
    Path(stub).write_text('#!/bin/sh\nsleep 0.5\nexec gcc "$@"\n')
    Path(stub).chmod(0o755)
    kernel = add(ADD % "", values=tuple(range(1, 7)), compiler=stub)
    with HostRunner(kernel, jobs=1) as runner:  # six of them need 3 s one after the other, the limit is 2 s each
        assert {measured.status for measured in runner.measure(range(6))} == {Status.OK}
