"""Files as readers get them: size limits, gzip, JSON that may be unclosed; and files as writers leave them.

Reading never changes a file. A file that is written appears whole or not at all.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from tunewright.errors import RecordError
from tunewright.records.notes import REPAIRED, SUSPICIOUS, Notes
from tunewright.records.numbers import NumberText

__all__ = ["MAX_BYTES", "Source", "strict_json", "write_file"]

MAX_BYTES = 2**30
"""A file that unpacks to more than this is refused."""

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]"]', re.DOTALL)
_OPENS = {"}": "{", "]": "["}
_CLOSES = {"{": "}", "[": "]"}
_ROW_DEPTH = 2  # rows stand inside the file's object and its table of rows


class Source:
    """One file that a reader looks at.

    Attributes:
        file: its path.
        notes: what was repaired so far, and what looks strange.

    Raises:
        RecordError: it cannot be read, or is larger than `MAX_BYTES`.
    """

    def __init__(self, path: str | Path) -> None:
        self.file = Path(path)
        self.notes = Notes()
        try:
            with self.file.open("rb") as stream:
                self.raw = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise RecordError(f"{self.file}: cannot be read: {error.strerror or error}") from error
        if len(self.raw) > MAX_BYTES:
            raise self.too_large()

    @property
    def stem(self) -> str:
        """The file's name up to the first point."""
        return self.file.name.partition(".")[0]

    @property
    def is_archive(self) -> bool:
        """Is it a zip archive, as ``.npz`` files are?"""
        return self.raw.startswith(_ZIP)

    @cached_property
    def text(self) -> str:
        """The content as text, unpacked.

        Raises:
            RecordError: damaged gzip data, more than `MAX_BYTES` of content, or bytes that are no UTF-8.
        """
        raw = self._unpacked() if self.raw.startswith(_GZIP) else self.raw
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RecordError(f"{self.file}: is no text (byte {error.start} is not UTF-8); no known format") from error

    @cached_property
    def json(self) -> Any:
        """The JSON value, None where the content does not begin like an object or list; closed if it was left open.

        Numbers with a point or exponent come as `NumberText`.

        Raises:
            RecordError: broken JSON that closing brackets do not mend.
        """
        if self.text[:200].lstrip()[:1] not in ("{", "["):
            return None
        try:
            return self._parsed(self.text)
        except (ValueError, RecursionError) as error:
            closed = self._closed()
            if closed is None:
                raise RecordError(f"{self.file}: not valid JSON, and not mended by closing it: {error}") from error
            return closed

    def too_large(self) -> RecordError:
        """The error for a file beyond the limit."""
        return RecordError(f"{self.file}: holds or unpacks to more than {MAX_BYTES} bytes; refused")

    def _unpacked(self) -> bytes:
        parts: list[bytes] = []
        left, room = self.raw, MAX_BYTES
        try:
            while left.startswith(_GZIP):
                unpack = zlib.decompressobj(wbits=31)
                parts.append(unpack.decompress(left, room))
                room -= len(parts[-1])
                if unpack.unconsumed_tail or room <= 0:
                    raise self.too_large()
                left = unpack.unused_data
                if not unpack.eof:
                    self.notes.add(REPAIRED, "the gzip data ends early; what there is was unpacked")
        except zlib.error as error:
            raise RecordError(f"{self.file}: the gzip data is damaged: {error}") from error
        return b"".join(parts)

    def _parsed(self, text: str) -> Any:
        twice: list[str] = []

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) != len(pairs):
                seen: set[str] = set()
                twice.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            return found

        data = json.loads(text, parse_float=NumberText, object_pairs_hook=unique)
        for key in twice:
            self.notes.add(SUSPICIOUS, "a key stands twice in one object; the last one counts", repr(key))
        return data

    def _closed(self) -> Any | None:
        """The content cut after its last whole row and closed; None if that is no JSON either."""
        cut, missing = _last_whole(self.text)
        if cut == 0:
            return None
        try:
            data = self._parsed(self.text[:cut] + missing)
        except (ValueError, RecursionError):
            return None
        rest = self.text[cut:].strip().strip(",").strip()
        self.notes.add(REPAIRED, "the file is not closed, as an interrupted tuner leaves it; it was closed in memory")
        if rest:
            self.notes.add(REPAIRED, f"{len(rest)} characters after the last whole row were dropped", repr(rest[:60]))
        return data


def _last_whole(text: str) -> tuple[int, str]:
    """Where the last bracket ends that closes a row or more, and the brackets missing there."""
    open_brackets: list[str] = []
    cut, missing = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSES:
            open_brackets.append(mark)
        elif mark in _OPENS:
            if not open_brackets or open_brackets.pop() != _OPENS[mark]:
                break
            if 0 < len(open_brackets) <= _ROW_DEPTH:
                cut, missing = token.end(), "".join(_CLOSES[bracket] for bracket in reversed(open_brackets))
        elif mark == '"':
            break  # a text that never ends
    return cut, missing


def write_file(path: str | Path, text: str) -> None:
    """Write text, gzipped if the name ends in ``.gz``; the file appears whole or not at all.

    Raises:
        RecordError: it cannot be written.
    """
    file = Path(path)
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RecordError(
            f"{file}: text with half a character ({error.object[error.start]!r}) cannot be written"
        ) from error
    partial = file.with_name(file.name + ".partial")
    try:
        partial.write_bytes(gzip.compress(raw, mtime=0) if file.suffix == ".gz" else raw)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RecordError(f"{file}: cannot be written: {error.strerror or error}") from error


def strict_json(value: object) -> str:
    """JSON on one line, `NumberText` written as it stands.

    Raises:
        RecordError: NaN, an infinity or an object that JSON does not have.
    """
    if isinstance(value, NumberText):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {strict_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(strict_json, value)) + "]"
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RecordError(f"{value!r} cannot be written as JSON; leave it out or make it text") from error
