"""tunewright check, convert, and replay and space on every format."""

import json
from pathlib import Path
from typing import Any

import pytest

from tunewright.cli import main
from tunewright.records import read_record

FILES = ("a.json", "a.json.gz", "a.t4.json", "a_T4.json.gz", "a.ktt.json", "a.csv", "a.csv.gz", "a.npz")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    rows = {
        f"{x}": {"x": x, "time": 4.0 / x, "times": [4.0 / x], "compile_time": 1.0, "benchmark_time": 9.0, "work": x}
        for x in (1, 2, 4)
    }
    rows["8"] = {"x": 8, "time": "RuntimeFailedConfig"}  # type: ignore[dict-item]
    head: dict[str, Any] = {"device_name": "D", "kernel_name": "k", "problem_size": [64], "tune_params_keys": ["x"]}
    path = tmp_path / "cache.json"
    path.write_text(json.dumps({**head, "tune_params": {"x": [1, 2, 4, 8]}, "objective": "time", "cache": rows}))
    return path


@pytest.mark.parametrize("name", FILES)
def test_convert_writes_a_file_that_check_replay_and_space_read(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    code, out, _ = run(capsys, "convert", cache, target)
    assert (code, out.startswith(f"{target}: 4 rows, ")) == (0, True)
    assert run(capsys, "check", target)[0] == 0
    code, out, _ = run(capsys, "replay", target, "--optimizer", "random", "--json")
    assert code == 0
    assert json.loads(out)["best"]["configuration"] == {"x": 4}
    code, out, _ = run(capsys, "space", target, "--json")
    assert json.loads(out)["valid"] == 4


def test_convert_never_replaces_a_file_unasked(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    before = cache.read_bytes()
    code, _, err = run(capsys, "convert", cache, cache)
    assert (code, cache.read_bytes()) == (2, before)
    assert "exists already; nothing was written. --force replaces it" in err
    assert run(capsys, "convert", cache, cache, "--force")[0] == 0
    assert len(read_record(cache).rows) == 4


def test_convert_needs_a_known_format(capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path) -> None:
    code, _, err = run(capsys, "convert", cache, tmp_path / "a.dat")
    assert code == 2
    assert "no format is named by this suffix" in err
    assert run(capsys, "convert", cache, tmp_path / "a.dat", "--format", "t4")[0] == 0


def test_check_says_format_rows_statuses_and_objective(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    code, out, _ = run(capsys, "check", cache)
    assert code == 0
    assert "kernel_tuner, k/D" in out
    assert "4: ok 3, launch_error 1" in out
    assert "time_ms (ms; less is better)" in out
    assert out.endswith("nothing to repair, nothing suspicious\n")


def test_check_exits_1_with_repairs_or_suspicions_and_2_unread(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    cache.write_text(cache.read_text().removesuffix("}}"))
    code, out, _ = run(capsys, "check", cache, "--json")
    assert (code, len(json.loads(out)["repairs"])) == (1, 1)
    code, out, err = run(capsys, "convert", cache, cache.with_name("whole.json"))
    assert (code, "repaired: the file is not closed" in err) == (0, True)
    whole = cache.with_name("whole.json")
    whole.write_text(whole.read_text().replace('"time": 4.0', '"time": -4.0'))
    code, out, _ = run(capsys, "check", whole)
    assert (code, "suspicious  a time is zero or below" in out) == (1, True)
    whole.write_text("{")
    code, _, err = run(capsys, "check", whole)
    assert (code, "not valid JSON" in err) == (2, True)


def test_check_compares_with_another_recording(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    other = cache.with_name("other.json")
    other.write_text(cache.read_text().replace('"problem_size": [64]', '"problem_size": [64000]'))
    assert run(capsys, "check", cache, "--against", cache)[0] == 0
    code, out, _ = run(capsys, "check", cache, "--against", other)
    assert (code, "times are 1e+03 times those of k/D for the same work" in out) == (1, True)


def test_a_csv_file_is_told_its_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "fpga.csv"
    path.write_text("A,Cycles,Fits\n1,30,true\n2,20,true\n3,10,false\n")
    code, _, err = run(capsys, "check", path)
    assert (code, "--parameters A,B --objectives C" in err) == (2, True)
    columns = ("--parameters", "A", "--objectives", "Cycles", "--valid", "Fits", "--goal", "min")
    assert run(capsys, "check", path, *columns)[0] == 0
    code, out, _ = run(capsys, "replay", path, *columns, "--optimizer", "random", "--json")
    assert json.loads(out)["best"]["configuration"] == {"A": 2}


def test_u072_replay_takes_a_metric_and_objective_given_now(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    arguments = ("--metric", "speed = 8.0 / time", "--objective", "speed", "--goal", "max", "--optimizer", "random")
    code, out, _ = run(capsys, "replay", cache, *arguments, "--json")
    best = json.loads(out)["best"]
    assert (code, best["configuration"], best["value"], best["fraction_of_optimum"]) == (0, {"x": 4}, 8.0, 1.0)
    code, out, _ = run(capsys, "replay", cache, *arguments)
    assert "best  8 (speed)" in out
    code, out, _ = run(capsys, "replay", cache, "--objective", "work", "--optimizer", "random", "--json")
    assert json.loads(out)["best"]["configuration"] == {"x": 1}
    code, _, err = run(capsys, "replay", cache, "--objective", "speed")
    assert (code, "no metric 'speed' is recorded; there are " in err) == (2, True)
    code, _, err = run(capsys, "replay", cache, "--metric", "speed = 8.0 / watt")
    assert (code, "needs 'watt', which is missing" in err) == (2, True)


def test_u073_a_damaged_recording_is_one_line_with_its_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    for raw in (b"", b'{"best": {"BS": 6', bytes.fromhex("fffe007b"), b"[1, 2]"):
        path.write_bytes(raw)
        for command in ("check", "replay", "space"):
            code, _, err = run(capsys, command, path)
            assert (code, err.count("\n"), str(path) in err) == (2, 1, True)
