"""KTT's JSON results: one result a configuration, with compilation data and hardware counters.

Times are in the unit that the metadata name, microseconds as a rule. The format holds one duration a configuration:
of several samples it keeps the recorded time, else their reduction. It has no value lists; files that tunewright
writes carry them, with the task, in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from tunewright.errors import RecordError
from tunewright.measure import REDUCTIONS, Measurement, Objective, Status, Task
from tunewright.records.draft import Draft, Hints, check_listed, coded, parameter_value, value_lists
from tunewright.records.header import KEY, Header, header_of, read_header
from tunewright.records.notes import REMARK, REPAIRED, SUSPICIOUS
from tunewright.records.numbers import MILLI, NumberText, number, shifted, time_digits
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.rows import detail_of, duration_s, extras, measured, remarks_of, status_named
from tunewright.records.source import Source, strict_json, write_file
from tunewright.space import Value

__all__ = ["COMPILATION", "read", "recognises", "write"]

_STATUS = {
    "Ok": Status.OK,
    "ComputationFailed": Status.LAUNCH_ERROR,
    "ValidationFailed": Status.WRONG_RESULT,
    "CompilationFailed": Status.COMPILE_ERROR,
    "DeviceLimitsExceeded": Status.INVALID,
}
_STATUS_NAMES = {status: name for name, status in _STATUS.items()}
COMPILATION = {
    "RegistersCount": "registers",
    "ConstantMemorySize": "constant_memory_bytes",
    "LocalMemorySize": "local_memory_bytes",
    "PrivateMemorySize": "private_memory_bytes",
    "MaxWorkGroupSize": "max_work_group_size",
}
"""KTT's names of what the compiler reports, and what they are here."""

_OVERHEADS = {
    "DataMovementOverhead": "data_movement_ms",
    "SearcherOverhead": "searcher_ms",
    "ExtraDuration": "extra_ms",
}
_MICRO = 6
_EXACT = Context(prec=2000)
_ZERO = Decimal(0)


def recognises(source: Source) -> bool:
    """Is it a KTT file, by its keys?"""
    return isinstance(source.json, dict) and isinstance(source.json.get("Results"), list)


def read(source: Source, hints: Hints) -> Draft:
    """Read a KTT file.

    Raises:
        RecordError: a header of a newer version.
    """
    data: Mapping[str, Any] = source.json
    found = data.get("Metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, dict) else {}
    header = read_header(metadata.get(KEY), source.file)
    digits = time_digits(metadata.get("TimeUnit"))
    if digits is None:
        unit = metadata.get("TimeUnit")
        source.notes.add(SUSPICIOUS, f"the unit of time {unit!r} is not known; microseconds are assumed")
        digits = -3
    results = data["Results"]
    names = _names(results, header)
    listed = {name: set(values) for name, values in header.parameters.items()} if header is not None else {}
    kept: list[tuple[Value, ...]] = []
    measurements: list[Measurement] = []
    for position, result in enumerate(results):
        where = f"result {position}"
        try:
            row = {entry["Name"]: parameter_value(entry["Value"]) for entry in result["Configuration"]}
            configuration = tuple(row[name] for name in names)
            check_listed(listed, configuration)
            measurements.append(_measurement(result, digits, header, source, where))
            kept.append(configuration)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            text = f"{type(error).__name__} {error}"
            source.notes.add(REPAIRED, "a result cannot be used and was left out", f"{where}: {text}")
    parameters = header.parameters if header is not None else value_lists(names, kept)
    task = header.task if header is not None else _task(results, metadata, source, hints)
    objective = header.objective if header is not None else Objective()
    return Draft(task, parameters, coded(parameters, kept), measurements, objective, header)


def write(path: Path, record: RecordedSpace | PartialRecord) -> None:
    """Write a KTT file.

    Raises:
        RecordError: a configuration that works has no time, or the file cannot be written.
    """
    metadata = {"TimeUnit": "Microseconds", "Device": record.task.device, KEY: header_of(record)}
    rows = []
    for i, measurement in sorted(record.rows.items()):
        duration = _duration_ms(measurement, record.objective)
        if duration is None:
            raise RecordError(f"{path}: {record.space.config(i)} has no time, and KTT's format holds nothing else")
        rows.append(strict_json(_result(record.space.config(i), measurement, duration, record.task.kernel)))
    write_file(path, f'{{\n"Metadata": {strict_json(metadata)},\n"Results": [\n' + ",\n".join(rows) + "\n]\n}\n")


def _names(results: list[Any], header: Header | None) -> tuple[str, ...]:
    if header is not None:
        return tuple(header.parameters)
    for result in results:
        if isinstance(result, dict) and isinstance(result.get("Configuration"), list):
            entries = (entry for entry in result["Configuration"] if isinstance(entry, dict))
            return tuple(entry["Name"] for entry in entries if type(entry.get("Name")) is str)
    return ()


def _task(results: list[Any], metadata: Mapping[str, Any], source: Source, hints: Hints) -> Task:
    kernel = next((r["KernelName"] for r in results if isinstance(r, dict) and r.get("KernelName")), "")
    device = metadata.get("Device") or ""
    if not kernel or not device:
        source.notes.add(REMARK, "the file names no kernel or no device; its path is used")
    toolchain = f"{metadata['ComputeApi']}" if metadata.get("ComputeApi") else ""
    return Task(
        hints.kernel or str(kernel or source.file.resolve().parent.name),
        hints.device or str(device or source.stem),
        toolchain=toolchain,
    )


def _measurement(
    result: Mapping[str, Any], digits: int, header: Header | None, source: Source, where: str
) -> Measurement:
    notes = source.notes
    status = status_named(result.get("status"), _status(result["Status"], source, where))
    parts = [part for part in result.get("ComputationResults") or [] if isinstance(part, dict)]
    total = _decimal(result.get("TotalDuration", _text(sum_of(part.get("Duration") for part in parts))))
    verify, moved = _decimal(result.get("ValidationOverhead")), _decimal(result.get("DataMovementOverhead"))
    if parts:
        compiled = sum_of(part.get("Overhead") for part in parts)
    else:
        rest = (result.get(key) for key in ("DataMovementOverhead", "SearcherOverhead", "ValidationOverhead"))
        compiled = max(_ZERO, _EXACT.subtract(_decimal(result.get("TotalOverhead")), sum_of(rest)))
    shift = digits - MILLI
    seconds = (
        duration_s(_text(compiled), shift, "Overhead", notes, where),
        duration_s(_text(verify), shift, "ValidationOverhead", notes, where),
        duration_s(_text(_EXACT.add(total, moved)), shift, "TotalDuration", notes, where),
    )
    metrics = _metrics(result, parts, digits, own=header is not None)
    if status is not Status.OK:
        name = str(result["Status"])
        return Measurement(status, (), *seconds, metrics, detail_of(result, name), remarks_of(result))
    duration = shifted(_text(total), digits)
    return measured((0.0 if duration is None else duration,), seconds, metrics, result, notes, where)


def _status(name: object, source: Source, where: str) -> Status:
    if name in _STATUS:
        return _STATUS[str(name)]
    source.notes.add(REPAIRED, "a status is not known; taken as a failed launch", f"{where}: {name!r}")
    return Status.LAUNCH_ERROR


def _metrics(
    result: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], digits: int, *, own: bool
) -> dict[str, float]:
    """Figures by name; a file that tunewright wrote has all of them among the counters."""
    figures: dict[str, object] = {}
    for part in parts:
        prefix = f"{part.get('KernelFunction')}." if len(parts) > 1 else ""
        if not own:
            compilation = part.get("CompilationData") or {}
            figures.update({prefix + ours: compilation.get(theirs) for theirs, ours in COMPILATION.items()})
            for size, name in (("GlobalSize", "global_size"), ("LocalSize", "local_size")):
                axes = part.get(size) or {}
                figures.update({f"{prefix}{name}_{axis.lower()}": axes.get(axis) for axis in "XYZ"})
        for counter in (part.get("ProfilingData") or {}).get("Counters") or []:
            figures[prefix + counter["Name"]] = counter["Value"]
    metrics = {name: value for name, text in figures.items() if (value := number(text)) is not None}
    if not own:
        overheads = {ours: shifted(result.get(theirs), digits) for theirs, ours in _OVERHEADS.items()}
        metrics.update({name: value for name, value in overheads.items() if value is not None})
    return metrics


