"""The vectorised evaluator: an expression over a whole grid of configurations at once.

A grid is a product of axes; each axis lists joint choices for some parameters. A column holds an operand's
value at every point of the grid, with length 1 along the axes that it does not depend on, so numpy
broadcasting evaluates a sub-expression only as often as it differs. Two things make the result Python's
own:

* Integer columns carry bounds. A step runs in int64 (or moves to float64) only where the bounds prove it
  exact; everything else (strings, big integers, negative powers, mixed types) is tabulated with the scalar
  evaluator over the distinct combinations of the parameters that the sub-expression reads.
* Errors are lifted. A point where a step raises carries an error mark, and `and`, `or`, chains and
  conditional expressions pass on only marks that Python would have reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tunewright.space.arithmetic import (
    ARITHMETIC,
    COMPARE,
    INT_MAX,
    INT_MIN,
    OTHER,
    Column,
    Marks,
    Mask,
    binary,
    comparable,
    earliest,
    marked,
    numbers,
    select,
    sign,
    where,
)
from tunewright.space.expression import names_in
from tunewright.space.scalar import OversizeError, scalar

if TYPE_CHECKING:
    from tunewright.space.parameters import Value

__all__ = ["ARITHMETIC", "OTHER", "Axis", "Domain", "Grid", "holds"]

Axis: TypeAlias = Mapping[str, npt.NDArray[np.integer]]


class Domain:
    """A parameter's values, with their numeric column where the types allow one."""

    __slots__ = ("array", "hi", "lo", "values")

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = tuple(values)
        self.array, self.lo, self.hi = numbers(values)


