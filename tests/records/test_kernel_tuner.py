import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tunewright.errors import RecordError
from tunewright.measure import Status
from tunewright.records import read_cache
from tunewright.records import source as reader
from tunewright.space import read_t1_space


def cache(**changes: Any) -> dict[str, Any]:
    row = {
        "time": 2.0,
        "times": [1.0, 3.0],
        "compile_time": 100.0,
        "verification_time": 50.0,
        "benchmark_time": 10.0,
    }
    data: dict[str, Any] = {
        "device_name": "Some GPU",
        "kernel_name": "vector_add",
        "problem_size": [1024, 32],
        "tune_params_keys": ["bx", "mode"],
        "tune_params": {"bx": [32, 64], "mode": ["a", "b"]},
        "cache": {
            "64,a": {"bx": 64, "mode": "a", **row},
            "32,b": {"bx": 32, "mode": "b", **row, "time": "RuntimeFailedConfig"},
            "32,a": {"bx": 32, "mode": "a", **row, "time": 1e20},
        },
    }
    return {**data, **changes}


def written(folder: Path, data: object) -> Path:
    path = folder / "cache.json"
    path.write_text(json.dumps(data))
    return path


def test_rows_become_measurements_with_seconds_from_milliseconds(tmp_path: Path) -> None:
    recorded = read_cache(written(tmp_path, cache()))
    assert recorded.task.label == "vector_add/Some GPU"
    assert recorded.task.problem == {"size_x": 1024, "size_y": 32}
    assert recorded.space.size == 3
    i = recorded.space.find({"bx": 64, "mode": "a"})
    assert i is not None
    measured = recorded.measurements[i]
    assert measured.runtimes_ms == (1.0, 3.0)
    assert (measured.compile_s, measured.verify_s, measured.benchmark_s) == (0.1, 0.05, 0.01)
    assert recorded.objective.value(measured) == 2.0


def test_named_failures_and_sentinels_are_failures_with_their_durations(tmp_path: Path) -> None:
    recorded = read_cache(written(tmp_path, cache()))
    for mode in "ab":
        i = recorded.space.find({"bx": 32, "mode": mode})
        assert i is not None
        assert recorded.measurements[i].status is Status.LAUNCH_ERROR
        assert recorded.measurements[i].total_s == pytest.approx(0.16)
        assert recorded.objective.value(recorded.measurements[i]) == math.inf


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("InvalidConfig", Status.INVALID),
        ("CompilationFailedConfig", Status.COMPILE_ERROR),
        ("RuntimeFailedConfig", Status.LAUNCH_ERROR),
    ],
)
def test_each_failure_name_has_its_status(tmp_path: Path, name: str, status: Status) -> None:
    data = cache()
    data["cache"]["64,a"]["time"] = name
    recorded = read_cache(written(tmp_path, data))
    i = recorded.space.find({"bx": 64, "mode": "a"})
    assert i is not None
    assert recorded.measurements[i].status is status
    assert recorded.measurements[i].detail == name


def test_a_gzipped_file_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "cache.json.gz"
    path.write_bytes(gzip.compress(json.dumps(cache()).encode()))
    plain = read_cache(written(tmp_path, cache()))
    assert read_cache(path).measurements == plain.measurements


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_BYTES", 1000)
    path = tmp_path / "cache.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(RecordError, match="more than 1000 bytes"):
        read_cache(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cache": {}}, "holds no configuration"),
        ({"tune_params": None}, "not a Kernel Tuner cache"),
        ({"tune_params_keys": ["bx"]}, "differ"),
        ({"cache": {"64,a": {"bx": 64, "time": 1.0}}}, "row '64,a' lacks 'mode'"),
        ({"cache": {"64,a": {"bx": 64, "mode": "a"}}}, "row '64,a' lacks 'time'"),
        ({"cache": {"48,a": {"bx": 48, "mode": "a", "time": 1.0}}}, "48"),
        ({"cache": {"64,a": []}}, "row '64,a'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_row(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = written(tmp_path, cache(**changes))
    with pytest.raises(RecordError, match=message) as error:
        read_cache(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times": "fast"}, "samples are no list of numbers"),
        ({"times": [1.0, None]}, "samples are no list of numbers"),
        ({"compile_time": -5}, "compile_time is no duration"),
        ({"benchmark_time": "Invalid"}, "benchmark_time is no duration"),
        ({"timestamp": 4}, "timestamp is no date"),
    ],
)
def test_a_damaged_figure_is_unknown_and_the_row_stays(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    data = cache(cache={"64,a": {"bx": 64, "mode": "a", "time": 1.0, **changes}})
    recorded = read_cache(written(tmp_path, data))
    assert recorded.objective.value(recorded.measurements[0]) == 1.0
    assert recorded.measurements[0].runtimes_ms == ()
    assert recorded.measurements[0].total_s == 0
    assert any(message in note and "row '64,a'" in note for note in recorded.notes)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"cache": 1', "null", "\x00" * 50, "[" * 100_000])
def test_text_that_is_no_cache_is_a_record_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cache.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=r"cache\.json"):
        read_cache(path)


def test_a_missing_file_and_damaged_gzip_are_record_errors(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_cache(tmp_path / "absent.json")
    path = tmp_path / "cache.json.gz"
    path.write_bytes(b"\x1f\x8b" + b"nonsense" * 10)
    with pytest.raises(RecordError, match="damaged"):
        read_cache(path)


SPACES = [
    "convolution/RTX_2080_Ti",
    "convolution/RTX_3060_laptop",
    "convolution/RTX_3090",
    "convolution/RTX_Titan",
    "convolution_milo/A100",
    "convolution_milo/A4000",
    "convolution_milo/MI250X",
    "convolution_milo/W6600",
    "convolution_milo_6p/A4000",
    "convolution_milo_6p/A6000",
    "dedispersion_milo/A100",
    "dedispersion_milo/A4000",
    "dedispersion_milo/A6000",
    "dedispersion_milo/MI250X",
    "dedispersion_milo/W6600",
    "pnpoly/RTX_3060_laptop",
    "pnpoly/RTX_3090",
]


@pytest.mark.parametrize("name", SPACES)
def test_a_recorded_space_is_complete_against_its_constraints(shared_data: Path, name: str) -> None:
    recorded = read_cache(shared_data / "spaces" / f"{name}.json.gz")
    kernel = name.partition("/")[0]
    defined = read_t1_space(shared_data / "t1" / f"{kernel.removesuffix('_6p')}.json")
    if kernel.endswith("_6p"):
        defined = defined.fix(use_shmem=1)
    assert recorded.space.size == defined.size
    shared = [name for name in recorded.space.names if name in defined.names]
    rest = {name: values[0] for name, values in defined.parameters.items() if name not in shared}
    assert all(len(defined.parameters[name]) == 1 for name in rest)
    for i in range(recorded.space.size):
        configuration = recorded.space.config(i)
        assert defined.find({**rest, **{name: configuration[name] for name in shared}}) is not None
