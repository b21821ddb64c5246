"""Metrics computed when a recording is read, from what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tunewright.errors import MetricError, RecordError
from tunewright.metrics import Metrics
from tunewright.records.recorded import PartialRecord, RecordedSpace

__all__ = ["derive"]

Record = TypeVar("Record", RecordedSpace, PartialRecord)


def derive(record: Record, metrics: Mapping[str, str]) -> Record:
    """Return the record with more metrics, computed for every configuration that worked; see `Metrics`.

    Args:
        record: what was recorded.
        metrics: expressions by the name of the new metric, such as ``{"gflops": "8.0 / time_ms"}``.

    Raises:
        RecordError: an expression cannot be read or computed, metrics depend on each other in a circle, or a value
            is missing in a configuration that worked.
    """
    space, problem = record.space, record.task.problem
    try:
        derived = Metrics(metrics, taken=space.names)
        rows = {i: derived.added_to(row, space.config(i), problem) for i, row in record.rows.items()}
    except MetricError as error:
        raise RecordError(str(error)) from error
    if isinstance(record, RecordedSpace):
        return replace(record, measurements=tuple(rows[i] for i in range(space.size)))
    return replace(record, rows=rows)
