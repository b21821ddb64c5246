"""A table of a specification that is read key by key and complains with file and key."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tunewright.errors import SpecificationError

__all__ = ["Section"]


class Section:
    """One table. Every key must be asked for before `finish`, which refuses the rest."""

    def __init__(self, table: object, file: Path, key: str = "") -> None:
        """Args: table: the parsed value; file and key: where it stands, for messages."""
        self.file = file
        self.key = key
        if not isinstance(table, Mapping):
            raise SpecificationError(f"must be a table, not {table!r}", file=file, key=key)
        self._table: Mapping[str, Any] = table
        self._asked: set[str] = set()

    def error(self, message: str, name: str = "") -> SpecificationError:
        """An error that points at a key of this table."""
        return SpecificationError(message, file=self.file, key=self._path(name))

    def has(self, name: str) -> bool:
        """Is the key there?"""
        return name in self._table

    def items(self) -> Iterable[tuple[str, Any]]:
        """All keys and values, as they stand; for tables with free names."""
        self._asked.update(self._table)
        return self._table.items()

    def raw(self, name: str, default: Any = None) -> Any:
        """The value as it stands; `default` where it is absent."""
        self._asked.add(name)
        return self._table.get(name, default)

    def text(self, name: str, default: str | None = None) -> str:
        """A text that is not empty; required where there is no default."""
        value = self._need(name, default)
        if not isinstance(value, str) or not value:
            raise self.error(f"must be a text that is not empty, not {value!r}", name)
        return value

    def choice(self, name: str, choices: Iterable[str], default: str | None = None) -> str:
        """One of several words."""
        allowed = list(choices)
        value = self._need(name, default)
        if value not in allowed:
            close = difflib.get_close_matches(str(value), allowed, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise self.error(f"{value!r} is not one of {', '.join(allowed)}.{hint}", name)
        return str(value)

    def number(self, name: str, default: float, *, above: float = -math.inf, least: float = -math.inf) -> float:
        """A finite number above `above` and not less than `least`."""
        value = self._need(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(f"must be a finite number, not {value!r}", name)
        if value <= above or value < least:
            limit = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
            raise self.error(f"must be {limit}, not {value!r}", name)
        return float(value)

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        """A whole number not less than `least`."""
        value = self._need(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(f"must be a whole number of at least {least}, not {value!r}", name)
        return value

    def truth(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._need(name, default)
        if not isinstance(value, bool):
            raise self.error(f"must be true or false, not {value!r}", name)
        return value

    def texts(self, name: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """A list of texts."""
        value = self._need(name, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"must be a list of texts, not {value!r}", name)
        return tuple(value)

    def existing_file(self, name: str, default: str | None = None) -> Path:
        """A path relative to the specification's folder that must be a file."""
        path = self.file.parent / self.text(name, default)
        if not path.is_file():
            raise self.error(f"the file {str(path)!r} does not exist", name)
        return path

    def table(self, name: str) -> Section:
        """A table within this one; empty where it is absent."""
        return Section(self.raw(name, {}), self.file, self._path(name))

    def tables(self, name: str) -> list[Section]:
        """A list of tables; empty where it is absent."""
        value = self.raw(name, [])
        if not isinstance(value, list):
            raise self.error(f"must be a list of tables ([[{name}]]), not {value!r}", name)
        return [Section(item, self.file, f"{self._path(name)}[{k}]") for k, item in enumerate(value)]

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for name in self._table:
            if name not in self._asked:
                close = difflib.get_close_matches(name, self._asked, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(self._asked))}"
                raise self.error(f"unknown key; {hint}", name)

    def _need(self, name: str, default: Any) -> Any:
        value = self.raw(name, default)
        if value is None:
            close = difflib.get_close_matches(name, self._table, n=1)
            raise self.error(f"is missing; is {close[0]!r} meant to be it?" if close else "is missing", name)
        return value

    def _path(self, name: str) -> str:
        return ".".join(part for part in (self.key, name) if part)
