"""CSV files: tunewright's own, KTT's, and any other whose parameter and objective columns are named.

Read by columns: a cell's text is parsed once for each distinct text of its column.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tunewright.errors import OptionError, RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records.draft import Codes, Draft, Hints, value_lists
from tunewright.records.header import KEY, header_of, read_header
from tunewright.records.names import goal_of, metric_name
from tunewright.records.notes import REMARK, REPAIRED, SUSPICIOUS, Notes
from tunewright.records.numbers import MILLI, NumberText, shifted, time_digits
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.rows import STATUSES, measured
from tunewright.records.source import Source, strict_json, write_file
from tunewright.space import Value

__all__ = ["read", "recognises", "write"]

_MARK = f"# {KEY} "
_OWN_COLUMNS = ("status", "runtimes_ms", "compile_s", "verify_s", "benchmark_s", "detail", "remarks")
_KTT_DURATION = re.compile(r"Computation duration \((\w+)\)")
_KTT_COMPILATION = {
    "Registers count": "registers",
    "Constant memory size": "constant_memory_bytes",
    "Local memory size": "local_memory_bytes",
    "Private memory size": "private_memory_bytes",
    "Maximum work-group size": "max_work_group_size",
}
_LONGEST_CELL = 131_000  # what Python's csv module reads back
_INTEGER = re.compile(r"[+-]?\d{1,400}")
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class _Table:
    """Column names, and the columns of the rows that have all of them."""

    names: list[str]
    columns: dict[str, tuple[str, ...]]
    rows: int


def recognises(source: Source) -> bool:
    """Is it text, no JSON, whose first line has columns?"""
    if source.json is not None:
        return False
    first = source.text[:100_000].partition("\n")[0]
    return first.startswith(_MARK) or "," in first


def read(source: Source, hints: Hints) -> Draft:
    """Read a CSV file.

    Raises:
        RecordError: the columns are not those stated, or no column says what is a parameter.
    """
    if source.text.startswith(_MARK):
        return _read_own(source)
    table = _table(source, source.text)
    if not hints.parameters and len(table.names) > 1 and _KTT_DURATION.fullmatch(table.names[1]):
        return _read_ktt(source, table, hints)
    return _read_stated(source, table, hints)


def write(path: Path, record: RecordedSpace | PartialRecord) -> None:
    """Write a CSV file, the header in a comment line first.

    Raises:
        RecordError: two columns would have the same name, or a cell would be too long.
    """
    names = record.space.names
    rows = sorted(record.rows.items())
    metrics = sorted({name for _, measurement in rows for name in measurement.metrics})
    clash = sorted((set(metrics) & {*names, *_OWN_COLUMNS}) | (set(names) & set(_OWN_COLUMNS)))
    if clash:
        raise RecordError(f"{path}: the column {clash[0]!r} would stand twice; rename the metric or parameter")
    texts = [_texts(path, name, values) for name, values in record.space.parameters.items()]
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([*names, *_OWN_COLUMNS, *metrics])
    for i, measurement in rows:
        configuration = record.space.config(i).values()
        figures = (measurement.metrics.get(name, math.nan) for name in metrics)
        writer.writerow(
            [
                *(text[value] for text, value in zip(texts, configuration, strict=True)),
                measurement.status.value,
                _samples_text(path, measurement.runtimes_ms),
                *map(repr, (measurement.compile_s, measurement.verify_s, measurement.benchmark_s)),
                measurement.detail,
                json.dumps(list(measurement.remarks)) if measurement.remarks else "",
                *(repr(float(value)) if math.isfinite(value) else "" for value in figures),
            ]
        )
    write_file(path, f"{_MARK}{strict_json(header_of(record))}\n{stream.getvalue()}")


def _table(source: Source, text: str) -> _Table:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=False) if row]
    except csv.Error as error:
        raise RecordError(f"{source.file}: the CSV cannot be read: {error}") from error
    if len(rows) < 2:
        raise RecordError(f"{source.file}: the CSV has no rows below its line of names")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise RecordError(f"{source.file}: a column's name stands twice: {names}")
    whole = rows[1:]
    if {len(row) for row in whole} != {len(names)}:
        ragged = [row for row in whole if len(row) != len(names)]
        whole = [row for row in whole if len(row) == len(names)]
        source.notes.add(REPAIRED, "a row has not as many cells as there are names", ",".join(ragged[0]), len(ragged))
    columns: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    if whole:
        columns = dict(zip(names, zip(*whole, strict=True), strict=True))
    return _Table(names, columns, len(whole))


def _read_own(source: Source) -> Draft:
    head, _, body = source.text.partition("\n")
    try:
        data = json.loads(head.removeprefix(_MARK))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{source.file}: its first line is damaged: {error}") from error
    header = read_header(data, source.file)
    table = _table(source, body)
    if header is None or not {*header.parameters, *_OWN_COLUMNS} <= table.columns.keys():
        raise RecordError(f"{source.file}: columns are missing; needed: {', '.join(_OWN_COLUMNS)} and the parameters")
    codes = np.zeros((table.rows, len(header.parameters)), dtype=np.int32)
    for number, (name, values) in enumerate(header.parameters.items()):
        place = {text: code for code, text in enumerate(_texts(source.file, name, values).values())}
        try:
            codes[:, number] = [place[text] for text in table.columns[name]]
        except KeyError as error:
            raise RecordError(f"{source.file}: {name} = {error} is not in its value list") from error
    metrics = [name for name in table.names if name not in header.parameters and name not in _OWN_COLUMNS]
    figures = [_numbers(table.columns[name], name, source.notes) for name in metrics]
    fixed = [table.columns[name] for name in _OWN_COLUMNS]
    measurements = []
    try:
        for row in range(table.rows):
            status, samples, compile_s, verify_s, benchmark_s, detail, remarks = (column[row] for column in fixed)
            known = {n: f[row] for n, f in zip(metrics, figures, strict=True) if f[row] == f[row]}
            durations = float(compile_s), float(verify_s), float(benchmark_s)
            taken = tuple(map(float, samples.split()))
            marks = tuple(json.loads(remarks)) if remarks else ()
            measurements.append(Measurement(STATUSES[status], taken, *durations, known, detail, marks))
    except (KeyError, ValueError, TypeError, OptionError) as error:
        raise RecordError(f"{source.file}: row {row + 1} is damaged: {type(error).__name__} {error}") from error
    return Draft(header.task, header.parameters, codes, measurements, header.objective, header)


def _read_ktt(source: Source, table: _Table, hints: Hints) -> Draft:
    """KTT's own CSV: kernel, duration, sizes, parameters, then counters and what the compiler reports."""
    duration = table.names[1]
    match = _KTT_DURATION.fullmatch(duration)
    digits = time_digits(match[1]) if match else None
    if digits is None:
        source.notes.add(SUSPICIOUS, f"the unit of {duration!r} is not known; microseconds are assumed")
        digits = -MILLI
    begin = 4 if table.names[2:4] == ["Global size", "Local size"] else 2
    rest = table.names[begin:]
    count = next((k for k, name in enumerate(rest) if _is_figure(name)), len(rest))
    names, counters = rest[:count], rest[count:]
    lists, codes = _parameters(table, names)
    figures = [_numbers(table.columns[name], name, source.notes) for name in counters]
    ours = [_KTT_COMPILATION.get(name, name) for name in counters]
    times = [shifted(NumberText(text), digits) if _is_number(text) else None for text in table.columns[duration]]
    measurements = []
    for row, time in enumerate(times):
        metrics = {name: column[row] for name, column in zip(ours, figures, strict=True) if column[row] == column[row]}
        if time is None:
            measurements.append(Measurement(Status.LAUNCH_ERROR, metrics=metrics, detail="no duration recorded"))
        else:
            measurements.append(measured((time,), (0.0, 0.0, 0.0), metrics, {}, source.notes, f"row {row + 1}"))
    source.notes.add(REMARK, "the file names no device and no durations but the kernel's own")
    kernel = hints.kernel or (table.columns[table.names[0]][0] if table.rows else source.stem)
    return Draft(Task(kernel, hints.device or source.stem), lists, codes, measurements)


