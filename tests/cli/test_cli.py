import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tunewright.cli import COMMANDS, main

KERNEL = """
#ifndef STEPS
#define STEPS 1
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
void twice(const float *x, float *out)
{
#if BROKEN
    return;
#endif
    for (int pass = 0; pass < WORK; pass++)
        for (int i = 0; i < N; i += STEPS)
            for (int j = i; j < i + STEPS; j++)
                out[j] = 2 * x[j];
}
"""

SPEC = """
[kernel]
source = "twice.c"
entry = "twice"
flags = ["-O1"]
[problem]
N = 4096
[[arguments]]
name = "x"
dtype = "float32"
shape = ["N"]
[[arguments]]
name = "out"
dtype = "float32"
shape = ["N"]
role = "out"
[parameters]
STEPS = [1, 2, 4]
WORK = [1, 40]
BROKEN = [0, 1]
[default]
WORK = 40
[measuring]
sampling_s = 0.01
rounds = 6
"""


@pytest.fixture
def spec(tmp_path: Path, compiler: str) -> Path:
    (tmp_path / "twice.c").write_text(KERNEL)
    path = tmp_path / "twice.toml"
    path.write_text(SPEC)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def cache_file(folder: Path) -> Path:
    rows = {
        f"{x}": {"x": x, "time": 5.0 / x, "times": [5.0 / x], "compile_time": 1.0, "verification_time": 0.0,
                 "benchmark_time": 9.0}
        for x in (1, 2, 4)
    }  # fmt: skip
    rows["8"] = {**rows["4"], "x": 8, "time": "RuntimeFailedConfig"}
    path = folder / "recorded.json"
    data: dict[str, Any] = {
        "device_name": "GPU",
        "kernel_name": "k",
        "tune_params_keys": ["x"],
        "tune_params": {"x": [1, 2, 4, 8]},
        "cache": rows,
    }
    path.write_text(json.dumps(data))
    return path


