"""What a writer writes, its reader gives back bit for bit: samples, durations, metrics, statuses, texts."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tunewright.errors import OptionError, RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records import (
    PartialRecord,
    RecordedSpace,
    format_for,
    format_of,
    read_record,
    suspicions,
    write_record,
)
from tunewright.records.numbers import NumberText, shifted, shifted_text
from tunewright.space import SearchSpace

FILES = {"kernel_tuner": "a.json", "t4": "a.t4.json.gz", "csv": "a.csv", "ktt": "a.ktt.json", "recording": "a.npz"}
PROFILE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


POSITIVE = st.floats(min_value=5e-324, max_value=1e12)
DURATIONS = st.just(0.0) | st.floats(min_value=0, max_value=1e9) | st.floats(min_value=0, max_value=1e-300)
FIGURES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 10**6).map(float)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
METRICS = ("energy_j", "gflop_per_s", "registers", "dram__sectors.sum", "framework_ms", "core_freq_mhz", "odd name")


@st.composite
def measurements(draw: st.DrawFn, most_samples: int = 4, failed_metrics: bool = True) -> Measurement:
    status = draw(st.sampled_from(list(Status)))
    ok = status is Status.OK
    samples = tuple(draw(st.lists(POSITIVE, min_size=1 if ok else 0, max_size=most_samples if ok else 0)))
    metrics = draw(st.dictionaries(st.sampled_from(METRICS), FIGURES, max_size=3)) if ok or failed_metrics else {}
    return Measurement(
        status,
        samples,
        draw(DURATIONS),
        draw(DURATIONS),
        draw(DURATIONS),
        metrics,
        draw(TEXTS),
        tuple(draw(st.lists(TEXTS, max_size=2))) if ok else (),
    )


@st.composite
def records(draw: st.DrawFn, each: st.SearchStrategy[Measurement]) -> RecordedSpace | PartialRecord:
    lists = st.lists(VALUES, min_size=1, max_size=3, unique=True)
    parameters = {name: draw(lists) for name in draw(st.sampled_from([("x",), ("x", "mode"), ("b", "a", "flag")]))}
    every = list(itertools.product(*parameters.values()))
    chosen = draw(st.lists(st.sampled_from(every), min_size=1, unique_by=every.index))
    task = Task(
        draw(TEXTS),
        draw(TEXTS),
        draw(st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2)),
        draw(TEXTS),
        settings={"flags": ["-O3"], "samples": 4},
    )
    objective = Objective(draw(st.sampled_from(["runtime_ms", "energy_j"])), draw(st.sampled_from(["median", "min"])))
    if draw(st.booleans()):
        space = SearchSpace.from_configurations(parameters, chosen)
        return RecordedSpace(task, space, tuple(draw(each) for _ in range(space.size)), objective)
    space = SearchSpace(parameters)
    ids = {space.find(dict(zip(parameters, configuration, strict=True))) for configuration in chosen}
    return PartialRecord(task, space, {i: draw(each) for i in sorted(ids)}, objective)


def config_rows(record: RecordedSpace | PartialRecord) -> list[tuple[dict[str, Any], Measurement]]:
    return [(record.space.config(i), measurement) for i, measurement in sorted(record.rows.items())]


def again(folder: Path, name: str, record: RecordedSpace | PartialRecord) -> RecordedSpace | PartialRecord:
    path = folder / FILES[name]
    write_record(path, record)
    assert format_for(path) == format_of(path) == name
    found = read_record(path)
    assert type(found) is type(record)
    assert found.space == record.space
    assert [list(map(type, v)) for v in found.space.parameters.values()] == [
        list(map(type, v)) for v in record.space.parameters.values()
    ]
    assert (found.task, found.objective) == (record.task, record.objective)
    return found


@pytest.mark.parametrize("name", ["kernel_tuner", "t4", "csv"])
@PROFILE
@given(record=records(measurements()))
def test_a_record_comes_back_as_it_was(tmp_path: Path, name: str, record: RecordedSpace | PartialRecord) -> None:
    assert config_rows(again(tmp_path, name, record)) == config_rows(record)


@PROFILE
@given(record=records(measurements(most_samples=1, failed_metrics=False)))
def test_ktt_keeps_what_it_has_a_place_for(tmp_path: Path, record: RecordedSpace | PartialRecord) -> None:
    """One sample, compile and verification times, metrics; the benchmark time where it covers the sample."""
    for (before, old), (after, new) in zip(
        config_rows(record), config_rows(again(tmp_path, "ktt", record)), strict=True
    ):
        assert after == before
        if old.status is Status.OK and old.benchmark_s * 1000 < old.runtimes_ms[0]:
            new = replace(new, benchmark_s=old.benchmark_s)
        assert new == old


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9))
def test_a_moved_point_moves_back_to_the_same_number(value: float, digits: int) -> None:
    assert shifted(shifted_text(value, digits), -digits) == value


@pytest.mark.parametrize("text", ["1e99999999999", "-1e400", "1e-99999"])
def test_numbers_beyond_64_bits_are_none_or_zero(text: str) -> None:
    assert shifted(NumberText(text), 3) in (None, 0.0)


def small(**metrics: float) -> RecordedSpace:
    space = SearchSpace({"x": [1, 2]})
    ok = Measurement(Status.OK, (1.5, 2.5), 0.25, 0.0, 0.125, metrics)
    return RecordedSpace(Task("k", "d", {"size_x": 64}), space, (ok, Measurement(Status.TIMEOUT, detail="60 s")))


@pytest.mark.parametrize("source", ["kernel_tuner", "t4", "csv", "recording"])
@pytest.mark.parametrize("target", ["kernel_tuner", "t4", "csv", "recording"])
def test_any_format_turns_into_any_other(tmp_path: Path, source: str, target: str) -> None:
    record = small(energy_j=0.1)
    assert config_rows(again(tmp_path, target, again(tmp_path, source, record))) == config_rows(record)


def test_other_tools_find_what_they_look_for(tmp_path: Path) -> None:
    record = small(energy_j=0.5, gflop_per_s=3.0)
    write_record(tmp_path / "a.json", record)
    cache = json.loads((tmp_path / "a.json").read_text())
    assert (cache["objective"], cache["problem_size"], cache["tune_params_keys"]) == ("time", [64], ["x"])
    assert cache["cache"]["1"]["time"] == 2.0
    assert cache["cache"]["1"]["times"] == [1.5, 2.5]
    assert cache["cache"]["1"]["compile_time"] == 250
    assert (cache["cache"]["1"]["nvml_energy"], cache["cache"]["1"]["GFLOP/s"]) == (0.5, 3.0)
    assert cache["cache"]["2"]["time"] == "RuntimeFailedConfig"
    write_record(tmp_path / "a_T4.json", record)
    t4 = json.loads((tmp_path / "a_T4.json").read_text())
    assert [row["invalidity"] for row in t4["results"]] == ["correct", "timeout"]
    assert {"name": "time", "value": 2.0, "unit": "ms"} in t4["results"][0]["measurements"]
    write_record(tmp_path / "a.ktt.json", record)
    ktt = json.loads((tmp_path / "a.ktt.json").read_text())
    assert ktt["Results"][0]["TotalDuration"] == 2000
    assert ktt["Results"][1]["Status"] == "ComputationFailed"


def test_figures_that_are_no_numbers_are_not_written(tmp_path: Path) -> None:
    """Strict JSON: no NaN, no Infinity; such a figure is unknown."""
    for name in ("a.json", "a.t4.json", "a.ktt.json", "a.csv"):
        write_record(tmp_path / name, small(energy_j=float("nan"), power_w=float("inf")))
        assert "NaN" not in (tmp_path / name).read_text()
        assert read_record(tmp_path / name).rows[0].metrics == {}


@pytest.mark.parametrize("name", ["a.json", "a.csv"])
def test_a_metric_named_like_a_column_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="rename"):
        write_record(tmp_path / name, small(x=1.0))
    assert list(tmp_path.iterdir()) == []


def test_ktt_refuses_what_has_no_time(tmp_path: Path) -> None:
    space = SearchSpace({"x": [1]})
    record = RecordedSpace(Task("k"), space, (Measurement(Status.OK, metrics={"cycles": 3.0}),), Objective("cycles"))
    with pytest.raises(RecordError, match="has no time"):
        write_record(tmp_path / "a.ktt.json", record)


def test_ktt_takes_the_recorded_time_of_several_samples(tmp_path: Path) -> None:
    write_record(tmp_path / "a.ktt.json", small(time_ms=2.25))
    record = read_record(tmp_path / "a.ktt.json")
    assert record.rows[0].runtimes_ms == (2.25,)
    assert suspicions(record) == ()


def test_unknown_formats_are_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.csv \(csv\)"):
        write_record(tmp_path / "a.xml", small())
    with pytest.raises(OptionError, match="choose one of kernel_tuner, t4, ktt, csv, recording"):
        write_record(tmp_path / "a.json", small(), "excel")
    with pytest.raises(RecordError, match="cannot be written"):
        write_record(tmp_path / "absent" / "a.json", small())
