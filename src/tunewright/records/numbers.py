"""Numbers of files as they are written there, so that a change of unit loses nothing.

Units are powers of ten apart. Moving the point of the decimal text, instead of multiplying a binary number, gives
back the same 64-bit number after writing and reading.
"""

from __future__ import annotations

import math

__all__ = ["MILLI", "UNITS", "NumberText", "number", "shifted", "shifted_text", "time_digits"]

MILLI = 3
"""From seconds to milliseconds the point moves three digits; back, minus three."""

UNITS = {"ns": -6, "us": -3, "ms": 0, "s": 3}
"""Units of time, and how many digits the point moves to make milliseconds."""

_SPELLED = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "milisecond", "miliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
}


class NumberText(str):
    """A number with a point or exponent, as it stands in a file."""

    __slots__ = ()


def time_digits(unit: object) -> int | None:
    """How far the point moves to make milliseconds of this unit; None for a unit that is not known.

    >>> time_digits("Microseconds"), time_digits("miliseconds"), time_digits("parsecs")
    (-3, 0, None)
    """
    spelled = _SPELLED.get(unit.strip().lower()) if isinstance(unit, str) else None
    return None if spelled is None else UNITS[spelled]


def number(value: object) -> float | None:
    """A finite number of a file; None for anything else: text, null, true, NaN, an infinity, a list."""
    kind = type(value)
    if kind is not NumberText and kind is not int and kind is not float:
        return None
    try:
        found = float(value)  # type: ignore[arg-type]  # one of three kinds
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def shifted(value: object, digits: int) -> float | None:
    """The number with its point moved to the right, rounded once; None for what is no finite number.

    >>> shifted(NumberText("17188.25"), -3)
    17.18825
    """
    if digits == 0 or not isinstance(value, NumberText):
        plain = number(value)
        if plain is None or digits == 0:
            return plain
    try:
        found = float(_moved(value if isinstance(value, str) else repr(value), digits))
    except ValueError:  # an exponent of thousands of digits
        return None
    return found if math.isfinite(found) else None


def shifted_text(value: float, digits: int) -> NumberText:
    """The exact decimal text of a finite number with its point moved; `shifted` back gives the same number.

    >>> shifted_text(0.1, 3)
    '0.1e3'
    """
    return NumberText(_moved(repr(value), digits) if digits else repr(value))


def _moved(text: str, digits: int) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    return f"{mantissa}e{int(exponent or 0) + digits}"
