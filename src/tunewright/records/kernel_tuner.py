"""Reading Kernel Tuner cache files (versions 1.0 to 1.2 and unversioned, gzipped or not).

Times in these files are milliseconds. ``time`` is a number, or a failure's name as text, or one of two very
large numbers that older versions wrote for a failure.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tunewright.errors import RecordError, SpaceError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records.recorded import RecordedSpace
from tunewright.space import SearchSpace

__all__ = ["MAX_BYTES", "read_cache"]

MAX_BYTES = 2**30
"""A file that unpacks to more than this is refused."""

_FAILURES = {
    "InvalidConfig": Status.INVALID,
    "CompilationFailedConfig": Status.COMPILE_ERROR,
    "RuntimeFailedConfig": Status.LAUNCH_ERROR,
}
_SENTINELS = (1e20, 1.7976931348623157e308)


def read_cache(path: str | Path) -> RecordedSpace:
    """Read a cache file; the valid configurations are those that have a row.

    The objective is the recorded ``time``, which these files give as the mean of their samples.

    Args:
        path: the ``.json`` or ``.json.gz`` file.

    Raises:
        RecordError: the file cannot be read, is no cache, or a row does not fit its parameters; the message
            names file and row.
    """
    file = Path(path)
    data = _load(file)
    names = data.get("tune_params_keys")
    values = data.get("tune_params")
    rows = data.get("cache")
    if not isinstance(names, list) or not isinstance(values, dict) or not isinstance(rows, dict):
        raise RecordError(
            f"{file}: not a Kernel Tuner cache: it needs the keys tune_params_keys, tune_params and cache"
        )
    if not rows:
        raise RecordError(f"{file}: the cache holds no configuration")
    if set(names) != set(values):
        raise RecordError(f"{file}: tune_params_keys {names} and the keys of tune_params {list(values)} differ")
    configurations: list[tuple[object, ...]] = []
    measurements: list[Measurement] = []
    for key, row in rows.items():
        try:
            configurations.append(tuple(row[name] for name in names))
            measurements.append(_measurement(row))
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"{file}: row {key!r} cannot be used: {type(error).__name__} {error}") from error
    try:
        space = SearchSpace.from_configurations({name: values[name] for name in names}, configurations)
    except SpaceError as error:
        raise RecordError(f"{file}: {error}") from error
    ordered: list[Measurement | None] = [None] * space.size
    for configuration, measurement in zip(configurations, measurements, strict=True):
        i = space.find(dict(zip(names, configuration, strict=True)))
        if i is not None:
            ordered[i] = measurement
    return RecordedSpace(
        _task(data, file), space, tuple(m for m in ordered if m is not None), Objective(metric="time_ms")
    )


def _load(file: Path) -> Mapping[str, object]:
    try:
        raw = file.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            unpack = zlib.decompressobj(wbits=31)
            raw = unpack.decompress(raw, MAX_BYTES)
            if unpack.unconsumed_tail:
                raise RecordError(f"{file}: unpacks to more than {MAX_BYTES} bytes; refused")
        data = json.loads(raw)
    except OSError as error:
        raise RecordError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise RecordError(f"{file}: the gzip data is damaged: {error}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: not valid JSON (an interrupted tuner leaves such files): {error}") from error
    if not isinstance(data, dict):
        raise RecordError(f"{file}: not a Kernel Tuner cache: the top level is no object")
    return data


def _measurement(row: Mapping[str, object]) -> Measurement:
    compile_s = _seconds(row, "compile_time")
    verify_s = _seconds(row, "verification_time")
    benchmark_s = _seconds(row, "benchmark_time")
    time = row["time"]
    if isinstance(time, str) or time in _SENTINELS or not _is_number(time):
        name = time if isinstance(time, str) else "no time recorded"
        status = _FAILURES.get(name, Status.LAUNCH_ERROR)
        return Measurement(status, (), compile_s, verify_s, benchmark_s, detail=name)
    samples = row.get("times", ())
    if not isinstance(samples, Sequence) or not all(_is_number(sample) for sample in samples):
        raise ValueError("times must be a list of numbers")
    metrics = {"time_ms": float(time)}  # type: ignore[arg-type]  # checked by _is_number
    return Measurement(Status.OK, tuple(map(float, samples)), compile_s, verify_s, benchmark_s, metrics)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _seconds(row: Mapping[str, object], key: str) -> float:
    """A duration in ms of the row, as seconds; 0 where it is absent."""
    value = row.get(key, 0.0)
    if value is None:
        return 0.0
    if not _is_number(value) or value < 0:  # type: ignore[operator]  # checked by _is_number
        raise ValueError(f"{key} must be a number of milliseconds, not {value!r}")
    return float(value) / 1000  # type: ignore[arg-type]


def _task(data: Mapping[str, object], file: Path) -> Task:
    size = data.get("problem_size")
    sizes = size if isinstance(size, list) else [size]
    problem = {f"size_{axis}": number for axis, number in zip("xyz", sizes, strict=False) if number is not None}
    device = data.get("device_name") or file.name.split(".")[0]
    return Task(kernel=str(data.get("kernel_name") or file.parent.name), device=str(device), problem=problem)
