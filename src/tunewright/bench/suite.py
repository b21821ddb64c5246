"""Suites: recorded spaces in roles, grouped by kernel family, described by a TOML file."""

from __future__ import annotations

import enum
import json
import os
import time
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tunewright.errors import OptionError, RecordError

__all__ = ["BUILT_IN", "OPENINGS", "Entry", "Role", "Suite", "file_digest", "open_test", "read_suite"]

BUILT_IN = Path(__file__).with_name("suites")
"""The folder of the suites that come with the program."""

OPENINGS = "test-openings.jsonl"
"""The log of every scoring of test spaces, in the suite's data folder."""

_ROOT = "TUNEWRIGHT_DATA"


class Role(enum.StrEnum):
    """What a space may be used for.

    Optimizers are made, bred and tuned on train; promotion decides whom to keep on the way; selection compares
    finished alternatives; test is opened once, at the end.
    """

    TRAIN = "train"
    PROMOTION = "promotion"
    SELECTION = "selection"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded space of a suite.

    Attributes:
        name: as tables show it, such as ``convolution/A100``.
        file: the recording.
        family: kernels that are not independent of each other share one.
        role: what the space may be used for.
        t1: a file with the space's constraints, or None.
        hints: further keyword arguments for reading the recording.
        sha256: the file's checksum, empty if the suite does not say.
    """

    name: str
    file: Path
    family: str
    role: Role
    t1: Path | None
    hints: Mapping[str, Any]
    sha256: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Recorded spaces in roles.

    Attributes:
        name, version: of the suite; results of different versions are not compared.
        path: its TOML file.
        root: the folder that its files are in.
        entries: its spaces.
    """

    name: str
    version: str
    path: Path
    root: Path
    entries: tuple[Entry, ...]

    def select(self, roles: Collection[Role] = (), names: Collection[str] = ()) -> tuple[Entry, ...]:
        """The spaces of some roles (all but test if none is given), or of some names.

        Raises:
            OptionError: there is none, or no such name.
        """
        known = [entry.name for entry in self.entries]
        if unknown := [name for name in names if name not in known]:
            raise OptionError(f"suite {self.name!r} has no space {', '.join(unknown)}; it has {', '.join(known)}")
        wanted = set(roles) or set(Role) - ({Role.TEST} if not names else set())
        found = tuple(e for e in self.entries if e.role in wanted and (not names or e.name in names))
        if not found:
            raise OptionError(f"suite {self.name!r} has no space in the role {', '.join(sorted(wanted))}")
        return found


def read_suite(name: str | Path, root: str | Path | None = None) -> Suite:
    """Read a suite by its file, or by name one of those that come with the program.

    Args:
        name: path of a TOML file, or a name such as ``hub``.
        root: the folder of the recordings, instead of the one that the file names; else the environment's
            TUNEWRIGHT_DATA.

    Raises:
        OptionError: no such suite, or its file does not describe one.
    """
    path = _suite_file(name)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{path}: cannot be read: {error}") from error
    known = {"name", "version", "about", "root", "space"}
    _refuse_unknown(path, table, known, "")
    given = root or os.environ.get(_ROOT) or table.get("root", ".")
    folder = Path(given) if root or os.environ.get(_ROOT) else path.parent / given
    entries = [_entry(path, folder, number, each) for number, each in enumerate(_tables(path, table))]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        double = next(each for each in names if names.count(each) > 1)
        raise OptionError(f"{path}: two spaces are called {double!r}")
    version = str(table.get("version", "1"))
    return Suite(str(table.get("name", path.stem)), version, path, folder, tuple(entries))


def file_digest(path: Path) -> str:
    """The sha256 of a file's bytes.

    Raises:
        RecordError: it cannot be read.
    """
    digest = sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def open_test(suite: Suite, entries: Sequence[Entry], what: Sequence[str]) -> None:
    """Note in the suite's folder that test spaces are about to be scored, with what, and when.

    Raises:
        RecordError: it cannot be noted; then they stay closed.
    """
    opened = [entry.name for entry in entries if entry.role is Role.TEST]
    row = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "suite": suite.name,
        "version": suite.version,
        "spaces": opened,
        "optimizers": list(what),
    }
    file = suite.root / OPENINGS
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
    except OSError as error:
        raise RecordError(f"test spaces stay closed: {file} cannot be written ({error.strerror or error})") from error


def _suite_file(name: str | Path) -> Path:
    path = Path(name)
    if path.suffix == ".toml":
        return path
    built_in = BUILT_IN / f"{name}.toml"
    if not built_in.is_file():
        known = ", ".join(sorted(each.stem for each in BUILT_IN.glob("*.toml")))
        raise OptionError(f"no suite {str(name)!r}; give a .toml file, or one of {known}")
    return built_in


def _tables(path: Path, table: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    spaces = table.get("space")
    if not isinstance(spaces, list) or not spaces or not all(isinstance(each, dict) for each in spaces):
        raise OptionError(f"{path}: has no [[space]] tables")
    return spaces


def _entry(path: Path, folder: Path, number: int, table: Mapping[str, Any]) -> Entry:
    where = f"space {number + 1}"
    hints: dict[str, Callable[[Any], bool]] = {
        "fix": lambda value: isinstance(value, dict),
        "parameters": _texts,
        "objectives": _texts,
        "valid": _text,
        "goal": lambda value: value in ("min", "max"),
        "kernel": _text,
        "device": _text,
    }
    _refuse_unknown(path, table, {"name", "file", "family", "role", "t1", "sha256", *hints}, f"{where}: ")
    for key in ("name", "file", "family", "role"):
        if not _text(table.get(key)):
            raise OptionError(f"{path}: {where}: {key} is missing, or no text")
    try:
        role = Role(table["role"])
    except ValueError:
        raise OptionError(f"{path}: {where}: {table['role']!r} is not one of {', '.join(Role)}") from None
    for key, check in hints.items():
        if key in table and not check(table[key]):
            raise OptionError(f"{path}: {where}: {key} cannot be {table[key]!r}")
    return Entry(
        name=table["name"],
        file=_present(folder / table["file"]),
        family=table["family"],
        role=role,
        t1=folder / table["t1"] if "t1" in table else None,
        hints={key: table[key] for key in hints if key in table},
        sha256=str(table.get("sha256", "")),
    )


def _present(file: Path) -> Path:
    """The file, or the same one packed or unpacked if only that is there."""
    other = file.with_suffix("") if file.suffix == ".gz" else file.with_name(file.name + ".gz")
    return other if not file.exists() and other.exists() else file


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(_text(each) for each in value)


def _refuse_unknown(path: Path, table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    if unknown := sorted(table.keys() - known):
        raise OptionError(f"{path}: {where}unknown key {', '.join(unknown)}; known are {', '.join(sorted(known))}")
