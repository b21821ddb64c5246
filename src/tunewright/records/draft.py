"""From the rows of a file to a record: value lists, duplicates, the order of ids, known constraints."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunewright.errors import RecordError, SpaceError
from tunewright.measure import Measurement, Objective, Task
from tunewright.records.header import Header, plain
from tunewright.records.notes import REPAIRED, SUSPICIOUS, Notes
from tunewright.records.numbers import NumberText
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.space import SearchSpace, Value, read_t1_space

__all__ = ["Draft", "Hints", "assemble", "check_listed", "coded", "distinct", "parameter_value", "value_lists"]

Codes = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Hints:
    """What the user says about a file that the file does not say itself.

    Attributes:
        t1: a T1 file with the space's value lists and constraints.
        fix: values of its parameters that the file left out because they never changed.
        parameters: columns of a CSV file that are parameters.
        objectives: its columns that are objectives; the first is the record's objective.
        valid: its column that says which rows are valid.
        goal: ``min`` or ``max`` where the file does not say.
        kernel: the kernel's name.
        device: the device's name.
    """

    t1: str | Path | None = None
    fix: Mapping[str, object] = field(default_factory=dict)
    parameters: Sequence[str] = ()
    objectives: Sequence[str] = ()
    valid: str | None = None
    goal: str | None = None
    kernel: str | None = None
    device: str | None = None


@dataclass(slots=True)
class Draft:
    """What a reader found in a file, in the order of its rows.

    Attributes:
        task: what was measured, where.
        parameters: value lists.
        codes: value indices, rows x parameters.
        measurements: one for each row.
        objective: what counts.
        header: the file's own header, if tunewright wrote it.
    """

    task: Task
    parameters: Mapping[str, Sequence[Value]]
    codes: Codes
    measurements: Sequence[Measurement]
    objective: Objective = field(default_factory=Objective)
    header: Header | None = None


def parameter_value(value: object) -> Value:
    """A file's value as a parameter's value; lists, objects and null become their JSON text."""
    if isinstance(value, NumberText):
        return float(value)
    if isinstance(value, bool | int | float | str):
        return value
    return json.dumps(plain(value))


def distinct(values: Sequence[object], name: str, notes: Notes) -> list[Value]:
    """A value list as the search space wants it: plain values, those equal to an earlier one left out."""
    found: dict[Value, None] = {}
    for value in values:
        usable = parameter_value(value)
        if isinstance(value, list | dict) or value is None:
            notes.add(REPAIRED, f"a value of {name} is no number or text; its JSON text is used", usable)  # type: ignore[arg-type]
        if usable in found:
            notes.add(REPAIRED, f"{name} lists a value that equals an earlier one; kept once", repr(usable))
        found.setdefault(usable)
    return list(found)


def value_lists(names: Sequence[str], rows: Sequence[Sequence[Value]]) -> dict[str, list[Value]]:
    """Value lists from the rows alone: numbers ascending, anything else in order of appearance."""
    lists: dict[str, list[Value]] = {}
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        values = list(dict.fromkeys(column))
        lists[name] = values if any(isinstance(value, str) for value in values) else sorted(values)
    return lists


def check_listed(lists: Mapping[str, Collection[Value]], values: Sequence[Value]) -> None:
    """Refuse a value that is not in its list; without lists, everything goes.

    Raises:
        ValueError: names parameter and value.
    """
    for (name, listed), value in zip(lists.items(), values, strict=False):
        if value not in listed:
            raise ValueError(f"{name} = {value!r} is not in its value list")


def coded(parameters: Mapping[str, Sequence[Value]], rows: Sequence[Sequence[Value]]) -> Codes:
    """Value indices of rows whose values are all listed."""
    codes = np.zeros((len(rows), len(parameters)), dtype=np.int32)
    if rows:
        for number, (values, column) in enumerate(zip(parameters.values(), zip(*rows, strict=True), strict=True)):
            place = {value: code for code, value in enumerate(values)}
            codes[:, number] = [place[value] for value in column]
    return codes


def assemble(draft: Draft, hints: Hints, notes: Notes, file: Path) -> RecordedSpace | PartialRecord:
    """Turn a draft into a record; partial where known constraints allow more than the rows.

    Raises:
        RecordError: no rows, or a space that cannot be built.
    """
    if not len(draft.measurements):
        raise RecordError(f"{file}: the file holds no usable configuration; first: {_first(notes)}")
    header = draft.header
    try:
        if hints.t1 is not None:
            return _in_space(draft, read_t1_space(hints.t1).fix(**hints.fix), notes)
        if header is not None and not header.complete:
            space = SearchSpace(header.parameters, header.constraints, constants=header.constants)
            rows = _rows_in(draft, space, notes)
            return PartialRecord(draft.task, space, rows, draft.objective, notes.texts())
        return _alone(draft, notes)
    except SpaceError as error:
        raise RecordError(f"{file}: {error}") from error


def _first(notes: Notes) -> str:
    return next(iter(notes.texts()), "it has no rows")


def _alone(draft: Draft, notes: Notes) -> RecordedSpace:
    """The record whose space is what the rows hold."""
    rows = _last_of_each(draft, notes)
    space = SearchSpace.from_configurations(draft.parameters, draft.codes[rows])
    order = np.lexsort(draft.codes[rows].T[::-1]) if draft.parameters else np.arange(len(rows))
    measurements = tuple(draft.measurements[row] for row in rows[order].tolist())
    return RecordedSpace(draft.task, space, measurements, draft.objective, notes.texts())


def _last_of_each(draft: Draft, notes: Notes) -> npt.NDArray[np.intp]:
    """Positions of the rows that count: the last of each configuration."""
    count = len(draft.measurements)
    if not draft.parameters:
        return np.arange(count)[-1:]
    _, last, times = np.unique(draft.codes[::-1], axis=0, return_index=True, return_counts=True)
    rows = np.sort(count - 1 - last)
    if len(rows) < count:
        twice = draft.codes[count - 1 - last[times.argmax()]].tolist()
        example = {name: values[code] for (name, values), code in zip(draft.parameters.items(), twice, strict=True)}
        notes.add(SUSPICIOUS, "a configuration has several rows; the last one counts", str(example), count - len(rows))
    return rows


def _in_space(draft: Draft, space: SearchSpace, notes: Notes) -> RecordedSpace | PartialRecord:
    """The record in a space with known constraints."""
    rows = _rows_in(draft, space, notes)
    if len(rows) == space.size:
        ordered = tuple(rows[i] for i in range(space.size))
        return RecordedSpace(draft.task, space, ordered, draft.objective, notes.texts())
    notes.add(SUSPICIOUS, f"{space.size - len(rows):,} of {space.size:,} valid configurations have no row")
    return PartialRecord(draft.task, space, rows, draft.objective, notes.texts())


def _rows_in(draft: Draft, space: SearchSpace, notes: Notes) -> dict[int, Measurement]:
    """The rows by their ids in a space; configurations that it does not have are noted."""
    single = {name: values[0] for name, values in space.parameters.items() if len(values) == 1}
    extra = [n for n, values in draft.parameters.items() if n not in space.parameters and len(values) > 1]
    lacking = [name for name in space.names if name not in draft.parameters and name not in single]
    if extra or lacking:
        raise RecordError(
            f"{draft.task.label}: the space asked for and the file have different parameters: "
            f"only in the file {extra}, only in the space {lacking}"
        )
    names, lists = list(draft.parameters), list(draft.parameters.values())
    positions = _last_of_each(draft, notes)
    rows: dict[int, Measurement] = {}
    for position, codes in zip(positions.tolist(), draft.codes[positions].tolist(), strict=True):
        own: dict[str, Any] = {n: v[c] for n, v, c in zip(names, lists, codes, strict=True) if n in space.parameters}
        i = space.find({**single, **own})
        if i is None:
            notes.add(SUSPICIOUS, "a row breaks the constraints and was left out", str(own))
        else:
            rows[i] = draft.measurements[position]
    return rows