class Grid:
    """A product of axes; each maps parameter names to arrays of value indices of one common length."""

    def __init__(self, domains: Mapping[str, Domain], axes: Sequence[Axis]) -> None:
        self.domains = domains
        self.axes = axes
        self.shape = tuple(len(next(iter(axis.values()))) for axis in axes) or (1,)
        self.axis_of = {name: number for number, axis in enumerate(axes) for name in axis}

    def along(self, axis: int, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a one-dimensional array laid along one axis of the grid."""
        shape = [1] * len(self.shape)
        shape[axis] = len(array)
        return array.reshape(shape)

    def combinations(self, names: Sequence[str]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Return the shape of the sub-grid that the names span, and their value indices at each point."""
        used = {self.axis_of[name] for name in names}
        shape = tuple(size if number in used else 1 for number, size in enumerate(self.shape))
        if not names:
            return shape, [()]
        columns = []
        for name in names:
            axis = self.axis_of[name]
            codes = self.along(axis, self.axes[axis][name])
            columns.append(np.broadcast_to(codes, shape).ravel().tolist())
        return shape, list(zip(*columns, strict=True))


def holds(node: ast.expr, grid: Grid) -> tuple[Mask, Marks]:
    """Return where the expression is true, and where it raises (0 no, ARITHMETIC, OTHER).

    Both broadcast to the grid's shape; where a mark is set the truth value means nothing.
    """
    with np.errstate(all="ignore"):
        return _Evaluator(grid).truth(node)


class _Evaluator:
    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    # Truth values.

    def truth(self, node: ast.expr) -> tuple[Mask, Marks]:
        match node:
            case ast.BoolOp():
                return self.junction(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                mask, marks = self.truth(operand)
                return ~mask, marks
            case ast.Compare():
                compared = self.compare(node)
                if compared is not None:
                    return compared
            case _:
                column = self.value(node)
                if column is not None:
                    return column.data != 0, column.marks
        return self.tabulate_truth(node)

    def junction(self, node: ast.BoolOp) -> tuple[Mask, Marks]:
        conjunction = isinstance(node.op, ast.And)
        mask, marks = self.truth(node.values[0])
        for operand in node.values[1:]:
            going_on = mask if conjunction else ~mask
            if not going_on.any():
                break
            other, other_marks = self.truth(operand)
            marks = earliest(marks, where(going_on, other_marks, None))
            mask = mask & other if conjunction else mask | other
        return mask, marks

    def compare(self, node: ast.Compare) -> tuple[Mask, Marks] | None:
        left = self.value(node.left)
        if left is None:
            return None
        mask: Mask | None = None
        marks = left.marks
        last = len(node.ops) - 1
        for number, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if isinstance(op, ast.In | ast.NotIn):
                step = self.membership(left, comparator) if number == last else None
                if step is None:
                    return None
                found, step_marks = step
                step_mask = found if isinstance(op, ast.In) else ~found
            else:
                right = self.value(comparator)
                if right is None or not comparable(left, right):
                    return None
                step_mask, step_marks = COMPARE[type(op)](left.data, right.data), right.marks
                left = right
            if mask is None:
                mask, marks = step_mask, earliest(marks, step_marks)
            else:
                marks = earliest(marks, where(mask, step_marks, None))
                mask = mask & step_mask
        assert mask is not None  # noqa: S101 - a comparison has at least one operator
        return mask, marks

    def membership(self, item: Column, display: ast.expr) -> tuple[Mask, Marks] | None:
        if not isinstance(display, ast.Tuple | ast.List | ast.Set):
            return None
        found: Mask = np.zeros((1,) * len(self.grid.shape), dtype=np.bool_)
        marks: Marks = None
        for element in display.elts:
            column = self.value(element)
            if column is None or not comparable(item, column):
                return None
            found = found | (item.data == column.data)
            marks = earliest(marks, column.marks)
        return found, marks

    # Values. None stands for a value that no numeric column can hold.

    def value(self, node: ast.expr) -> Column | None:
        match node:
            case ast.Constant(value=constant):
                return self.constant(constant)
            case ast.Name(id=name):
                return self.parameter(name)
            case ast.Tuple() | ast.List() | ast.Set():
                return None
            case ast.BinOp(left=left, op=op, right=right):
                column = self.binary(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.Not()) | ast.Compare():
                mask, marks = self.truth(node)
                column = Column(mask.astype(np.int64), 0, 1, marks)
            case ast.UnaryOp(op=op, operand=operand):
                column = sign(op, self.value(operand))
            case ast.BoolOp():
                column = self.junction_value(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                column = self.choice(test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=args):
                column = self.call(name, args)
            case _:
                raise AssertionError(f"{type(node).__name__} passed the grammar check")
        return self.tabulate(node) if column is None else column

    def constant(self, constant: object) -> Column | None:
        shape = (1,) * len(self.grid.shape)
        if isinstance(constant, float):
            return Column(np.full(shape, constant), 0, 0)
        if isinstance(constant, int) and INT_MIN <= constant <= INT_MAX:
            return Column(np.full(shape, int(constant), dtype=np.int64), int(constant), int(constant))
        return None

    def parameter(self, name: str) -> Column | None:
        domain = self.grid.domains[name]
        if domain.array is None:
            return None
        axis = self.grid.axis_of[name]
        return Column(self.grid.along(axis, domain.array[self.grid.axes[axis][name]]), domain.lo, domain.hi)

    def binary(self, op: ast.operator, left: Column | None, right: Column | None) -> Column | None:
        return None if left is None or right is None else binary(op, left, right)

    def junction_value(self, node: ast.BoolOp) -> Column | None:
        conjunction = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for operand in node.values[1:]:
            if result is None:
                return None
            truth = result.data != 0
            going_on = truth if conjunction else ~truth
            if not going_on.any():
                return result
            result = select(going_on, self.value(operand), result, result.marks)
        return result

    def choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Column | None:
        mask, marks = self.truth(test)
        if mask.all():
            return marked(self.value(body), marks)
        if not mask.any():
            return marked(self.value(orelse), marks)
        yes, no = self.value(body), self.value(orelse)
        if yes is None or no is None:
            return None
        selected = select(mask, yes, Column(no.data, no.lo, no.hi), None)
        if selected is not None:
            selected.marks = earliest(marks, where(mask, yes.marks, no.marks))
        return selected

    def call(self, name: str, arguments: Sequence[ast.expr]) -> Column | None:
        if len(arguments) == 1 and name != "abs":
            if not isinstance(arguments[0], ast.Tuple | ast.List) or not arguments[0].elts:
                return None
            arguments = arguments[0].elts
        columns = [self.value(argument) for argument in arguments]
        first = columns[0]
        if first is None:
            return None
        if name == "abs":
            if first.is_int:
                hi = max(abs(first.lo), abs(first.hi))
                return Column(np.abs(first.data), 0, hi, first.marks) if hi <= INT_MAX else None
            return Column(np.abs(first.data), 0, 0, first.marks)
        best = first
        for column in columns[1:]:
            if column is None or column.is_int != best.is_int:
                return None
            better = column.data < best.data if name == "min" else column.data > best.data
            bound = min if name == "min" else max
            data = np.where(better, column.data, best.data)
            lo, hi = bound(best.lo, column.lo), bound(best.hi, column.hi)
            best = Column(data, lo, hi, earliest(best.marks, column.marks))
        return best

    # The way out: the scalar evaluator, once for each distinct combination.

    def tabulate(self, node: ast.expr) -> Column | None:
        shape, results, marks = self.table(node, lambda value: value)
        good = [result for result, mark in zip(results, marks, strict=True) if not mark]
        filler = good[0] if good else 0
        array, lo, hi = numbers([filler if mark else result for result, mark in zip(results, marks, strict=True)])
        if array is None:
            return None
        return Column(array.reshape(shape), lo, hi, _marks(marks, shape))

    def tabulate_truth(self, node: ast.expr) -> tuple[Mask, Marks]:
        shape, results, marks = self.table(node, bool)
        return np.array(results, dtype=np.bool_).reshape(shape), _marks(marks, shape)

    def table(self, node: ast.expr, convert: Callable[[Any], Any]) -> tuple[tuple[int, ...], list[Any], list[int]]:
        names = names_in(node)
        function = scalar(node)
        values = [self.grid.domains[name].values for name in names]
        shape, combinations = self.grid.combinations(names)
        known: dict[tuple[int, ...], tuple[Any, int]] = {}
        for codes in combinations:
            if codes not in known:
                env = {name: choices[code] for name, choices, code in zip(names, values, codes, strict=True)}
                known[codes] = _attempt(function, env, convert)
        outcomes = [known[codes] for codes in combinations]
        return shape, [outcome[0] for outcome in outcomes], [outcome[1] for outcome in outcomes]


def _attempt(
    function: Callable[[Mapping[str, Any]], Any], env: Mapping[str, Value], convert: Callable[[Any], Any]
) -> tuple[Any, int]:
    try:
        return convert(function(env)), 0
    except ArithmeticError:
        return False, ARITHMETIC
    except (OversizeError, TypeError, ValueError):
        return False, OTHER


def _marks(marks: list[int], shape: tuple[int, ...]) -> Marks:
    return np.array(marks, dtype=np.uint8).reshape(shape) if any(marks) else None