def _is_figure(name: str) -> bool:
    return "__" in name or "." in name or name in _KTT_COMPILATION


def _read_stated(source: Source, table: _Table, hints: Hints) -> Draft:
    """Any CSV, with its parameters and objectives named by the user."""
    if not hints.parameters or not hints.objectives:
        raise RecordError(
            f"{source.file}: a CSV file does not say which columns are parameters and which are objectives; "
            f"name them (--parameters A,B --objectives C). Columns: {', '.join(table.names)}"
        )
    asked = [*hints.parameters, *hints.objectives, *([hints.valid] if hints.valid else [])]
    unknown = [name for name in asked if name not in table.columns]
    if unknown:
        raise RecordError(f"{source.file}: no column {unknown[0]!r}; there are {', '.join(table.names)}")
    left_out = [name for name in table.names if name not in asked]
    if left_out:
        source.notes.add(REMARK, f"columns left out: {', '.join(left_out)}")
    lists, codes = _parameters(table, hints.parameters)
    metrics = [metric_name(name) for name in hints.objectives]
    figures = [_numbers(table.columns[name], name, source.notes) for name in hints.objectives]
    valid = [True] * table.rows if hints.valid is None else _truths(source, hints.valid, table.columns[hints.valid])
    detail = f"{hints.valid} is false"
    seconds = (0.0, 0.0, 0.0)
    measurements = []
    for row, (fine, values) in enumerate(zip(valid, zip(*figures, strict=True), strict=True)):
        known = {name: value for name, value in zip(metrics, values, strict=True) if value == value}
        if not fine:
            measurements.append(Measurement(Status.INVALID, (), *seconds, known, detail))
        elif metrics[0] not in known:
            measurements.append(Measurement(Status.LAUNCH_ERROR, (), *seconds, known, f"no {metrics[0]} recorded"))
        else:
            sample = (known.pop("runtime_ms"),) if "runtime_ms" in known else ()
            measurements.append(measured(sample, seconds, known, {}, source.notes, f"row {row + 1}"))
    goal = hints.goal or goal_of(metrics[0])
    if goal is None:
        source.notes.add(SUSPICIOUS, f"whether more or less {metrics[0]} is better is not known; less is assumed")
    task = Task(hints.kernel or source.stem, hints.device or "unknown")
    return Draft(task, lists, codes, measurements, Objective(metric=metrics[0], goal=goal or "min"))


