"""Spaces in files: one npz archive of a JSON header and the groups' rows. No pickle; nothing is evaluated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tunewright.errors import SpaceError
from tunewright.space.constraint import Constraint, check_constants
from tunewright.space.group import Group, make_group
from tunewright.space.parameters import Value, check_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Parts", "as_text", "read", "write"]

FORMAT = "tunewright search space"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Parts:
    """All that a search space consists of."""

    parameters: Mapping[str, tuple[Value, ...]]
    constraints: tuple[Constraint, ...]
    constants: Mapping[str, Value]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]


def as_text(constraint: Constraint) -> Constraint:
    """Return a constraint that leaves this process: an expression as it is, of a function the text."""
    if isinstance(constraint.rule, str):
        return constraint
    return Constraint(None, constraint.parameters, constraint.text, constraint.errors)


def write(path: Path, parts: Parts) -> None:
    """Write a space.

    Raises:
        SpaceError: the file cannot be written.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": [[name, list(values)] for name, values in parts.parameters.items()],
        "constants": dict(parts.constants),
        "constraints": [
            {
                "text": constraint.text,
                "function": not isinstance(constraint.rule, str),
                "parameters": list(constraint.parameters),
                "errors": constraint.errors,
            }
            for constraint in parts.constraints
        ],
        "groups": [list(group.names) for group in parts.groups],
        "notes": list(parts.notes),
    }
    text = json.dumps(header).encode()
    arrays: dict[str, Any] = {
        f"group_{number}": group.codes(slice(0, group.size)) for number, group in enumerate(parts.groups)
    }
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, header=np.frombuffer(text, dtype=np.uint8), **arrays)
    except OSError as error:
        raise SpaceError(f"{path}: the search space cannot be written: {error}") from error


def read(path: Path) -> Parts:
    """Read a space.

    Raises:
        SpaceError: the file cannot be read, or holds something else.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            if header["format"] == FORMAT and header["version"] == VERSION:
                return _parts(header, archive)
    except OSError as error:
        raise SpaceError(f"{path}: the search space cannot be read: {error}") from error
    except Exception as error:  # zipfile, zlib, struct, json and numpy each have their own for damaged bytes
        raise SpaceError(
            f"{path}: this is no search space that SearchSpace.save wrote, or it is damaged ({error}); build it again"
        ) from error
    raise SpaceError(f"{path}: version {header['version']!r} of a search space cannot be read by this release")


def _parts(header: Mapping[str, Any], archive: Mapping[str, Any]) -> Parts:
    parameters = check_parameters(dict(header["parameters"]))
    groups = []
    for number, names in enumerate(header["groups"]):
        codes = archive[f"group_{number}"]
        radices = [len(parameters[name]) for name in names]
        if (
            codes.dtype.kind != "u"
            or codes.ndim != 2
            or codes.shape[1] != len(names)
            or not len(codes)
            or (codes.max(axis=0) >= radices).any()
        ):
            raise ValueError(f"rows of {', '.join(names)}")
        groups.append(make_group(names, radices, list(codes.T)))
    if sorted(name for group in groups for name in group.names) != sorted(parameters):
        raise ValueError("groups do not cover the parameters")
    constraints = tuple(
        Constraint(
            None if stored["function"] else stored["text"],
            stored["parameters"],
            stored["text"] if stored["function"] else None,
            stored["errors"],
        )
        for stored in header["constraints"]
    )
    return Parts(
        parameters,
        constraints,
        check_constants(header["constants"], parameters),
        tuple(groups),
        tuple(header["notes"]),
    )
