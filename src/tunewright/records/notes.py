"""What a reader repaired, left out or found strange, counted and turned into short texts with one example."""

from __future__ import annotations

from collections.abc import Iterable

from tunewright.records.recorded import PartialRecord, RecordedSpace

__all__ = ["REMARK", "REPAIRED", "SUSPICIOUS", "Notes", "repairs", "suspicions"]

REPAIRED = "repaired"
SUSPICIOUS = "suspicious"
REMARK = "remark"


class Notes:
    """A tally of notes; equal ones are counted, the first keeps its example.

    >>> notes = Notes()
    >>> notes.add(REPAIRED, "another key order", "16,1")
    >>> notes.add(REPAIRED, "another key order", "16,2")
    >>> notes.texts()
    ('repaired: another key order (2 times, first: 16,1)',)
    """

    def __init__(self) -> None:
        self._tally: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, kind: str, text: str, example: str = "", count: int = 1) -> None:
        """Note something; `example` is where it was seen, `count` how often."""
        seen, first = self._tally.get((kind, text), (0, example))
        self._tally[kind, text] = (seen + count, first)

    def texts(self) -> tuple[str, ...]:
        """The notes, each as ``kind: text (count times, first: example)``."""
        return tuple(_text(kind, text, *rest) for (kind, text), rest in self._tally.items())


def repairs(record: RecordedSpace | PartialRecord) -> tuple[str, ...]:
    """What the reader repaired."""
    return _of(record.notes, REPAIRED)


def suspicions(record: RecordedSpace | PartialRecord) -> tuple[str, ...]:
    """What makes the recording doubtful."""
    return _of(record.notes, SUSPICIOUS)


def _of(notes: Iterable[str], kind: str) -> tuple[str, ...]:
    return tuple(note.removeprefix(f"{kind}: ") for note in notes if note.startswith(f"{kind}: "))


def _text(kind: str, text: str, count: int, example: str) -> str:
    shown = example if len(example) <= 160 else example[:157] + "..."
    times = f"{count:,} times, first" if count > 1 else "once"
    note = f"{kind}: {text} ({times}: {shown})" if example else f"{kind}: {text}"
    return note.encode("utf-8", "backslashreplace").decode()  # files may hold half characters, terminals may not
