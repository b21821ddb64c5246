"""Kernel Tuner cache files: unversioned and versions 1.0 to 1.2, gzipped or not, closed or not.

Times in these files are milliseconds. A row's objective is a number, or a failure's name as text, or one of two very
large numbers that older versions wrote for a failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records.draft import Draft, Hints, assemble, check_listed, coded, distinct, parameter_value
from tunewright.records.header import KEY, Header, has_derived_time, header_of, read_header
from tunewright.records.names import FOREIGN, goal_of, metric_name
from tunewright.records.notes import REMARK, REPAIRED, SUSPICIOUS
from tunewright.records.numbers import MILLI, NumberText, number, shifted_text
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.rows import (
    detail_of,
    duration_s,
    extras,
    measured,
    remarks_of,
    samples_ms,
    status_named,
    timestamp_s,
    timestamp_text,
)
from tunewright.records.source import Source, strict_json, write_file
from tunewright.space import Value

__all__ = ["read", "read_cache", "recognises", "write"]

NEWEST = (1, 2)
WRITTEN_VERSION = "1.0.0"

_FAILURES = {
    "InvalidConfig": Status.INVALID,
    "CompilationFailedConfig": Status.COMPILE_ERROR,
    "RuntimeFailedConfig": Status.LAUNCH_ERROR,
}
_FAILURE_NAMES = {status: name for name, status in _FAILURES.items()}
_SENTINELS = (1e20, 1.7976931348623157e308)
_OWN_KEYS = {"times", "compile_time", "verification_time", "benchmark_time", "timestamp", "status", "detail", "remarks"}


def read_cache(path: str | Path) -> RecordedSpace:
    """Read a cache file as a space of its own: the valid configurations are those that have a row.

    The objective is the recorded one; ``time`` is in these files the mean of its samples.

    Args:
        path: the ``.json`` or ``.json.gz`` file.

    Raises:
        RecordError: the file cannot be read, is no cache, or has no usable row; the message names the file.
    """
    source = Source(path)
    if not isinstance(source.json, dict):
        raise _no_cache(source.file)
    record = assemble(read(source, Hints()), Hints(), source.notes, source.file)
    return record if isinstance(record, RecordedSpace) else record.recorded_space()


def recognises(source: Source) -> bool:
    """Is it a cache, by its keys?"""
    return isinstance(source.json, dict) and bool(source.json.keys() & {"cache", "tune_params", "tune_params_keys"})


def read(source: Source, hints: Hints) -> Draft:
    """Read a cache file.

    Raises:
        RecordError: keys are missing, the version is newer, or no row is usable.
    """
    data: Mapping[str, Any] = source.json
    file = source.file
    _check_version(data, file)
    names, lists, rows = data.get("tune_params_keys"), data.get("tune_params"), data.get("cache")
    if not isinstance(names, list) or not isinstance(lists, dict) or not isinstance(rows, dict):
        raise _no_cache(file)
    if not rows:
        raise RecordError(f"{file}: the cache holds no configuration")
    if sorted(map(str, names)) != sorted(lists):
        raise RecordError(f"{file}: tune_params_keys {names} and the keys of tune_params {list(lists)} differ")
    wrong = next((name for name, values in lists.items() if not isinstance(values, list)), None)
    if wrong is not None:
        raise RecordError(f"{file}: tune_params of {wrong!r} is {lists[wrong]!r}; a list of values is needed")
    header = read_header(data.get(KEY), source.file)
    parameters = {name: distinct(lists[name], name, source.notes) for name in names}
    objective, key = _objective(data, rows, header, source, hints)
    reader = _RowReader(source, parameters, key, header)
    kept: list[tuple[Value, ...]] = []
    measurements: list[Measurement] = []
    for row_key, row in rows.items():
        try:
            configuration = reader.configuration(row_key, row)
            measurements.append(reader.measurement(row_key, row))
            kept.append(configuration)
        except (KeyError, TypeError, ValueError) as error:
            text = f"lacks {error}" if isinstance(error, KeyError) else f"has a fault: {error}"
            source.notes.add(REPAIRED, "a row cannot be used and was left out", f"row {row_key!r} {text}")
    reader.note_unknown()
    task = header.task if header is not None else _task(data, source, hints)
    return Draft(task, parameters, coded(parameters, kept), measurements, objective, header)


def write(path: Path, record: RecordedSpace | PartialRecord) -> None:
    """Write a cache file that Kernel Tuner's simulation mode reads.

    Raises:
        RecordError: a metric and a parameter share a name, or the file cannot be written.
    """
    space, task, objective = record.space, record.task, record.objective
    taken = set(space.names) | _OWN_KEYS
    clash = sorted({FOREIGN.get(name, name) for m in record.rows.values() for name in m.metrics} & taken)
    if clash:
        raise RecordError(f"{path}: the metric {clash[0]!r} has the name of a parameter or column; rename it")
    key = "time" if objective.metric == "runtime_ms" else FOREIGN.get(objective.metric, objective.metric)
    reduce = Objective(reduction=objective.reduction) if has_derived_time(record) else None
    sizes = list(task.problem.values())
    head = {
        "schema_version": WRITTEN_VERSION,
        "device_name": task.device,
        "kernel_name": task.kernel,
        "problem_size": sizes if all(map(_is_size, sizes)) else [],
        "tune_params_keys": list(space.names),
        "tune_params": {name: list(values) for name, values in space.parameters.items()},
        "objective": key,
        KEY: header_of(record),
    }
    lines = ",\n".join(f"{json_key(name)}: {strict_json(value)}" for name, value in head.items())
    rows = ",\n".join(
        f"{json_key(','.join(map(str, configuration.values())))}: "
        f"{strict_json({**configuration, **_row(measurement, reduce, key)})}"
        for configuration, measurement in ((space.config(i), m) for i, m in sorted(record.rows.items()))
    )
    write_file(path, f'{{\n{lines},\n"cache": {{\n{rows}\n}}\n}}\n')


def json_key(name: str) -> str:
    """A name as the key of a JSON object."""
    return strict_json(str(name))


class _RowReader:
    """Turns the rows of one file into configurations and measurements."""

    def __init__(
        self, source: Source, parameters: Mapping[str, Sequence[Value]], objective_key: str, header: Header | None
    ) -> None:
        self._notes = source.notes
        self._parameters = {name: set(values) for name, values in parameters.items()}
        self._key = objective_key
        self._own = header is not None
        self._skip_time = header is not None and header.derived_time
        self._names: dict[str, str] = {}
        self._rows = self._worked = 0
        self._seen: dict[str, tuple[int, str]] = {}

    def configuration(self, row_key: str, row: Any) -> tuple[Value, ...]:
        if not isinstance(row, dict):
            raise TypeError("it is no object")
        values = tuple(parameter_value(row[name]) for name in self._parameters)
        check_listed(self._parameters, values)
        if row_key != ",".join(str(row[name]) for name in self._parameters):
            self._notes.add(REPAIRED, "a row's key does not match its values; the values count", f"row {row_key!r}")
        return values

    def measurement(self, row_key: str, row: Mapping[str, Any]) -> Measurement:
        notes, where = self._notes, f"row {row_key!r}"
        self._rows += 1
        seconds = (
            duration_s(row.get("compile_time"), -MILLI, "compile_time", notes, where),
            duration_s(row.get("verification_time"), -MILLI, "verification_time", notes, where),
            duration_s(row.get("benchmark_time"), -MILLI, "benchmark_time", notes, where),
        )
        samples = samples_ms(row.get("times"), 0, notes, where)
        metrics = self._metrics(row, where)
        value = row.get(self._key, row.get("time"))
        if type(row.get("time")) is str:
            value = row["time"]  # a failure, whatever figures the row has
        found = number(value)
        if found is None and self._key not in row and "time" not in row:
            if self._own:
                return measured(samples, seconds, metrics, row, notes, where)
            if not samples:
                raise KeyError(self._key)
            notes.add(REPAIRED, "no time recorded; the mean of the samples is used", where)
            metrics["time_ms"] = sum(samples) / len(samples)
            found = metrics["time_ms"]
        if found is None or (self._key == "time" and found in _SENTINELS):
            return self._failed(row, value, samples, seconds, metrics)
        self._worked += 1
        for name in ("times", "compile_time", "benchmark_time", "timestamp"):
            if row.get(name) is None:
                count, first = self._seen.get(name, (0, where))
                self._seen[name] = (count + 1, first)
        if "times" in row and not samples and row["times"] == []:
            notes.add(SUSPICIOUS, "a row has a time and an empty list of samples", where)
        if self._skip_time and samples:
            metrics.pop("time_ms", None)
        return measured(samples, seconds, metrics, row, notes, where)

    def note_unknown(self) -> None:
        """Say which figures rows do not have."""
        for name, (count, first) in self._seen.items():
            which = "every row that worked" if count == self._worked else f"{count:,} rows"
            self._notes.add(REMARK, f"{name} is not recorded in {which}", first)

    def _failed(
        self,
        row: Mapping[str, Any],
        value: object,
        samples: tuple[float, ...],
        seconds: tuple[float, float, float],
        metrics: dict[str, float],
    ) -> Measurement:
        name = value if type(value) is str else "no time recorded"
        status = status_named(row.get("status"), _FAILURES.get(name, Status.LAUNCH_ERROR))
        metrics.pop("time_ms", None)
        return Measurement(status, samples, *seconds, metrics, detail_of(row, name), remarks_of(row))

    def _metrics(self, row: Mapping[str, Any], where: str) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for key, value in row.items():
            if key in self._parameters or key in _OWN_KEYS:
                continue
            found = number(value)
            if found is not None:
                name = self._names.get(key) or self._names.setdefault(key, metric_name(key))
                metrics[key if name in metrics else name] = found
            elif isinstance(value, list | dict) or (type(value) is str and key not in ("time", self._key)):
                self._notes.add(REMARK, f"{key} is no number and was left out", where)
        stamp = row.get("timestamp")
        if stamp is not None:
            moment = timestamp_s(stamp)
            if moment is None:
                self._notes.add(REPAIRED, "timestamp is no date; taken as not recorded", f"{where}: {stamp!r}")
            else:
                metrics["timestamp_s"] = moment
        return metrics


def _check_version(data: Mapping[str, Any], file: Path) -> None:
    version = data.get("schema_version")
    if version is None:
        return
    match = re.fullmatch(r"(\d{1,6})\.(\d{1,6})(\.\d{1,6})?", str(version))
    if match is None or (int(match[1]), int(match[2])) > NEWEST:
        newest = ".".join(map(str, NEWEST))
        raise RecordError(
            f"{file}: has schema version {version!r}; this program reads Kernel Tuner caches up to {newest}: "
            "update tunewright, or convert the file with the tool that wrote it"
        )


def _objective(
    data: Mapping[str, Any], rows: Mapping[str, Any], header: Header | None, source: Source, hints: Hints
) -> tuple[Objective, str]:
    """What counts, and the key of it in the rows."""
    key = data.get("objective", "time")
    if header is not None:
        return header.objective, str(key)
    if not isinstance(key, str) or not any(isinstance(row, dict) and key in row for row in rows.values()):
        if key != "time":
            source.notes.add(SUSPICIOUS, f"the objective {key!r} is in no row; time is used")
        if not any(isinstance(row, dict) and "time" in row for row in rows.values()):
            key = next((k for k in _number_keys(rows) if goal_of(metric_name(k))), "time")
        else:
            key = "time"
    metric = metric_name(key)
    goal = hints.goal or goal_of(metric)
    if goal is None:
        source.notes.add(SUSPICIOUS, f"whether more or less {metric} is better is not known; less is assumed")
    return Objective(metric=metric, goal=goal or "min"), key


def _number_keys(rows: Mapping[str, Any]) -> list[str]:
    first = next((row for row in rows.values() if isinstance(row, dict)), {})
    return [key for key, value in first.items() if number(value) is not None]


def _task(data: Mapping[str, Any], source: Source, hints: Hints) -> Task:
    size = data.get("problem_size")
    sizes = size if isinstance(size, list) else [size]
    problem = {f"size_{axis}": _plain_size(n) for axis, n in zip("xyz", sizes, strict=False) if n is not None}
    kernel = _named(hints.kernel, data, "kernel_name", source.file.resolve().parent.name, source)
    return Task(kernel, _named(hints.device, data, "device_name", source.stem, source), problem)


def _named(hint: str | None, data: Mapping[str, Any], key: str, otherwise: str, source: Source) -> str:
    value = data.get(key)
    if hint is not None:
        return hint
    if isinstance(value, str) and value:
        return value
    kind = REMARK if value == "" else REPAIRED
    said = "empty" if value == "" else "missing" if value is None else f"{value!r}, no text"
    source.notes.add(kind, f"{key} is {said}; {otherwise!r}, from the file's name, is used")
    return otherwise


def _plain_size(value: object) -> object:
    return float(value) if isinstance(value, NumberText) else value


def _is_size(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _no_cache(file: Path) -> RecordError:
    return RecordError(f"{file}: not a Kernel Tuner cache: it needs the keys tune_params_keys, tune_params and cache")


def _row(measurement: Measurement, reduce: Objective | None, key: str) -> dict[str, object]:
    """The part of a row that is no configuration."""
    row: dict[str, object] = {}
    failure = _FAILURE_NAMES.get(measurement.status, "RuntimeFailedConfig")
    metrics = dict(measurement.metrics)
    stamp = timestamp_text(metrics["timestamp_s"]) if "timestamp_s" in metrics else None
    if stamp is not None and timestamp_s(stamp) == metrics["timestamp_s"]:
        row["timestamp"] = stamp
        del metrics["timestamp_s"]
    row.update({FOREIGN.get(name, name): value for name, value in metrics.items() if number(value) is not None})
    if measurement.status is not Status.OK:
        row["time"] = failure
        row.setdefault(key, failure)
    elif reduce is not None and measurement.runtimes_ms:
        row["time"] = reduce.value(measurement)
    if measurement.runtimes_ms:
        row["times"] = list(measurement.runtimes_ms)
    durations: Mapping[str, float] = {
        "compile_time": measurement.compile_s,
        "verification_time": measurement.verify_s,
        "benchmark_time": measurement.benchmark_s,
    }
    row.update({name: shifted_text(seconds, MILLI) for name, seconds in durations.items()})
    implied = (Status.OK, "") if measurement.status is Status.OK else (_FAILURES[failure], failure)
    return {**row, **extras(measurement, implied)}