def _parameters(table: _Table, names: Sequence[str]) -> tuple[dict[str, list[Value]], Codes]:
    """Value lists and value indices of some columns."""
    lists: dict[str, list[Value]] = {}
    codes = np.zeros((table.rows, len(names)), dtype=np.int32)
    for number, name in enumerate(names):
        column = table.columns[name]
        values = {text: _cell_value(text) for text in dict.fromkeys(column)}
        lists.update(value_lists([name], [(value,) for value in values.values()]))
        place = {value: code for code, value in enumerate(lists[name])}
        code_of = {text: place[value] for text, value in values.items()}
        codes[:, number] = [code_of[text] for text in column]
    return lists, codes


def _cell_value(text: str) -> Value:
    bare = text.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if _INTEGER.fullmatch(bare):
        return int(bare)
    return float(bare) if _is_number(bare) else bare


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _numbers(column: Sequence[str], name: str, notes: Notes) -> list[float]:
    """A column of figures; NaN where a cell has none."""
    try:
        found = list(map(float, column))
    except ValueError:
        found = [float(text) if _is_number(text) else math.nan for text in column]
        wrong = [text for text in column if text.strip() and not _is_number(text)]
        if wrong:
            notes.add(REPAIRED, f"{name} is no number; taken as not recorded", repr(wrong[0]), len(wrong))
    return [value if math.isfinite(value) else math.nan for value in found]


def _truths(source: Source, name: str, column: Sequence[str]) -> list[bool]:
    known = {text: _TRUTH.get(text.strip().lower()) for text in dict.fromkeys(column)}
    wrong = [text for text, truth in known.items() if truth is None]
    if wrong:
        raise RecordError(f"{source.file}: {name} is {wrong[0]!r} in a row; it must be one of {', '.join(_TRUTH)}")
    return [known[text] is True for text in column]


def _texts(path: Path, name: str, values: Sequence[Value]) -> dict[Value, str]:
    """How the values of a parameter are written, each differently."""
    texts = {value: value if isinstance(value, str) else strict_json(value) for value in values}
    if len(set(texts.values())) < len(texts):
        texts = {value: strict_json(value) for value in values}
    if len(set(texts.values())) < len(texts):
        raise RecordError(f"{path}: values of {name} look alike as text: {list(texts.values())}")
    return texts


def _samples_text(path: Path, samples: Sequence[float]) -> str:
    text = " ".join(map(repr, samples))
    if len(text) > _LONGEST_CELL:
        raise RecordError(f"{path}: {len(samples)} samples are more than a CSV cell holds; write another format")
    return text
