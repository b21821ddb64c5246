"""Every format in one table: recognised by content when read, by name or suffix when written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tunewright.errors import OptionError, RecordError
from tunewright.records import csv_file, kernel_tuner, ktt, t4
from tunewright.records.draft import Draft, Hints, assemble
from tunewright.records.inspect import inspect
from tunewright.records.notes import SUSPICIOUS
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.recording import SUFFIX, read_recording, write_recording
from tunewright.records.source import Source

__all__ = ["FORMATS", "Format", "format_for", "format_of", "read_record", "write_record"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: what it is called on the command line.
        suffixes: how its files' names end when written, the longest match of all formats wins.
        recognises: is a file of this format, by its content?
        read: the rows of such a file.
        write: writes a record.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Source], bool]
    read: Callable[[Source, Hints], Draft]
    write: Callable[[Path, RecordedSpace | PartialRecord], None]


FORMATS: Sequence[Format] = (
    Format("kernel_tuner", (".json",), kernel_tuner.recognises, kernel_tuner.read, kernel_tuner.write),
    Format("t4", ("_t4.json", ".t4.json", "-t4.json"), t4.recognises, t4.read, t4.write),
    Format("ktt", (".ktt.json", "_ktt.json"), ktt.recognises, ktt.read, ktt.write),
    Format("csv", (".csv",), csv_file.recognises, csv_file.read, csv_file.write),
)
"""The text formats, in the order in which they are tried; a new one is one file and one line."""

RECORDING = "recording"
"""The product's own binary file, written and read whole."""


def read_record(
    path: str | Path,
    *,
    t1: str | Path | None = None,
    fix: Mapping[str, object] | None = None,
    parameters: Sequence[str] = (),
    objectives: Sequence[str] = (),
    valid: str | None = None,
    goal: str | None = None,
    kernel: str | None = None,
    device: str | None = None,
) -> RecordedSpace | PartialRecord:
    """Read a recording of any format; the file is never changed.

    What was repaired and what looks strange is in the record's `notes`; see `repairs` and `suspicions`.

    Args:
        path: the file, gzipped or not.
        t1: a T1 file with the space's constraints; rows that are missing make the record partial.
        fix: parameters of the T1 space that the file leaves out, and their values.
        parameters: names of a CSV file's parameter columns.
        objectives: names of its objective columns; the first is the record's objective.
        valid: name of its column that says which rows are valid.
        goal: ``min`` or ``max``, for a file that does not say which is better.
        kernel: the kernel's name, for a file that does not say.
        device: the device's name, for a file that does not say.

    Raises:
        RecordError: the file cannot be read, is of no known format, or of a newer version.
    """
    if goal not in (None, "min", "max"):
        raise OptionError(f"unknown goal {goal!r}; choose min or max")
    hints = Hints(t1, dict(fix or {}), tuple(parameters), tuple(objectives), valid, goal, kernel, device)
    return _read(path, hints)[1]


def format_of(path: str | Path) -> str:
    """The name of a file's format, by its content.

    Raises:
        RecordError: it cannot be read, or is of no known format.
    """
    source = Source(path)
    return RECORDING if source.is_archive else _recognised(source).name


def format_for(path: str | Path) -> str:
    """The name of the format that a file's name asks for, ``.gz`` left aside.

    Raises:
        OptionError: no format has such names.

    >>> format_for("A4000_T4.json.gz"), format_for("run.ktt.json"), format_for("cache.json"), format_for("all.npz")
    ('t4', 'ktt', 'kernel_tuner', 'recording')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    if Path(path).name.lower().endswith(SUFFIX):
        return RECORDING
    fitting = [(len(end), each.name) for each in FORMATS for end in each.suffixes if name.endswith(end)]
    if not fitting:
        ends = ", ".join(f"{each.suffixes[0]} ({each.name})" for each in FORMATS)
        raise OptionError(f"{path}: no format is named by this suffix; use {ends}, {SUFFIX} ({RECORDING}), or name it")
    return max(fitting)[1]


def write_record(path: str | Path, record: RecordedSpace | PartialRecord, format: str | None = None) -> None:  # noqa: A002 - the word for it
    """Write a record; the file appears whole or not at all.

    Args:
        path: the file; gzipped if its name ends in ``.gz``.
        record: what to write.
        format: a format's name; by the file's suffix if left out.

    Raises:
        OptionError: an unknown format.
        RecordError: the format cannot hold the record, or the file cannot be written.
    """
    wanted = format or format_for(path)
    if wanted == RECORDING:
        write_recording(path, record)
        return
    chosen = next((each for each in FORMATS if each.name == wanted), None)
    if chosen is None:
        names = ", ".join([*(each.name for each in FORMATS), RECORDING])
        raise OptionError(f"unknown format {wanted!r}; choose one of {names}")
    chosen.write(Path(path), record)


def _read(path: str | Path, hints: Hints) -> tuple[str, RecordedSpace | PartialRecord]:
    source = Source(path)
    if source.is_archive:
        record, _ = read_recording(path)
        kept = tuple(note for note in record.notes if not note.startswith(f"{SUSPICIOUS}: "))
        return RECORDING, replace(record, notes=(*kept, *inspect(record)))
    chosen = _recognised(source)
    try:
        record = assemble(chosen.read(source, hints), hints, source.notes, source.file)
    except RecursionError as error:
        raise RecordError(f"{source.file}: a value is nested too deeply") from error
    return chosen.name, replace(record, notes=(*record.notes, *inspect(record)))


def _recognised(source: Source) -> Format:
    if isinstance(source.json, dict) and "ConfigurationSpace" in source.json:
        raise RecordError(f"{source.file}: is a T1 input, which defines a space; it holds no measurements")
    found = next((each for each in FORMATS if each.recognises(source)), None)
    if found is None:
        names = ", ".join(each.name for each in FORMATS)
        raise RecordError(f"{source.file}: of no known format ({names}, {RECORDING})")
    return found
