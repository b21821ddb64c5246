"""Kernel Tuner caches in every state that tools and editors leave them in: repairs, suspicions, refusals."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tunewright.errors import OptionError, RecordError
from tunewright.measure import Objective, Status, Task
from tunewright.records import (
    PartialRecord,
    RecordedSpace,
    inspect_against,
    read_record,
    repairs,
    suspicions,
    write_record,
)
from tunewright.records import difference as task_difference

HEAD = {
    "device_name": "D",
    "kernel_name": "k",
    "problem_size": 1024,
    "tune_params_keys": ["x", "y"],
    "tune_params": {"x": [1, 2], "y": [1, 2]},
    "objective": "time",
}


def row(x: int, y: int, **figures: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "time": 0.5 * x, "times": [0.5 * x], "benchmark_time": 1.0 * x, **figures}


def cache(folder: Path, *rows: dict[str, Any], **changes: Any) -> Path:
    path = folder / "cache.json"
    path.write_text(json.dumps({**HEAD, "cache": {f"{r['x']},{r['y']}": r for r in rows}, **changes}))
    return path


def values(record: RecordedSpace | PartialRecord) -> dict[tuple[Any, ...], float]:
    return {tuple(record.space.config(i).values()): record.objective.value(m) for i, m in record.rows.items()}


OPENED = (
    '{"device_name":"D","kernel_name":"k","problem_size":1024,"tune_params_keys":["x","y"],'
    '"tune_params":{"x":[1,2],"y":[1,2]},"objective":"time","cache":{'
)
U069 = {
    "open": (OPENED + '\n"1,1":{"x":1,"y":1,"time":0.5},\n"1,2":{"x":1,"y":2,"time":0.4},', 2),
    "closed_lf": (OPENED + '\n"1,1":{"x":1,"y":1,"time":0.5}\n}\n}', 1),
    "compact": (OPENED + '"1,1":{"x":1,"y":1,"time":0.5}}}', 1),
    "crlf": (OPENED + '\r\n"1,1":{"x":1,"y":1,"time":0.5}\r\n}\r\n}\r\n', 1),
    "indented": (OPENED + '\n    "1,1": {"x": 1, "y": 1, "time": 0.5}\n  }\n}\n', 1),
}


@pytest.mark.parametrize("name", U069)
def test_u069_every_layout_loads_and_reading_leaves_the_file_alone(tmp_path: Path, name: str) -> None:
    text, rows = U069[name]
    path = tmp_path / "cache.json"
    path.write_bytes(text.encode())
    record = read_record(path)
    assert len(record.rows) == rows
    assert path.read_bytes() == text.encode()
    assert bool(repairs(record)) == (name == "open")


@pytest.mark.parametrize("cut", range(1, 60, 3))
def test_a_half_written_last_row_is_dropped_and_said(tmp_path: Path, cut: int) -> None:
    whole = OPENED + '\n"1,1":{"x":1,"y":1,"time":0.5,"times":[0.5]},\n'
    path = tmp_path / "cache.json"
    path.write_text(whole + '"1,2":{"x":1,"y":2,"time":0.4,"times":[0.4,0.41,0.42,0.43]}'[:cut])
    record = read_record(path)
    assert values(record) == {(1, 1): 0.5}
    assert any("characters after the last whole row were dropped" in text for text in repairs(record))


def test_a_truncated_gzip_file_gives_what_it_holds(tmp_path: Path) -> None:
    rows = ",\n".join(f'"{x},{y}":{{"x":{x},"y":{y},"time":0.{x}{y}}}' for x in (1, 2) for y in (1, 2))
    raw = gzip.compress((OPENED + rows + "}}").encode())
    path = tmp_path / "cache.json.gz"
    path.write_bytes(raw[: len(raw) - 9])
    record = read_record(path)
    assert 1 <= len(record.rows) <= 4
    assert any("gzip data ends early" in text for text in repairs(record))
    path.write_bytes(raw)
    assert repairs(read_record(path)) == ()


def test_u061_times_of_zero_or_below_are_never_best(tmp_path: Path) -> None:
    changes = {"tune_params_keys": ["x"], "tune_params": {"x": [1, 2, 3]}}
    rows = {"1": {"x": 1, "time": 0.0}, "2": {"x": 2, "time": 0.42}, "3": {"x": 3, "time": -0.01}}
    record = read_record(cache(tmp_path, **changes, cache=rows))
    assert min(values(record), key=values(record).get) == (2,)
    assert [record.rows[i].status for i in range(3)] == [Status.INVALID, Status.OK, Status.INVALID]
    assert "a time of -0.01 ms" in record.rows[2].detail
    assert any("zero or below" in text and "2 times" in text for text in suspicions(record))


def test_a_sample_of_zero_makes_the_configuration_invalid(tmp_path: Path) -> None:
    record = read_record(cache(tmp_path, row(1, 1, times=[0.5, 0.0, 1.0])))
    assert record.rows[0].status is Status.INVALID


def test_u065_a_clock_that_did_not_run_as_asked_is_flagged(tmp_path: Path) -> None:
    changes = {"tune_params_keys": ["clock"], "tune_params": {"clock": [1000, 1500]}}
    rows = {
        "1000": {"clock": 1000, "clock_measured": 1000, "time": 1.5},
        "1500": {"clock": 1500, "clock_measured": 1215, "time": 1.2},
    }
    record = read_record(cache(tmp_path, **changes, cache=rows))
    [text] = suspicions(record)
    assert "clock=1500, the device ran at 1215" in text
    assert record.rows[1].metrics["clock_measured"] == 1215


def test_u070_missing_optional_fields_are_unknown_no_error(tmp_path: Path) -> None:
    full = {"times": [0.4, 0.4], "compile_time": 12.0, "timestamp": "2023-01-01 00:00:00+00:00"}
    rows = {"1,1": {"x": 1, "y": 1, "time": 0.5}, "1,2": {"x": 1, "y": 2, "time": 0.4, **full}}
    record = read_record(cache(tmp_path, cache=rows))
    assert values(record) == {(1, 1): 0.5, (1, 2): 0.4}
    assert suspicions(record) == repairs(record) == ()
    assert any("compile_time is not recorded in 1 rows" in note for note in record.notes)
    write_record(tmp_path / "new.json", record)
    assert json.loads((tmp_path / "new.json").read_text())["schema_version"] == "1.0.0"


@pytest.mark.parametrize("version", ["1.3.0", "2.0.0", "20.9.8", "new", 3, None])
def test_u070_newer_versions_are_refused_with_a_clear_sentence(tmp_path: Path, version: object) -> None:
    path = cache(tmp_path, row(1, 1), schema_version=version)
    if version is None:
        assert read_record(path).rows
        return
    with pytest.raises(RecordError, match=r"reads Kernel Tuner caches up to 1\.2: update tunewright"):
        read_record(path)
    write_record(tmp_path / "a.t4.json", read_record(cache(tmp_path, row(1, 1))))
    text = (tmp_path / "a.t4.json").read_text()
    (tmp_path / "a.t4.json").write_text(text.replace('"1.0.0"', json.dumps(version)))
    with pytest.raises(RecordError, match=r"reads up to 1\.0"):
        read_record(tmp_path / "a.t4.json")


def test_u070_a_newer_part_of_our_own_is_refused(tmp_path: Path) -> None:
    path = cache(tmp_path, row(1, 1), tunewright={"version": 2})
    with pytest.raises(RecordError, match="has version 2; this program reads up to 1: update tunewright"):
        read_record(path)
    with pytest.raises(RecordError, match="is damaged"):
        read_record(cache(tmp_path, row(1, 1), tunewright={"version": 1, "task": {"kernel": 1, "colour": 2}}))


def test_u071_another_order_of_parameters_finds_the_same_rows(tmp_path: Path) -> None:
    first = read_record(cache(tmp_path, row(1, 2)))
    other = read_record(cache(tmp_path, row(1, 2), tune_params_keys=["y", "x"]))
    assert other.space.names == ("y", "x")
    assert repairs(other) == ("a row's key does not match its values; the values count (once: row '1,2')",)
    for record in (first, other):
        assert record.objective.value(record.rows[record.space.find({"y": 2, "x": 1})]) == 0.5


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no known format"),
        (b'{"best": {"BS": 6', "not valid JSON"),
        (bytes.fromhex("fffe007b"), "is not UTF-8"),
        (b"[1, 2]", "no known format"),
        (b'{"cache": {}}', "not a Kernel Tuner cache"),
        (b"PK\x03\x04 nothing", "damaged"),
        (b"[" * 200_000, "not valid JSON"),
        (b'{"results": [{"configuration"', "not valid JSON"),
        (b'{"results": []}', "no usable configuration"),
        (b'{"Results": [null]}', "no usable configuration"),
        (b'{"tune_params_keys":["a"],"tune_params":{"a":3},"cache":{"1":{"a":1}}}', "a list of values is needed"),
        (b'# tunewright {"version": 1\nx,status\n', "first line is damaged"),
    ],
)
def test_u073_a_damaged_file_is_one_error_with_its_path(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "some.file"
    path.write_bytes(raw)
    with pytest.raises(RecordError, match=message) as error:
        read_record(path)
    assert str(path) in str(error.value)
    assert path.read_bytes() == raw


def test_u081_what_differs_between_two_tasks_is_shown_field_by_field() -> None:
    old = Task("k", "GPU A", {"n": 1024}, "cuda 12.4", settings={"flags": "-O3"})
    new = replace(old, toolchain="cuda 13.0", problem={"n": 1024, "m": 2})
    assert task_difference(old, new) == {"problem.m": ("absent", 2), "toolchain": ("cuda 12.4", "cuda 13.0")}
    assert task_difference(old, old) == {}


def test_u087_a_space_without_parameters_has_one_configuration(tmp_path: Path) -> None:
    path = cache(tmp_path, tune_params_keys=[], tune_params={}, cache={"": {"time": 0.4}})
    record = read_record(path)
    assert [record.space.config(i) for i in record.rows] == [{}]
    assert record.objective.value(record.rows[0]) == 0.4


def test_times_that_do_not_match_their_samples_are_flagged(tmp_path: Path) -> None:
    means = row(1, 2, times=[0.4, 0.5, 0.6]), row(2, 1, times=[0.9, 1.0, 1.1])
    rows = [row(1, 1, time=0.6), *means, row(2, 2, times=[1.0, 1.1, 1.3], time=1.1)]
    [text] = suspicions(read_record(cache(tmp_path, *({**each, "benchmark_time": 4.0} for each in rows))))
    assert text.startswith("a time is neither mean nor median nor least of its samples (once: {'x': 1, 'y': 1}")


def test_failed_rows_with_samples_and_figures_are_flagged(tmp_path: Path) -> None:
    failed = row(1, 2, time="CompilationFailedConfig", **{"GFLOP/s": 7.0})
    texts = suspicions(read_record(cache(tmp_path, row(1, 1), failed)))
    assert [text.partition(" (")[0] for text in texts] == ["a failed row has samples", "a failed row has gflop_per_s"]


def test_a_time_with_an_empty_list_of_samples_is_flagged(tmp_path: Path) -> None:
    [text] = suspicions(read_record(cache(tmp_path, row(1, 1), row(1, 2, times=[]))))
    assert "empty list of samples" in text


@pytest.mark.parametrize("factor", [1000, 0.001])
def test_times_in_another_unit_than_their_benchmark_are_flagged(tmp_path: Path, factor: float) -> None:
    rows = [row(x, y, time=factor, times=[factor] * 8, benchmark_time=9.0) for x in (1, 2) for y in (1, 2)]
    [text] = suspicions(read_record(cache(tmp_path, *rows)))
    assert ("add up to more than its whole benchmark" if factor > 1 else "too small for the stated problem") in text


def test_a_key_that_stands_twice_is_flagged_and_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    path.write_text(OPENED + '"1,1":{"x":1,"y":1,"time":0.5},"1,1":{"x":1,"y":1,"time":0.7}}}')
    record = read_record(path)
    assert values(record) == {(1, 1): 0.7}
    assert any("stands twice" in text for text in suspicions(record))
    rows = {"1,1": {"x": 1, "y": 1, "time": 0.5}, "other": {"x": 1, "y": 1, "time": 0.7}}
    record = read_record(cache(tmp_path, cache=rows))
    assert values(record) == {(1, 1): 0.7}
    assert any("several rows; the last one counts" in text for text in suspicions(record))


def test_values_that_are_no_numbers_become_text_and_equal_ones_one(tmp_path: Path) -> None:
    changes = {"tune_params_keys": ["m", "o"], "tune_params": {"m": ["a", 1, True, 2.5], "o": [{}, None, [1, 2.5]]}}
    rows = {"k": {"m": 2.5, "o": [1, 2.5], "time": 1.0}, "l": {"m": 1, "o": {}, "time": 2.0}}
    record = read_record(cache(tmp_path, **changes, cache=rows))
    assert values(record) == {(2.5, "[1, 2.5]"): 1.0, (1, "{}"): 2.0}
    assert any("m lists a value that equals an earlier one" in text for text in repairs(record))


def test_an_objective_that_is_unknown_is_said(tmp_path: Path) -> None:
    record = read_record(cache(tmp_path, row(1, 1, cycles=5), objective="cycles"))
    assert record.objective == Objective("cycles")
    assert "whether more or less cycles is better is not known; less is assumed" in suspicions(record)
    assert read_record(cache(tmp_path, row(1, 1, cycles=5), objective="cycles"), goal="max").objective.goal == "max"
    assert "objective 'TEST' is in no row" in suspicions(read_record(cache(tmp_path, row(1, 1), objective="TEST")))[0]
    with pytest.raises(OptionError, match="choose min or max"):
        read_record(tmp_path / "cache.json", goal="most")


def test_failures_under_another_objective_are_failures(tmp_path: Path) -> None:
    rows = {
        "1,1": {"x": 1, "y": 1, "time": 1.0, "GFLOP/s": 3.0, "nvml_energy": 0.5},
        "1,2": {"x": 1, "y": 2, "GFLOP/s": "CompilationFailedConfig"},
        "2,1": {"x": 2, "y": 1, "GFLOP/s": None},
    }
    record = read_record(cache(tmp_path, cache=rows, objective="GFLOP/s"))
    assert record.objective == Objective("gflop_per_s", goal="max")
    assert [m.status for m in record.rows.values()] == [Status.OK, Status.COMPILE_ERROR, Status.LAUNCH_ERROR]
    assert record.rows[0].metrics == {"time_ms": 1.0, "gflop_per_s": 3.0, "energy_j": 0.5}


def test_a_t1_file_shows_which_rows_are_missing(tmp_path: Path) -> None:
    parameters = [{"Name": n, "Type": "int", "Values": "[1, 2]"} for n in ("y", "x")]
    conditions = [{"Expression": "x * y < 4", "Parameters": ["x", "y"]}]
    t1 = tmp_path / "t1.json"
    t1.write_text(json.dumps({"ConfigurationSpace": {"TuningParameters": parameters, "Conditions": conditions}}))
    partial = read_record(cache(tmp_path, row(1, 1), row(2, 2)), t1=t1)
    assert isinstance(partial, PartialRecord)
    assert partial.space.size == 3
    assert suspicions(partial) == (
        "a row breaks the constraints and was left out (once: {'x': 2, 'y': 2})",
        "2 of 3 valid configurations have no row",
    )
    whole = read_record(cache(tmp_path, row(1, 1), row(1, 2), row(2, 1)), t1=t1)
    assert isinstance(whole, RecordedSpace)
    assert suspicions(whole) == ()
    for name in ("a.json", "a.csv", "a.t4.json", "a.npz"):
        write_record(tmp_path / name, partial)
        again = read_record(tmp_path / name)
        assert isinstance(again, PartialRecord)
        assert values(again) == values(partial)
    other = cache(tmp_path, tune_params_keys=["z"], tune_params={"z": [1, 2]}, cache={"1": {"z": 1, "time": 1.0}})
    with pytest.raises(RecordError, match="different parameters"):
        read_record(other, t1=t1)


def test_times_a_power_of_ten_from_those_of_a_twin_are_flagged(tmp_path: Path) -> None:
    one = read_record(cache(tmp_path, row(1, 1), row(2, 1)))
    assert inspect_against(one, read_record(cache(tmp_path, row(1, 1, time=4.0), row(2, 1)))) == ()
    other = read_record(cache(tmp_path, row(1, 1, time=500), row(2, 1, time=600), row(2, 2)))
    [text] = inspect_against(one, other)
    assert "times are 0.00133 times those of k/D for the same work (median of 2 configurations)" in text
    larger = read_record(cache(tmp_path, row(1, 1, time=500), row(2, 1, time=600), problem_size=1024 * 512))
    assert inspect_against(one, larger) == ()
    with pytest.raises(RecordError, match="no working configuration in common"):
        inspect_against(one, read_record(cache(tmp_path, row(2, 2))))


@pytest.mark.parametrize("depth", [50, 200, 300, 400, 600, 900, 5000])
@pytest.mark.parametrize("place", ["value", "samples", "header", "list"])
def test_deep_nesting_is_read_or_refused(tmp_path: Path, depth: int, place: str) -> None:
    deep = "[" * depth + "]" * depth
    text = json.dumps({**HEAD, "tunewright": "HEADER", "cache": {"k": {**row(1, 1), "times": "TIMES", "x": "VALUE"}}})
    parts = {"value": '"VALUE"', "samples": '"TIMES"', "header": '"HEADER"', "list": '"VALUE"'}
    text = text.replace("[1, 2]", f"[1, 2, {deep}]", 1) if place == "list" else text
    text = text.replace(parts[place], f'{{"a": {deep}}}' if place == "header" else deep)
    path = tmp_path / "cache.json"
    path.write_text(text.replace('"HEADER"', "null").replace('"TIMES"', "[0.5]").replace('"VALUE"', "1"))
    try:
        record = read_record(path)
    except RecordError as error:
        refused = str(error)
    else:
        refused = ""
        assert len(record.rows) == 1
    assert not refused or str(path) in refused


def test_half_characters_are_shown_as_codes_and_not_written_as_text(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    path.write_text(OPENED + '"1,1":{"x":1,"y":1,"time":0.5,"extra\\ud800":"text"}}}')
    record = read_record(path)
    assert any("extra\\ud800" in note for note in record.notes)
    broken = replace(record.rows[0], detail="\ud800")
    assert isinstance(record, RecordedSpace)
    with pytest.raises(RecordError, match="half a character"):
        write_record(tmp_path / "a.csv", replace(record, measurements=(broken,)))