def test_tune_finds_a_faster_verified_configuration(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    code, out, _ = run(capsys, "tune", spec, "--evaluations", 12, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["configuration"]["WORK"] == 1
    assert data["configuration"]["BROKEN"] == 0
    assert data["speedup"] > 2
    assert data["speedup_interval"][0] <= data["speedup"] <= data["speedup_interval"][1]
    assert data["default"]["configuration"] == {"STEPS": 1, "WORK": 40, "BROKEN": 0}
    assert data["counts"] == {"ok": 6, "wrong_result": 6}
    assert data["stopped"] == "exhausted" or data["evaluations"] == 12
    assert data["failures"][0]["status"] == "wrong_result"
    assert data["failures"][0]["example"]
    assert data["interval"][0] <= data["median"] <= data["interval"][1]


def test_tune_speaks_to_people_with_the_incumbent_and_failures(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    code, out, err = run(capsys, "tune", spec, "--evaluations", 8, "--optimizer", "random", "--seed", 3)
    assert code == 0
    assert re.search(r"^speedup  [\d.]+ \(95 % interval", out, re.MULTILINE)
    assert "best     STEPS=" in out
    assert "8/8" in err
    assert "x default" in err


def test_fix_pins_a_parameter_and_the_default_follows(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    code, out, _ = run(capsys, "tune", spec, "--fix", "STEPS=4", "--fix", "BROKEN=0", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["space"]["valid"] == 2
    assert data["default"]["configuration"] == {"STEPS": 4, "WORK": 40, "BROKEN": 0}


def test_another_problem_size_can_be_given(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    code, out, _ = run(capsys, "tune", spec, "--problem", "N=1024", "--evaluations", 2, "--json")
    assert code == 0
    assert json.loads(out)["problem"] == {"N": 1024}
    code, _, err = run(capsys, "tune", spec, "--problem", "M=1024")
    assert code == 2
    assert "no such problem size" in err
    assert "N" in err


def test_u019_an_invalid_default_is_explained_with_a_valid_one(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    spec.write_text(spec.read_text() + '[constraints]\nrules = ["WORK < 40"]\n')
    code, _, err = run(capsys, "tune", spec)
    assert code == 2
    assert "default" in err
    assert "WORK < 40" in err
    assert "nearest valid" in err


def test_a_kernel_where_nothing_works_ends_with_code_1(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    (spec.parent / "twice.c").write_text("#error no\n")
    spec.write_text(spec.read_text() + "[verification]\nskip = true\n")
    code, out, _ = run(capsys, "tune", spec, "--evaluations", 2)
    assert code == 1
    assert "no configuration works" in out
    assert "compile error" in out


def test_a_missing_compiler_ends_with_code_3(
    capsys: pytest.CaptureFixture[str], spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(spec.parent))
    monkeypatch.delenv("CC", raising=False)
    code, _, err = run(capsys, "tune", spec)
    assert code == 3
    assert "gcc" in err


def test_u180_a_language_without_a_runner_is_named_before_any_work(
    capsys: pytest.CaptureFixture[str], shared_data: Path
) -> None:
    code, _, err = run(capsys, "tune", shared_data / "t1" / "convolution.json")
    assert code in (2, 3)
    assert "cuda" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--evaluations", "0"],
        ["--evaluations", "-1"],
        ["--evaluations", "1.5"],
        ["--evaluations", "nan"],
        ["--seconds", "0"],
        ["--seconds", "inf"],
        ["--seconds", "nan"],
        ["--seconds", "-2"],
        ["--jobs", "0"],
        ["--jobs", "true"],
    ],
)
def test_u027_nonsensical_numbers_are_refused_with_the_allowed_range(
    capsys: pytest.CaptureFixture[str], spec: Path, arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["tune", str(spec), *arguments])
    assert stop.value.code == 2
    assert re.search("at least 1|above 0", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fix", "STEPS=3"], "1, 2, 4"),
        (["--fix", "STEP=1"], "STEP"),
        (["--fix", "STEPS"], "NAME=VALUE"),
        (["--fix", "STEPS=1", "--fix", "STEPS=2"], "twice"),
        (["--optimizer", "magic"], "unknown optimizer 'magic'"),
        (["--option", "speed=3"], "speed"),
    ],
)
def test_bad_choices_are_named_with_what_there_is(
    capsys: pytest.CaptureFixture[str], spec: Path, arguments: list[str], message: str
) -> None:
    code, _, err = run(capsys, "tune", spec, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_u051_interrupting_prints_the_best_so_far_and_leaves_no_process(spec: Path) -> None:
    (spec.parent / "twice.c").write_text(KERNEL.replace("BROKEN\n    return;", "BROKEN\n    for (;;) out[0] = 1;"))
    command = [
        sys.executable,
        "-m",
        "tunewright",
        "tune",
        str(spec),
        "--optimizer",
        "random",
        "--evaluations",
        "12",
    ]
    command += ["--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("1/12"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    data = json.loads(out)
    assert data["stopped"] == "interrupted"
    assert data["evaluations"] >= 1
    until = time.monotonic() + 10  # what was killed takes a moment to be gone
    while (left := _members(process.pid)) and time.monotonic() < until:
        pass
    assert left == []


def _members(session: int) -> list[str]:
    return [e.name for e in Path("/proc").iterdir() if e.name.isdigit() and _session(e) == session]


def _session(entry: Path) -> int:
    try:
        return os.getsid(int(entry.name))
    except OSError:
        return -1


def test_space_counts_a_specification_and_a_cache(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "space", spec, "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["cartesian"], data["valid"], len(data["groups"])) == (12, 12, 3)
    assert data["parameters"]["STEPS"] == [1, 2, 4]
    code, out, _ = run(capsys, "space", cache_file(tmp_path))
    assert code == 0
    assert "4 valid of 4 configurations" in out


def test_space_counts_a_t1_file(capsys: pytest.CaptureFixture[str], shared_data: Path) -> None:
    code, out, _ = run(capsys, "space", shared_data / "t1" / "gemm_milo.json", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["valid"], data["cartesian"]) == (116_928, 663_552)


def test_replay_reports_the_best_against_the_optimum(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = cache_file(tmp_path)
    code, out, _ = run(capsys, "replay", path, "--optimizer", "random", "--seed", 1, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["best"]["configuration"] == {"x": 4}
    assert data["best"]["fraction_of_optimum"] == 1.0
    assert data["evaluations"] == 4
    assert data["seconds"] == pytest.approx(0.04)
    assert data["counts"] == {"ok": 3, "launch_error": 1}
    code, out, _ = run(capsys, "replay", path, "--evaluations", 2)
    assert code == 0
    assert "2 evaluations" in out


def test_replay_passes_hyperparameters_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = cache_file(tmp_path)
    code, _, _ = run(capsys, "replay", path, "--optimizer", "genetic", "--option", "population=2")
    assert code == 0
    code, _, err = run(capsys, "replay", path, "--optimizer", "genetic", "--option", "populaton=2")
    assert code == 2
    assert "population" in err


@pytest.mark.parametrize("command", ["space", "replay", "tune"])
def test_a_file_that_is_not_there_or_not_ours_is_a_clear_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    code, _, err = run(capsys, command, tmp_path / "absent.json")
    assert code == 2
    assert "absent.json" in err
    (tmp_path / "other.json").write_text('{"hello": 1}')
    code, _, err = run(capsys, command, tmp_path / "other.json")
    assert code == 2
    assert "other.json" in err


def test_init_writes_a_specification_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "twice.c"
    source.write_text(KERNEL)
    code, out, _ = run(capsys, "init", source)
    assert code == 0
    assert "twice.toml" in out
    code, _, err = run(capsys, "init", source)
    assert code == 2
    assert "exists already" in err
    code, _, err = run(capsys, "init", source, "--out", tmp_path / "no" / "folder.toml")
    assert code == 2
    assert "cannot write" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: tunewright {command}" in capsys.readouterr().out


def test_doctor_reports_compilers_isolation_timer_and_noise(capsys: pytest.CaptureFixture[str], compiler: str) -> None:
    code, out, _ = run(capsys, "doctor", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["compilers"]
    assert {layer["name"] for layer in data["layers"]}
    assert data["timer_ns"] > 0
    assert data["noise"]["median_ms"] > 0


def test_u175_everything_but_measuring_works_without_a_compiler(tmp_path: Path) -> None:
    """Import, help, optimizers, space and replay need no compiler, GPU or network."""
    cache = cache_file(tmp_path)
    for arguments in (["--help"], ["space", str(cache)], ["replay", str(cache)]):
        done = subprocess.run(
            [sys.executable, "-m", "tunewright", *arguments],
            env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_u178_nothing_is_written_into_the_working_folder(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.chdir(empty)
    before = sorted(spec.parent.iterdir())
    code, _, _ = run(capsys, "tune", spec, "--evaluations", 2)
    assert code == 0
    assert list(empty.iterdir()) == []
    assert sorted(spec.parent.iterdir()) == before


def test_runs_best_and_gc_speak_of_what_was_tuned(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    code, _, _ = run(capsys, "tune", spec, "--evaluations", 12)
    assert code == 0
    code, out, _ = run(capsys, "runs", "--json")
    [row] = json.loads(out)
    assert (row["kernel"], row["problem"], row["state"]) == ("twice", {"N": 4096}, "budget")
    assert row["trials"] == 12
    assert row["failures"] == 6
    code, out, _ = run(capsys, "runs")
    assert "12/12" in out
    code, out, _ = run(capsys, "best", "--kernel", "twice", "--problem", "N=4096", "--json")
    assert code == 0
    [best] = json.loads(out)
    assert best["configuration"]["WORK"] == 1
    code, _, err = run(capsys, "best", "--kernel", "twice", "--problem", "N=96")
    assert code == 1
    assert "tuned for other sizes only (N=4096)" in err
    code, _, err = run(capsys, "best", "--kernel", "thrice")
    assert code == 1
    assert "no finished run" in err
    code, out, _ = run(capsys, "gc")
    assert code == 0
    assert "deleted 0 runs" in out


def test_record_writes_a_file_that_replays_and_goes_on_where_it_was(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    out_file = tmp_path / "twice.npz"
    code, out, _ = run(capsys, "record", spec, "--out", out_file, "--patience", 0)
    assert code == 0
    assert "recorded space of 12 configurations" in out
    code, out, _ = run(capsys, "replay", out_file, "--optimizer", "random", "--json")
    assert code == 0
    assert json.loads(out)["evaluations"] == 12
    code, _, err = run(capsys, "record", spec, "--out", out_file, "--patience", 0)
    assert code == 2
    assert "exists already" in err
    sample = tmp_path / "sample.npz"
    code, out, _ = run(capsys, "record", spec, "--sample", 5, "--out", sample, "--patience", 0)
    assert code == 0
    assert "partial record of 5 configurations" in out


def test_a_store_that_cannot_be_used_is_done_without(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database, and it is long enough to be read as one" * 20)
    monkeypatch.setenv("TUNEWRIGHT_STORE", str(broken))
    before = broken.read_bytes()
    code, _, err = run(capsys, "tune", spec, "--evaluations", 2)
    assert code == 0
    assert "going on without" in err
    assert broken.read_bytes() == before
    code, _, err = run(capsys, "tune", spec, "--evaluations", 2, "--store", broken)
    assert code == 2
    assert "broken.sqlite" in err


@pytest.mark.parametrize(
    ("optimizer", "option", "allowed"),
    [
        ("genetic", "population=0", "whole number of at least 1"),
        ("genetic", "population=-5", "whole number of at least 1"),
        ("genetic", "population=abc", "whole number of at least 1"),
        ("ridge", "batch=1.5", "whole number of at least 1"),
        ("ridge", "local=nan", "finite number"),
        ("annealing", "neighborhood=5", "a text"),
        ("annealing", "neighborhood=foo", "single"),
    ],
)
def test_u027_options_of_optimizers_are_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, optimizer: str, option: str, allowed: str
) -> None:
    code, _, err = run(capsys, "replay", cache_file(tmp_path), "--optimizer", optimizer, "--option", option)
    assert code == 2
    assert allowed in err


def test_an_optimizer_that_fails_has_an_exit_code_and_a_place(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "def mine(space, budget, rng, *, start=()):\n    print('noise')\n    yield [0]\n    raise ValueError('no')\n"
    )
    code, out, _ = run(capsys, "tune", spec, "--optimizer", tmp_path / "mine.py", "--json")
    assert code == 4
    data = json.loads(out)
    assert any("ValueError: no" in note and "mine.py, line 4" in note for note in data["notes"])
    code, _, _ = run(capsys, "replay", cache_file(tmp_path), "--optimizer", tmp_path / "mine.py")
    assert code == 4


def test_errors_that_show_up_later_name_the_specification_too(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    text = spec.read_text()
    for old, new in (("[1, 40]", "[1, 1]"), ('shape = ["N"]', 'shape = ["M"]'), ("[default]", "[default]\nQ = 1")):
        spec.write_text(text.replace(old, new))
        code, _, err = run(capsys, "tune", spec)
        assert code == 2
        assert "twice.toml" in err


def test_an_objective_that_is_not_measured_is_named_with_what_is(
    capsys: pytest.CaptureFixture[str], spec: Path
) -> None:
    spec.write_text(spec.read_text() + '[objective]\nmetric = "runtme_ms"\n')
    code, _, err = run(capsys, "tune", spec)
    assert code == 2
    assert "'runtme_ms' is not measured here; measured are runtime_ms" in err
    code, out, _ = run(capsys, "runs", "--json")
    assert [row["state"] for row in json.loads(out)] == ["interrupted"]
