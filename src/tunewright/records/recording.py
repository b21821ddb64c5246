"""The product's own recording file: one compact, columnar file for one task, complete or partial.

A zip of numpy arrays without pickle (``.npz``): a JSON header, the configurations as value indices, and one array
for each kind of figure. Samples and durations are 64-bit floats, so that reading gives back what was written.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunewright.errors import OptionError, RecordError, SpaceError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.space import SearchSpace

__all__ = ["FORMAT", "SUFFIX", "VERSION", "is_recording", "read_recording", "write_recording"]

FORMAT = "tunewright recording"
VERSION = 1
SUFFIX = ".npz"
MAX_BYTES = 2**31
"""A file that unpacks to more than this is refused."""

_STATUSES = tuple(Status)


def is_recording(path: Path) -> bool:
    """Does the file begin like one of ours (a zip archive)?"""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def write_recording(
    path: str | Path, record: RecordedSpace | PartialRecord, machine: Mapping[str, object] | None = None
) -> None:
    """Write a recording; the file appears whole or not at all.

    Args:
        path: the file.
        record: what to write.
        machine: further plain data about how it was recorded.

    Raises:
        RecordError: it cannot be written.
    """
    rows = sorted(record.rows.items())
    space = record.space
    metrics = sorted({name for _, measured in rows for name in measured.metrics})
    details = sorted({measured.detail for _, measured in rows})
    remarks = sorted({measured.remarks for _, measured in rows})
    place = {detail: k for k, detail in enumerate(details)}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "complete": isinstance(record, RecordedSpace),
        "task": asdict(record.task),
        "objective": asdict(record.objective),
        "parameters": [[name, list(values)] for name, values in space.parameters.items()],
        "constraints": [constraint.text for constraint in space.constraints],
        "constants": dict(space.constants),
        "metrics": metrics,
        "details": details,
        "remarks": [list(each) for each in remarks],
        "notes": list(record.notes),
        "machine": dict(machine or {}),
    }
    samples = [measured.runtimes_ms for _, measured in rows]
    arrays: dict[str, npt.NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8),
        "codes": _narrow(space.codes_of([i for i, _ in rows])),
        "status": np.array([_STATUSES.index(measured.status) for _, measured in rows], dtype=np.uint8),
        "counts": _narrow(np.array([len(taken) for taken in samples], dtype=np.int64)),
        "samples_ms": np.array([sample for taken in samples for sample in taken], dtype=np.float64),
        "seconds": np.array([(m.compile_s, m.verify_s, m.benchmark_s) for _, m in rows], dtype=np.float64),
        "metrics": np.array([[m.metrics.get(name, np.nan) for name in metrics] for _, m in rows], dtype=np.float64),
        "detail": _narrow(np.array([place[m.detail] for _, m in rows], dtype=np.int64)),
        "remarks": _narrow(np.array([remarks.index(m.remarks) for _, m in rows], dtype=np.int64)),
    }
    file = Path(path)
    partial = file.with_name(file.name + ".partial")
    try:
        with partial.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]  # arrays by name
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RecordError(f"{file}: cannot be written: {error.strerror or error}") from error


def read_recording(path: str | Path) -> tuple[RecordedSpace | PartialRecord, Mapping[str, object]]:
    """Read a recording.

    Returns:
        The record, and what was written about the machine.

    Raises:
        RecordError: the file cannot be read, is damaged, or was written by a newer version.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                raise RecordError(f"{file}: unpacks to more than {MAX_BYTES} bytes; refused")
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            if header.get("format") != FORMAT:
                raise RecordError(f"{file}: is no {FORMAT}")
            if header["version"] > VERSION:
                raise RecordError(f"{file}: has version {header['version']}; this program reads up to {VERSION}")
            columns = {name: arrays[name] for name in arrays.files if name != "header"}
        return _record(header, columns), header["machine"]
    except OSError as error:
        raise RecordError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,  # an encrypted entry, an unknown compression, nesting without end
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        SpaceError,
        OptionError,
    ) as error:
        raise RecordError(f"{file}: damaged: {type(error).__name__} {error}") from error


def _record(header: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]) -> RecordedSpace | PartialRecord:
    codes = columns["codes"].astype(np.int64)
    lists = dict(header["parameters"])
    names = list(lists)
    configurations = [
        {name: lists[name][code] for name, code in zip(names, row, strict=True)} for row in codes.tolist()
    ]
    measurements = _measurements(header, columns)
    if len(measurements) != len(configurations):
        raise ValueError(f"{len(configurations)} configurations, {len(measurements)} measurements")
    task = Task(**header["task"])
    objective = Objective(**header["objective"])
    notes = tuple(header["notes"])
    if header["complete"]:
        space = SearchSpace.from_configurations(lists, [tuple(row.values()) for row in configurations])
    else:
        space = SearchSpace(lists, header["constraints"], constants=header["constants"])
    rows: dict[int, Measurement] = {}
    for configuration, measured in zip(configurations, measurements, strict=True):
        i = space.find(configuration)
        if i is None or i in rows:
            raise ValueError(f"the configuration {configuration} is not valid or stands twice")
        rows[i] = measured
    if header["complete"]:
        return RecordedSpace(task, space, tuple(rows[i] for i in range(space.size)), objective, notes)
    return PartialRecord(task, space, rows, objective, notes)


def _measurements(header: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]) -> list[Measurement]:
    ends = np.cumsum(columns["counts"].astype(np.int64)).tolist()
    samples = [columns["samples_ms"][begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    names, details = header["metrics"], header["details"]
    remarks = [tuple(each) for each in header["remarks"]]
    found = []
    for status, taken, seconds, metrics, detail, remark in zip(
        columns["status"].tolist(),
        samples,
        columns["seconds"].tolist(),
        columns["metrics"].reshape(len(ends), len(names)).tolist(),
        columns["detail"].tolist(),
        columns["remarks"].tolist(),
        strict=True,
    ):
        known = {name: value for name, value in zip(names, metrics, strict=True) if value == value}
        compile_s, verify_s, benchmark_s = seconds
        found.append(
            Measurement(
                _STATUSES[status],
                tuple(taken.tolist()),
                compile_s,
                verify_s,
                benchmark_s,
                known,
                details[detail],
                remarks[remark],
            )
        )
    return found


def _narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same whole numbers in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