def _decimal(value: object) -> Decimal:
    return _ZERO if number(value) is None else Decimal(str(value))


def sum_of(values: Iterable[object]) -> Decimal:
    """The exact sum of a file's numbers; what is none counts as 0."""
    total = _ZERO
    for value in values:
        total = _EXACT.add(total, _decimal(value))
    return total


def _text(value: Decimal) -> NumberText:
    return NumberText(str(value))


def _duration_ms(measurement: Measurement, objective: Objective) -> float | None:
    if measurement.status is not Status.OK:
        return 0.0
    if "time_ms" in measurement.metrics:
        return measurement.metrics["time_ms"]
    return float(REDUCTIONS[objective.reduction](measurement.runtimes_ms)) if measurement.runtimes_ms else None


def _micro(value: float, digits: int) -> Decimal:
    return Decimal(repr(value)).scaleb(digits, _EXACT)


def _result(
    configuration: Mapping[str, Value], measurement: Measurement, duration_ms: float, kernel: str
) -> dict[str, object]:
    worked = measurement.status is Status.OK
    name = _STATUS_NAMES.get(measurement.status, "ComputationFailed")
    metrics = {key: value for key, value in measurement.metrics.items() if number(value) is not None}
    duration, compiled = _micro(duration_ms, 3), _micro(measurement.compile_s, _MICRO)
    verify, benchmark = _micro(measurement.verify_s, _MICRO), _micro(measurement.benchmark_s, _MICRO)
    moved = max(_ZERO, _EXACT.subtract(benchmark, duration))
    part = {
        "KernelFunction": kernel,
        "Duration": _text(duration),
        "Overhead": _text(compiled),
        "GlobalSize": {axis: int(metrics.get(f"global_size_{axis.lower()}", 1)) for axis in "XYZ"},
        "LocalSize": {axis: int(metrics.get(f"local_size_{axis.lower()}", 1)) for axis in "XYZ"},
        "CompilationData": {theirs: int(metrics[ours]) for theirs, ours in COMPILATION.items() if ours in metrics},
        "ProfilingData": {
            "Counters": [{"Name": key, "Type": "Double", "Value": value} for key, value in metrics.items()]
        },
    }
    return {
        "KernelName": kernel,
        "Status": name,
        "ComputationResults": [part] if worked else [],
        "Configuration": [
            {"Name": key, "Value": value, "ValueType": _value_type(value)} for key, value in configuration.items()
        ],
        "TotalDuration": _text(duration),
        "ExtraDuration": NumberText("0.0"),
        "DataMovementOverhead": _text(moved),
        "SearcherOverhead": NumberText("0.0"),
        "ValidationOverhead": _text(verify),
        "TotalOverhead": _text(_EXACT.add(_EXACT.add(moved, verify), compiled)),
        **extras(measurement, (_STATUS[name], "" if worked else name)),
    }


def _value_type(value: Value) -> str:
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "UnsignedInt" if value >= 0 else "Int"
    return "Double" if isinstance(value, float) else "String"
