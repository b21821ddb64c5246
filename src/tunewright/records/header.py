"""What foreign formats have no place for: the task, value lists, constraints and objective, under a key of our own.

Other tools ignore the key; reading a file that tunewright wrote gives back the same record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunewright.errors import OptionError, RecordError
from tunewright.measure import Objective, Task
from tunewright.records.numbers import NumberText
from tunewright.records.recorded import PartialRecord, RecordedSpace

__all__ = ["KEY", "Header", "has_derived_time", "header_of", "plain", "read_header"]

KEY = "tunewright"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about its record beyond its rows.

    Attributes:
        task: what was measured, where.
        objective: what counts, how it is reduced, in which direction.
        parameters: names and value lists, in order.
        constraints: texts; empty for a complete record.
        constants: values that the constraints use.
        complete: does every valid configuration have a row?
        derived_time: are times in the rows reductions of the samples, written for other tools' sake?
    """

    task: Task
    objective: Objective
    parameters: Mapping[str, list[Any]]
    constraints: tuple[str, ...]
    constants: Mapping[str, Any]
    complete: bool
    derived_time: bool


def header_of(record: RecordedSpace | PartialRecord) -> dict[str, object]:
    """The record's header as plain data."""
    task, objective, space = record.task, record.objective, record.space
    return {
        "version": VERSION,
        "task": {
            "kernel": task.kernel,
            "device": task.device,
            "problem": dict(task.problem),
            "toolchain": task.toolchain,
            "source_digest": task.source_digest,
            "settings": dict(task.settings),
        },
        "objective": {"metric": objective.metric, "reduction": objective.reduction, "goal": objective.goal},
        "parameters": {name: list(values) for name, values in space.parameters.items()},
        "constraints": [constraint.text for constraint in space.constraints],
        "constants": dict(space.constants),
        "complete": isinstance(record, RecordedSpace),
        "derived_time": has_derived_time(record),
    }


def has_derived_time(record: RecordedSpace | PartialRecord) -> bool:
    """Is the objective reduced from samples, with no recorded time beside them?"""
    return record.objective.metric == "runtime_ms" and not any("time_ms" in m.metrics for m in record.rows.values())


def read_header(data: object, file: Path) -> Header | None:
    """The header in a file's plain data; None where there is none.

    Raises:
        RecordError: a newer version, or something else than a header under the key.
    """
    if not isinstance(data, Mapping):
        return None
    try:
        found = plain(data)
    except RecursionError as error:
        raise RecordError(f"{file}: its {KEY!r} part is nested too deeply") from error
    version = found.get("version")
    if not isinstance(version, int) or not 0 < version <= VERSION:
        raise RecordError(
            f"{file}: its {KEY!r} part has version {version!r}; this program reads up to {VERSION}: update tunewright"
        )
    try:
        return Header(
            _task(found["task"]),
            Objective(**found["objective"]),
            {name: _values(name, values) for name, values in found["parameters"].items()},
            tuple(map(str, found["constraints"])),
            dict(found["constants"]),
            found["complete"] is True,
            found["derived_time"] is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OptionError) as error:
        raise RecordError(f"{file}: its {KEY!r} part is damaged: {type(error).__name__} {error}") from error


def _values(name: str, values: object) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, bool | int | float | str) for value in values):
        raise TypeError(f"the values of {name} must be a list of numbers, texts or booleans, not {values!r}")
    return values


def _task(data: Mapping[str, Any]) -> Task:
    task = Task(**data)
    texts = (task.kernel, task.device, task.toolchain, task.source_digest)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"kernel, device, toolchain and source_digest must be texts, not {texts!r}")
    if not isinstance(task.problem, Mapping) or not isinstance(task.settings, Mapping):
        raise TypeError("problem and settings must be objects")
    return task


def plain(value: Any) -> Any:
    """A JSON value with ordinary floats."""
    if isinstance(value, NumberText):
        return float(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
