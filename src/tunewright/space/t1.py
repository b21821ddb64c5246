"""The search space of a T1 file: typed parameters, value lists as Python expressions, conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tunewright.errors import ParameterError, SpaceError
from tunewright.space.parameters import Value, plain_value
from tunewright.space.searchspace import SearchSpace
from tunewright.space.values import parse_values

__all__ = ["read_t1_space"]


def read_t1_space(source: str | Path | Mapping[str, Any]) -> SearchSpace:
    """Return the search space of a T1 file, or of its parsed JSON.

    A stated default that is not valid is left alone and noted in `notes`.

    Raises:
        SpaceError: the file cannot be read, or its space cannot be built; names the file and the parameter.
    """
    where = "" if isinstance(source, Mapping) else f"{source}: "
    try:
        content = source if isinstance(source, Mapping) else _read(Path(source))
        return _space(content)
    except SpaceError as error:
        raise type(error)(f"{where}{error}") from error


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpaceError(f"the T1 file cannot be read: {error}") from error
    if not isinstance(content, Mapping):
        raise SpaceError(f"a T1 file holds an object with the key 'ConfigurationSpace', not a {type(content).__name__}")
    return content


def _space(content: Mapping[str, Any]) -> SearchSpace:
    section = _entry(content, "ConfigurationSpace", Mapping, "the T1 input")
    listed = _entry(section, "TuningParameters", Sequence, "ConfigurationSpace")
    parameters: dict[str, list[Value]] = {}
    defaults: dict[str, object] = {}
    for number, entry in enumerate(listed):
        what = f"TuningParameters[{number}]"
        name = _entry(entry, "Name", str, what)
        if name in parameters:
            raise ParameterError(f"parameter {name!r} is listed twice; remove one")
        parameters[name] = _values(name, entry)
        if "Default" in entry:
            default = entry["Default"]
            defaults[name] = default[0] if isinstance(default, list) and len(default) == 1 else default
    rules = []
    for number, condition in enumerate(section.get("Conditions") or []):
        rules.append(_entry(condition, "Expression", str, f"Conditions[{number}]"))
    space = SearchSpace(parameters, rules)
    return space.noted(_remarks(space, defaults))


def _entry(entry: Any, key: str, kind: type | Any, where: str) -> Any:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str)):
        raise SpaceError(f"{where} needs the key {key!r} with a {kind.__name__.lower()}, got {value!r}")
    return value


def _values(name: str, entry: Mapping[str, Any]) -> list[Value]:
    kind = _entry(entry, "Type", str, f"parameter {name!r}")
    if kind not in CONVERSIONS:
        raise ParameterError(f"parameter {name!r} has the type {kind!r}; the types are {', '.join(CONVERSIONS)}")
    stated = entry.get("Values")
    if isinstance(stated, str):
        try:
            stated = parse_values(stated)
        except ParameterError as error:
            raise ParameterError(f"parameter {name!r}: {error}") from error
    if not isinstance(stated, list):
        raise ParameterError(f"parameter {name!r} has the values {stated!r}; give a list, or an expression as text")
    values = []
    for value in stated:
        converted = CONVERSIONS[kind](plain_value(f"parameter {name!r}", value))
        if converted is None:
            raise ParameterError(f"parameter {name!r} of type {kind} has the value {value!r}; correct type or value")
        values.append(converted)
    return values


def _to_int(value: Value) -> int | None:
    if isinstance(value, bool | int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return None


def _to_uint(value: Value) -> int | None:
    number = _to_int(value)
    return number if number is not None and number >= 0 else None


def _to_float(value: Value) -> float | None:
    if isinstance(value, str):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _to_bool(value: Value) -> bool | None:
    return bool(value) if not isinstance(value, str) and value in (0, 1) else None


def _to_string(value: Value) -> str | None:
    return value if isinstance(value, str) else str(value)


CONVERSIONS: dict[str, Callable[[Value], Value | None]] = {
    "bool": _to_bool,
    "float": _to_float,
    "int": _to_int,
    "string": _to_string,
    "uint": _to_uint,
}


def _remarks(space: SearchSpace, defaults: Mapping[str, object]) -> list[str]:
    """Say which stated defaults are not valid."""
    remarks = []
    for name, default in defaults.items():
        if not any(default == value for value in space.parameters[name]):
            remarks.append(f"the stated default {default!r} of {name!r} is not one of its values; it is ignored")
    if not remarks and defaults.keys() == space.parameters.keys():
        remarks += [f"the stated defaults break {reason!r}; they are ignored" for reason in space.why_invalid(defaults)]
    return remarks
