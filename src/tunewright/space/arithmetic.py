"""Steps of the vectorised evaluator: one operator over columns, exact or refused.

A column of integers carries bounds. A step returns None where the bounds do not prove that int64 (or, where
Python would convert, float64) gives exactly what Python gives.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "ARITHMETIC",
    "COMPARE",
    "INT_MAX",
    "INT_MIN",
    "OTHER",
    "Column",
    "Marks",
    "Mask",
    "Numbers",
    "binary",
    "comparable",
    "earliest",
    "marked",
    "numbers",
    "select",
    "sign",
    "where",
]

Numbers: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Marks: TypeAlias = npt.NDArray[np.uint8] | None

ARITHMETIC = 1
OTHER = 2

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
EXACT_FLOAT = 2**53


@dataclass(slots=True)
class Column:
    """An operand over a grid. `lo` and `hi` bound an int64 column; they mean nothing for a float64 one."""

    data: Numbers
    lo: int
    hi: int
    marks: Marks = None

    @property
    def is_int(self) -> bool:
        """Whether the data are int64, not float64."""
        return self.data.dtype.kind == "i"


def numbers(values: Sequence[Any]) -> tuple[Numbers | None, int, int]:
    """Return the values as an int64 or float64 column with bounds, or None where neither is exact."""
    kinds = {type(value) for value in values}
    if kinds <= {int, bool}:
        lo, hi = int(min(values)), int(max(values))
        if lo >= INT_MIN and hi <= INT_MAX:
            return np.array(values, dtype=np.int64), lo, hi
    elif kinds == {float}:
        return np.array(values, dtype=np.float64), 0, 0
    return None, 0, 0


def binary(op: ast.operator, left: Column, right: Column) -> Column | None:
    """Return left op right; marks of the left operand come first, as Python evaluates it first."""
    column = _int_step(op, left, right) if left.is_int and right.is_int else _float_step(op, left, right)
    if column is not None:
        column.marks = earliest(earliest(left.marks, right.marks), column.marks)
    return column


def earliest(earlier: Marks, later: Marks) -> Marks:
    """Return the marks of two evaluations in turn: the later one counts where the earlier raised nothing."""
    if earlier is None or later is None:
        return later if earlier is None else earlier
    return np.where(earlier != 0, earlier, later)


def where(mask: Mask, yes: Marks, no: Marks) -> Marks:
    """Return the marks of the branch that each point takes."""
    if yes is None and no is None:
        return None
    zero = np.zeros((1,) * mask.ndim, dtype=np.uint8)
    return np.where(mask, zero if yes is None else yes, zero if no is None else no)


def marked(column: Column | None, marks: Marks) -> Column | None:
    """Return the column with marks that come before its own."""
    if column is not None:
        column.marks = earliest(marks, column.marks)
    return column


def select(mask: Mask, yes: Column | None, no: Column, before: Marks) -> Column | None:
    """Return `yes` where the mask is set, else `no`; `before` marks come first."""
    if yes is None or yes.is_int != no.is_int:
        return None
    data: Any = np.where(mask, yes.data, no.data)
    return Column(data, min(yes.lo, no.lo), max(yes.hi, no.hi), earliest(before, where(mask, yes.marks, None)))


def comparable(left: Column, right: Column) -> bool:
    """Say whether numpy compares the two columns exactly."""
    return left.is_int == right.is_int or (_converts(left) and _converts(right))


def _converts(column: Column) -> bool:
    """Say whether the column converts to float64 without rounding."""
    return not column.is_int or (column.lo >= -EXACT_FLOAT and column.hi <= EXACT_FLOAT)


def sign(op: ast.unaryop, column: Column | None) -> Column | None:
    """Return the column with a sign in front."""
    if column is None or isinstance(op, ast.UAdd):
        return column
    if column.is_int and column.lo == INT_MIN:
        return None
    return Column(-column.data, -column.hi, -column.lo, column.marks)


def _int_step(op: ast.operator, left: Column, right: Column) -> Column | None:
    a: Any = left.data
    b: Any = right.data
    match op:
        case ast.Add():
            return _bounded(lambda: a + b, left.lo + right.lo, left.hi + right.hi)
        case ast.Sub():
            return _bounded(lambda: a - b, left.lo - right.hi, left.hi - right.lo)
        case ast.Mult():
            corners = [x * y for x in (left.lo, left.hi) for y in (right.lo, right.hi)]
            return _bounded(lambda: a * b, min(corners), max(corners))
        case ast.Pow():
            largest = max(abs(left.lo), abs(left.hi))
            if right.lo < 0 or (largest > 1 and right.hi > 63):
                return None
            bound = largest**right.hi if largest > 1 else 1
            return _bounded(lambda: np.power(a, b), 0 if left.lo >= 0 else -bound, bound)
        case ast.Div():
            return _float_step(op, left, right)
    divisor, marks = _divisor(right)
    if isinstance(op, ast.FloorDiv):
        largest = max(abs(left.lo), abs(left.hi))
        lo = 0 if left.lo >= 0 and right.lo >= 0 else -largest
        return _bounded(lambda: a // divisor, lo, largest, marks)
    return _bounded(lambda: a % divisor, min(0, right.lo + 1), max(0, right.hi - 1), marks)


def _bounded(compute: Callable[[], Numbers], lo: int, hi: int, marks: Marks = None) -> Column | None:
    return Column(compute(), lo, hi, marks) if lo >= INT_MIN and hi <= INT_MAX else None


def _float_step(op: ast.operator, left: Column, right: Column) -> Column | None:
    if isinstance(op, ast.Pow) or not (_converts(left) and _converts(right)):
        return None
    a: Any = left.data.astype(np.float64, copy=False)
    b: Any = right.data.astype(np.float64, copy=False)
    match op:
        case ast.Add():
            return Column(a + b, 0, 0)
        case ast.Sub():
            return Column(a - b, 0, 0)
        case ast.Mult():
            return Column(a * b, 0, 0)
    divisor, marks = _divisor(Column(b, 0, 0))
    if isinstance(op, ast.Div):
        return Column(a / divisor, 0, 0, marks)
    if not (np.isfinite(a).all() and np.isfinite(divisor).all()):
        return None
    return Column(a // divisor if isinstance(op, ast.FloorDiv) else a % divisor, 0, 0, marks)


def _divisor(column: Column) -> tuple[Any, Marks]:
    """Return the column with 1 for 0, and marks where it was 0."""
    if column.is_int and (column.lo > 0 or column.hi < 0):
        return column.data, None
    zero = column.data == 0
    if not zero.any():
        return column.data, None
    data: Any = np.where(zero, column.data.dtype.type(1), column.data)
    return data, np.where(zero, np.uint8(ARITHMETIC), np.uint8(0))


COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Mask]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
