"""Parameter names and value lists: what a search space accepts, and plain Python values out of it."""

from __future__ import annotations

import keyword
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tunewright.errors import ParameterError

__all__ = ["RESERVED_NAMES", "Value", "check_name", "check_parameters", "code_dtype", "plain_value", "show"]

Value: TypeAlias = bool | int | float | str

MAX_VALUES = 1_000_000

FUNCTION_NAMES = ("abs", "max", "min")

RESULT_NAMES = tuple(
    """
    benchmark_time compile_time energy_j framework_time grid_size_x grid_size_y grid_size_z objective power_w
    runtime_ms runtimes_ms status strategy_time time times timestamp verification_time
    """.split()  # noqa: SIM905 - easier to read than a list
)

C_KEYWORDS = tuple(
    """
    auto bool break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    """.split()  # noqa: SIM905 - as above
)

RESERVED_NAMES: tuple[str, ...] = tuple(sorted(FUNCTION_NAMES + RESULT_NAMES))


def check_name(name: object) -> str:
    """Return the name if a parameter or constant may carry it.

    Raises:
        ParameterError: not an identifier, a keyword of Python or C, or a reserved name.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(
            f"parameter name {name!r} is not an identifier; use letters, digits and underscores, no leading digit"
        )
    if keyword.iskeyword(name):
        raise ParameterError(f"parameter name {name!r} is a keyword of Python; choose another name")
    if name in C_KEYWORDS:
        raise ParameterError(f"parameter name {name!r} is a keyword of C; choose another name")
    if name in RESERVED_NAMES:
        raise ParameterError(
            f"parameter name {name!r} is a reserved name (a result column or a function of constraints); "
            f"choose another name. Reserved: {', '.join(RESERVED_NAMES)}"
        )
    return name


def check_parameters(parameters: Mapping[str, Sequence[object]]) -> dict[str, tuple[Value, ...]]:
    """Return the parameters as plain Python values, in the order given.

    Raises:
        ParameterError: an unusable name or list; says which value of which parameter, and what to do.
    """
    if not isinstance(parameters, Mapping):
        raise ParameterError(
            f"parameters must map names to value lists, got {type(parameters).__name__}; "
            "write for example {'block_size_x': [32, 64]}"
        )
    return {check_name(name): _check_values(name, values) for name, values in parameters.items()}


def plain_value(name: str, value: object) -> Value:
    """Return a value as plain bool, int, float or str; `name` is whose value it is.

    Raises:
        ParameterError: NaN, an infinity, or any other type.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ParameterError(f"{name} has the value {value!r}; leave it out, values must be finite numbers")
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, tuple | list):
        raise ParameterError(
            f"{name} has the value {value!r}, a {type(value).__name__}; values are numbers, "
            "booleans or strings: "
            "use one parameter per component, or a string such as '16x16'"
        )
    raise ParameterError(
        f"{name} has the value {value!r} of type {type(value).__name__}; "
        "values are ints, floats, bools or strings (write 'none' for no value)"
    )


def code_dtype(count: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the value indices 0..count-1."""
    return np.dtype(np.min_scalar_type(max(count - 1, 0)))


def show(config: Mapping[str, object]) -> str:
    """Return a configuration as text: name=value pairs."""
    return ", ".join(f"{name}={value!r}" for name, value in config.items())


def _check_values(name: str, values: object) -> tuple[Value, ...]:
    if isinstance(values, str | bytes | bytearray):
        raise ParameterError(
            f"the values of {name!r} are the single text {values!r}; give a list, for example [{values!r}]"
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ParameterError(f"the values of {name!r} are an array of shape {values.shape}; give one dimension")
    if not isinstance(values, Sequence | np.ndarray):
        raise ParameterError(
            f"the values of {name!r} are {values!r} of type {type(values).__name__}; give an ordered list of values"
        )
    count = _count(values)
    if count > MAX_VALUES:
        raise ParameterError(
            f"parameter {name!r} has {count:,} values, more than {MAX_VALUES:,}; leave some out, or split it into two "
            "parameters"
        )
    if count == 0:
        raise ParameterError(f"the value list of {name!r} is empty, []; give at least one value")
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    plain = tuple(plain_value(f"parameter {name!r}", value) for value in listed)
    seen: dict[Value, Value] = {}
    for value in plain:
        if value in seen:
            raise ParameterError(
                f"parameter {name!r} has the value {value!r} twice (equal to {seen[value]!r}); "
                "remove one, values must differ under =="
            )
        seen[value] = value
    return plain


def _count(values: Sequence[object] | np.ndarray) -> int:
    try:
        return len(values)
    except OverflowError:  # a range beyond a machine word
        return sys.maxsize
