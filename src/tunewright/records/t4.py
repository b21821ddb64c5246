"""T4 results files, the output format of the auto-tuning community's schemas (version 1.0).

Times are in the unit that the file's metadata name, "miliseconds" in the wild. The format has no value lists and no
task; files that tunewright writes carry both in the metadata, under a key of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records.draft import Draft, Hints, check_listed, coded, parameter_value, value_lists
from tunewright.records.header import KEY, Header, has_derived_time, header_of, read_header
from tunewright.records.names import FOREIGN, METRICS, goal_of, metric_name
from tunewright.records.notes import REMARK, REPAIRED, SUSPICIOUS
from tunewright.records.numbers import MILLI, NumberText, number, shifted, shifted_text, time_digits
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

__all__ = ["read", "recognises", "write"]

NEWEST = (1, 0)
WRITTEN_VERSION = "1.0.0"

_STATUS = {
    "correct": Status.OK,
    "timeout": Status.TIMEOUT,
    "compile": Status.COMPILE_ERROR,
    "runtime": Status.LAUNCH_ERROR,
    "correctness": Status.WRONG_RESULT,
    "constraints": Status.INVALID,
}
_INVALIDITY = {status: name for name, status in _STATUS.items()} | {Status.CRASH: "runtime"}
_UNITS = {"energy_j": "J", "ps_energy_j": "J", "power_w": "W", "ps_power_w": "W", "temperature_c": "C"}


def recognises(source: Source) -> bool:
    """Is it a T4 file, by its keys?"""
    return isinstance(source.json, dict) and isinstance(source.json.get("results"), list)


def read(source: Source, hints: Hints) -> Draft:
    """Read a T4 file.

    Raises:
        RecordError: a newer version, or no usable result.
    """
    data: Mapping[str, Any] = source.json
    _check_version(data, source.file)
    found = data.get("metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, dict) else {}
    header = read_header(metadata.get(KEY), source.file)
    digits = time_digits(metadata.get("timeunit"))
    if digits is None:
        unit = metadata.get("timeunit")
        source.notes.add(SUSPICIOUS, f"the unit of time {unit!r} is not known; milliseconds are assumed")
        digits = 0
    results = data["results"]
    objective = _objective(results, header, source, hints)
    names = _names(results, header)
    listed = {name: set(values) for name, values in header.parameters.items()} if header is not None else {}
    kept: list[tuple[Value, ...]] = []
    measurements: list[Measurement] = []
    for position, result in enumerate(results):
        where = f"result {position}"
        try:
            configuration = tuple(parameter_value(result["configuration"][name]) for name in names)
            check_listed(listed, configuration)
            measurements.append(_measurement(result, digits, objective.metric, header, source, where))
            kept.append(configuration)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            text = f"{type(error).__name__} {error}"
            source.notes.add(REPAIRED, "a result cannot be used and was left out", f"{where}: {text}")
    parameters = header.parameters if header is not None else value_lists(names, kept)
    if kept and not any(measurement.benchmark_s for measurement in measurements):
        source.notes.add(REMARK, "benchmark times are not recorded")
    return Draft(_task(header, source, hints), parameters, coded(parameters, kept), measurements, objective, header)


def write(path: Path, record: RecordedSpace | PartialRecord) -> None:
    """Write a T4 file.

    Raises:
        RecordError: it cannot be written.
    """
    objective = record.objective
    reduce = Objective(reduction=objective.reduction) if has_derived_time(record) else None
    key = "time" if objective.metric == "runtime_ms" else FOREIGN.get(objective.metric, objective.metric)
    metadata = {"timeunit": "milliseconds", KEY: header_of(record)}
    rows = ",\n".join(
        strict_json(_result(record.space.config(i), measurement, key, reduce))
        for i, measurement in sorted(record.rows.items())
    )
    head = f'"schema_version": "{WRITTEN_VERSION}",\n"metadata": {strict_json(metadata)}'
    write_file(path, f'{{\n{head},\n"results": [\n{rows}\n]\n}}\n')


def _check_version(data: Mapping[str, Any], file: Path) -> None:
    version = data.get("schema_version")
    match = re.fullmatch(r"(\d{1,6})\.(\d{1,6})(\.\d{1,6})?", str(version))
    if version is not None and (match is None or (int(match[1]), int(match[2])) > NEWEST):
        raise RecordError(
            f"{file}: has T4 version {version!r}; this program reads up to {'.'.join(map(str, NEWEST))}: "
            "update tunewright, or convert the file with the tool that wrote it"
        )


def _objective(results: list[Any], header: Header | None, source: Source, hints: Hints) -> Objective:
    stated = (result.get("objectives") for result in results if isinstance(result, dict))
    first = next((names[0] for names in stated if isinstance(names, list) and names), "time")
    if header is not None:
        return header.objective
    metric = metric_name(str(first))
    goal = hints.goal or goal_of(metric)
    if goal is None:
        source.notes.add(SUSPICIOUS, f"whether more or less {metric} is better is not known; less is assumed")
    return Objective(metric=metric, goal=goal or "min")


def _names(results: list[Any], header: Header | None) -> tuple[str, ...]:
    if header is not None:
        return tuple(header.parameters)
    first: object = next((r["configuration"] for r in results if isinstance(r, dict) and "configuration" in r), {})
    return tuple(first) if isinstance(first, dict) else ()


def _task(header: Header | None, source: Source, hints: Hints) -> Task:
    if header is not None:
        return header.task
    device = hints.device or re.sub(r"[._-]?T4$", "", source.stem, flags=re.IGNORECASE)
    kernel = hints.kernel or source.file.resolve().parent.name
    source.notes.add(REMARK, f"the file names no kernel and device; {kernel!r} and {device!r} are used")
    return Task(kernel, device)


def _measurement(
    result: Mapping[str, Any], digits: int, metric: str, header: Header | None, source: Source, where: str
) -> Measurement:
    notes = source.notes
    times = result["times"]
    compilation = times.get("compilation", times.get("compilation_time"))
    seconds = (
        duration_s(compilation, digits - MILLI, "compilation", notes, where),
        duration_s(times.get("validation"), digits - MILLI, "validation", notes, where),
        duration_s(times.get("benchmark"), digits - MILLI, "benchmark", notes, where),
    )
    samples = samples_ms(times.get("runtimes"), digits, notes, where)
    metrics = _metrics(result, times, digits, source, where)
    invalidity = result["invalidity"]
    if invalidity not in _STATUS:
        raise ValueError(f"invalidity {invalidity!r} is none of {', '.join(_STATUS)}")
    status = status_named(result.get("status"), _STATUS[invalidity])
    if status is Status.OK and header is None and metric not in metrics and not samples:
        notes.add(REPAIRED, f"a correct result without {metric}; taken as failed", where)
        return Measurement(Status.LAUNCH_ERROR, samples, *seconds, metrics, f"no {metric} recorded")
    if header is not None and header.derived_time:
        metrics.pop("time_ms", None)
    if status is Status.OK:
        return measured(samples, seconds, metrics, result, notes, where)
    metrics.pop("time_ms", None)
    cause = next((m["value"] for m in _list(result, "measurements") if type(m.get("value")) is str), invalidity)
    return Measurement(status, samples, *seconds, metrics, detail_of(result, cause), remarks_of(result))


def _metrics(
    result: Mapping[str, Any], times: Mapping[str, Any], digits: int, source: Source, where: str
) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for entry in _list(result, "measurements"):
        name, value, unit = entry["name"], entry.get("value"), entry.get("unit")
        ours = metric_name(name)
        of_time = ours.endswith("_ms") and name in METRICS
        own = time_digits(unit) if unit else digits
        if of_time and own is None:
            source.notes.add(SUSPICIOUS, f"the unit of {name}, {unit!r}, is not known; the file's unit is used", where)
        found = shifted(value, (digits if own is None else own) if of_time else 0)
        if found is not None:
            metrics[name if ours in metrics else ours] = found
        elif isinstance(value, list):
            source.notes.add(REMARK, f"{name} is a list and was left out", where)
    for name, ours in (("framework", "framework_ms"), ("search_algorithm", "strategy_ms")):
        found = shifted(times.get(name), digits)
        if found is not None:
            metrics[ours] = found
    stamp = result.get("timestamp")
    moment = timestamp_s(stamp)
    if moment is not None:
        metrics["timestamp_s"] = moment
    elif stamp is not None:
        source.notes.add(REPAIRED, "timestamp is no date; taken as not recorded", f"{where}: {stamp!r}")
    return metrics


def _list(result: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = result.get(key)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _result(
    configuration: Mapping[str, Value], measurement: Measurement, key: str, reduce: Objective | None
) -> dict[str, object]:
    worked = measurement.status is Status.OK
    result: dict[str, object] = {}
    metrics = {name: value for name, value in measurement.metrics.items() if number(value) is not None}
    stamp = timestamp_text(metrics["timestamp_s"]) if "timestamp_s" in metrics else None
    if stamp is not None and timestamp_s(stamp) == metrics["timestamp_s"]:
        result["timestamp"] = stamp
        del metrics["timestamp_s"]
    times: dict[str, object] = {
        "compilation": shifted_text(measurement.compile_s, MILLI),
        "validation": shifted_text(measurement.verify_s, MILLI),
        "benchmark": shifted_text(measurement.benchmark_s, MILLI),
    }
    for name, ours in (("framework", "framework_ms"), ("search_algorithm", "strategy_ms")):
        if ours in metrics:
            times[name] = NumberText(repr(metrics.pop(ours)))
    if measurement.runtimes_ms:
        times["runtimes"] = list(measurement.runtimes_ms)
    invalidity = _INVALIDITY[measurement.status]
    listed = [{"name": FOREIGN.get(n, n), "value": v, "unit": _unit(n)} for n, v in metrics.items()]
    if worked and reduce is not None and measurement.runtimes_ms:
        listed.append({"name": "time", "value": reduce.value(measurement), "unit": "ms"})
    return {
        **result,
        "configuration": dict(configuration),
        "times": times,
        "invalidity": invalidity,
        "correctness": int(worked),
        "measurements": listed,
        "objectives": [key],
        **extras(measurement, (_STATUS[invalidity], "" if worked else invalidity)),
    }


def _unit(metric: str) -> str:
    return _UNITS.get(metric) or ("ms" if metric.endswith("_ms") else "MHz" if metric.endswith("_mhz") else "")
