"""Metrics computed when a recording is read (U072)."""

import json
from pathlib import Path

import pytest

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records import PartialRecord, RecordedSpace, derive, read_record
from tunewright.space import SearchSpace


def record() -> RecordedSpace:
    space = SearchSpace({"x": [1, 2, 4]})
    rows = (
        Measurement(Status.OK, (2.0, 2.0, 9.0), metrics={"energy_j": 3.0}),
        Measurement(Status.OK, (4.0,), metrics={"energy_j": 1.0, "time_ms": 8.0}),
        Measurement(Status.COMPILE_ERROR),
    )
    return RecordedSpace(Task("k", problem={"n": 100}), space, rows)


def test_u072_a_new_metric_and_objective_on_an_old_file(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    rows = {"1,1": {"x": 1, "y": 1, "time": 2.0}, "2,1": {"x": 2, "y": 1, "time": 4.0}}
    head = {"tune_params_keys": ["x", "y"], "tune_params": {"x": [1, 2], "y": [1, 2]}, "objective": "time"}
    path.write_text(json.dumps({"device_name": "D", "kernel_name": "k", **head, "cache": rows}))
    found = derive(read_record(path), {"gflops": "8.0 / time"})
    objective = Objective("gflops", goal="max")
    best = min(found.rows, key=lambda i: objective.value(found.rows[i]))
    assert found.space.config(best) == {"x": 1, "y": 1}
    assert found.rows[best].metrics["gflops"] == 4.0


def test_u072_metrics_may_need_each_other_in_any_order() -> None:
    found = derive(record(), {"c": "b + a", "b": "a * x", "a": "n / runtime_ms"})
    assert [m.metrics.get("c") for m in found.measurements] == [100.0, 75.0, None]
    assert found.measurements[1].metrics["time_ms"] == 8.0


def test_time_is_the_recorded_one_or_else_the_median() -> None:
    assert [m.metrics.get("t") for m in derive(record(), {"t": "time"}).measurements] == [2.0, 8.0, None]


def test_a_derived_metric_replaces_a_recorded_one_of_its_name() -> None:
    assert derive(record(), {"energy_j": "x"}).measurements[0].metrics == {"energy_j": 1.0}


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"p": "energy_j / time_ms"}, "metric 'p' needs 'time_ms', which is missing for {'x': 1}"),
        ({"a": "b", "b": "a"}, "in a circle: "),
        ({"a": "a + 1"}, "in a circle: a -> a"),
        ({"a": "1 / (x - 1)"}, "cannot be computed for {'x': 1}: .*division by zero"),
        ({"a": "'fast'"}, "is 'fast' for {'x': 1}; a finite number is needed"),
        ({"a": "1e308 * 1e308"}, "is inf"),
        ({"a": "__import__('os')"}, "metric 'a': expression .* cannot be called"),
        ({"a": "x +"}, "metric 'a': expression"),
        ({"x": "2"}, "cannot be called 'x'"),
        ({"a": "9**9**9"}, "cannot be computed"),
    ],
)
def test_u072_what_cannot_be_computed_is_one_clear_error(metrics: dict[str, str], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        derive(record(), metrics)


def test_a_partial_record_stays_partial() -> None:
    whole = record()
    part = derive(PartialRecord(whole.task, whole.space, {1: whole.measurements[1]}), {"a": "x * 2"})
    assert isinstance(part, PartialRecord)
    assert part.rows[1].metrics["a"] == 4.0
