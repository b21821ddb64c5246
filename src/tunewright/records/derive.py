"""Metrics computed at read time from what was recorded, by expressions over metrics, parameters and problem sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar

from tunewright.errors import ConstraintError, RecordError
from tunewright.measure import Measurement, Status
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.space.expression import Expression, parse
from tunewright.space.scalar import OversizeError, Scalar, scalar

__all__ = ["derive"]

Record = TypeVar("Record", RecordedSpace, PartialRecord)


def derive(record: Record, metrics: Mapping[str, str]) -> Record:
    """Return the record with more metrics, computed for every configuration that worked.

    Expressions are those of constraints. Names are metrics, recorded or derived, in any order; ``runtime_ms``,
    the median of the samples; ``time``, the recorded time or else that median; parameters; problem sizes. A derived
    metric replaces a recorded one of its name.

    Args:
        record: what was recorded.
        metrics: expressions by the name of the new metric, such as ``{"gflops": "8.0 / time_ms"}``.

    Raises:
        RecordError: an expression cannot be read or computed, metrics depend on each other in a circle, or a value
            is missing in a configuration that worked.
    """
    steps = _in_order(record, metrics)
    rows = {i: _with_metrics(record, i, measurement, steps) for i, measurement in record.rows.items()}
    if isinstance(record, RecordedSpace):
        return replace(record, measurements=tuple(rows[i] for i in range(record.space.size)))
    return replace(record, rows=rows)


def _in_order(record: RecordedSpace | PartialRecord, metrics: Mapping[str, str]) -> list[tuple[str, Scalar]]:
    """The metrics, each after those that it needs."""
    expressions: dict[str, Expression] = {}
    for name, text in metrics.items():
        if name in record.space.names or name in ("time", "runtime_ms"):
            raise RecordError(f"a metric cannot be called {name!r}, which has a meaning already; choose another name")
        try:
            expressions[name] = parse(text)
        except ConstraintError as error:
            raise RecordError(f"metric {name!r}: {str(error).replace('constraint', 'expression', 1)}") from error
    needs = {name: [n for n in each.names if n in expressions] for name, each in expressions.items()}
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise RecordError(f"metrics depend on each other in a circle: {' -> '.join(error.args[1])}") from error
    return [(name, scalar(expressions[name].node)) for name in order]


def _with_metrics(
    record: RecordedSpace | PartialRecord, i: int, measurement: Measurement, steps: list[tuple[str, Scalar]]
) -> Measurement:
    if measurement.status is not Status.OK:
        return measurement
    configuration = record.space.config(i)
    names: dict[str, Any] = {**record.task.problem, **measurement.metrics}
    if measurement.runtimes_ms:
        names["runtime_ms"] = statistics.median(measurement.runtimes_ms)
    if "time_ms" in names or "runtime_ms" in names:
        names["time"] = names.get("time_ms", names.get("runtime_ms"))
    derived = dict(measurement.metrics)
    replaced = {name for name, _ in steps}
    names = {**{name: value for name, value in names.items() if name not in replaced}, **configuration}
    for name, compute in steps:
        try:
            value = compute(names)
        except KeyError as error:
            raise RecordError(
                f"metric {name!r} needs {error}, which is not recorded for {configuration}; there are "
                f"{', '.join(sorted(names))}"
            ) from error
        except (ArithmeticError, TypeError, ValueError, OversizeError) as error:
            raise RecordError(f"metric {name!r} cannot be computed for {configuration}: {error}") from error
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            raise RecordError(f"metric {name!r} is {value!r} for {configuration}; a finite number is needed")
        names[name] = derived[name] = float(value)
    return replace(measurement, metrics=derived)
