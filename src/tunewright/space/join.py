"""Enumeration: the combinations that satisfy all conditions, without walking the Cartesian product.

Every parameter starts as a table of its own. The cheapest open condition is taken next: the tables it
touches are projected onto its scope, the condition is evaluated on the grid of those projections, in
blocks, together with every other condition bound by then, and the survivors are joined back to the tables'
other columns. Tables that no condition ever joins stay apart: they are the factors of the space.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tunewright.errors import SpaceTooLargeError
from tunewright.space.columns import ARITHMETIC, Domain, Grid
from tunewright.space.condition import Condition, ExpressionCondition, FunctionCondition, OutsideScopeSignal
from tunewright.space.parameters import code_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["MAX_ROWS", "Join", "Table", "count_alone"]

Codes = npt.NDArray[np.integer]
Indices = npt.NDArray[np.intp]

MAX_ROWS = 50_000_000
MAX_GRID = 1_000_000_000
MAX_CALLS = 5_000_000
BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Table:
    """Joint choices for some parameters: columns of value indices, one row a combination."""

    columns: Mapping[str, Codes]
    rows: int


class Join:
    """Joins the parameters of a space under conditions. `tables` are the factors once `run` has returned.

    `failed` maps a constraint's position to the number of arithmetic errors met.
    """

    def __init__(self, domains: Mapping[str, Domain], conditions: Sequence[Condition]) -> None:
        self.domains = domains
        self.open = list(conditions)
        self.failed: dict[int, int] = {}
        self._table_of: dict[str, Table] = {}
        for name, domain in domains.items():
            count = len(domain.values)
            table = Table({name: np.arange(count, dtype=code_dtype(count))}, count)
            self._table_of[name] = table

    @property
    def tables(self) -> list[Table]:
        """The tables, in the order of their first parameters."""
        return list({id(table): table for table in self._table_of.values()}.values())

    def run(self) -> bool:
        """Join until no condition is open. Return False as soon as nothing is left.

        Raises:
            SpaceTooLargeError: a grid or a table beyond the limits.
            ConstraintError: a condition that fails other than by arithmetic.
        """
        costs: dict[int, int] = {}
        while self.open:
            for condition in self.open:
                if id(condition) not in costs:
                    costs[id(condition)] = self._cost(condition)
            condition = min(self.open, key=lambda candidate: costs[id(candidate)])
            try:
                joined = self._take(condition)
            except OutsideScopeSignal as signal:
                self._extend(signal)
                costs.clear()
                continue
            if joined.rows == 0:
                return False
            for other in self.open:
                if any(name in joined.columns for name in other.scope):
                    costs.pop(id(other), None)
        return True

    def _extend(self, signal: OutsideScopeSignal) -> None:
        reader = self._reader
        if reader is None:
            raise AssertionError("only a function can read outside its scope") from signal
        reader.extend(signal.names)

    _reader: FunctionCondition | None = None

    def _touched(self, condition: Condition) -> list[Table]:
        return list({id(self._table_of[name]): self._table_of[name] for name in condition.scope}.values())

    def _cost(self, condition: Condition) -> int:
        """Return an upper bound of the grid's size; calls of functions weigh more than vectorised points."""
        cost = 1 if isinstance(condition, ExpressionCondition) else 30
        for table in self._touched(condition):
            covered = [name for name in condition.scope if name in table.columns]
            cost *= min(table.rows, math.prod(len(self.domains[name].values) for name in covered))
        return cost

    def _take(self, condition: Condition) -> Table:
        tables = self._touched(condition)
        projections = [_Projection(table, condition.scope, self.domains) for table in tables]
        projections.sort(key=lambda projection: projection.rows)
        bound = set(condition.scope)
        ready = [other for other in self.open if bound.issuperset(other.scope)]
        self._check_size(condition, projections)
        failed: dict[int, int] = {}
        survivors = self._survivors(projections, ready, failed)
        rows = projections[0].joined_rows(projections, survivors) if projections else len(survivors[0])
        if rows > MAX_ROWS:
            raise SpaceTooLargeError(
                f"{rows:,} combinations of "
                f"{', '.join(name for table in tables for name in table.columns)} are left "
                f"after constraint {condition.text!r}, more than {MAX_ROWS:,}; shorten value "
                "lists or add constraints"
            )
        joined = _expand(projections, survivors, rows) if projections else Table({}, rows)
        for name in joined.columns:
            self._table_of[name] = joined
        for owner, count in failed.items():
            self.failed[owner] = self.failed.get(owner, 0) + count
        done = {id(other) for other in ready}
        self.open = [other for other in self.open if id(other) not in done]
        return joined

    def _check_size(self, condition: Condition, projections: Sequence[_Projection]) -> None:
        size = math.prod(projection.rows for projection in projections)
        limit = MAX_GRID if isinstance(condition, ExpressionCondition) else MAX_CALLS
        if size > limit:
            raise SpaceTooLargeError(
                f"constraint {condition.text!r} would have to be checked for {size:,} combinations of "
                f"{', '.join(condition.scope)}, more than {limit:,}; split it into constraints "
                "on fewer parameters, or shorten value lists"
            )

    def _survivors(
        self, projections: Sequence[_Projection], ready: Sequence[Condition], failed: dict[int, int]
    ) -> list[Indices]:
        """Return, per projection, the row indices of the grid points that satisfy all ready conditions."""
        found: list[list[Indices]] = [[] for _ in projections] or [[]]
        left = 0
        for start, axes in _blocks([projection.columns for projection in projections]):
            grid = Grid(self.domains, axes)
            points = self._points(grid, ready, failed)
            left += len(points[0])
            if left > MAX_ROWS:
                raise SpaceTooLargeError(
                    f"more than {MAX_ROWS:,} combinations are left after constraint {ready[0].text!r}; "
                    "shorten value lists or add constraints"
                )
            for number, (offset, index) in enumerate(zip(start or (0,), points, strict=True)):
                found[number].append(index + offset)
        return [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in found]

    def _points(self, grid: Grid, ready: Sequence[Condition], failed: dict[int, int]) -> tuple[Indices, ...]:
        mask: npt.NDArray[np.bool_] | None = None
        for condition in ready:
            if isinstance(condition, ExpressionCondition):
                step, marks = condition.mask(grid)
                _count(failed, condition.owner, marks, grid)
                mask = step if mask is None else mask & step
        flat = np.arange(math.prod(grid.shape)) if mask is None else np.flatnonzero(np.broadcast_to(mask, grid.shape))
        points = np.unravel_index(flat, grid.shape)
        for condition in ready:
            if isinstance(condition, FunctionCondition):
                self._reader = condition
                points = _call(condition, grid, points, failed)
        return points


def count_alone(
    condition: Sequence[Condition], domains: Mapping[str, Domain], limit: int
) -> tuple[int, int, int] | None:
    """Evaluate the conditions of one constraint on the whole product of their scope.

    Returns (points, points that hold, points that end in an arithmetic error), or None beyond the limit.
    """
    scope = tuple(name for name in domains if any(name in part.scope for part in condition))
    size = math.prod(len(domains[name].values) for name in scope)
    if size > limit:
        return None
    axes = [{name: np.arange(len(domains[name].values))} for name in scope]
    grid = Grid(domains, axes)
    valid = np.ones(grid.shape, dtype=np.bool_)
    wrong = np.zeros(grid.shape, dtype=np.bool_)
    for part in condition:
        if isinstance(part, ExpressionCondition):
            mask, marks = part.mask(grid)
            if marks is not None:
                wrong |= valid & (marks != 0)
            valid &= mask
            continue
        points = np.unravel_index(np.arange(size), grid.shape)
        failed: dict[int, int] = {}
        kept = _call(part, grid, points, failed, wrong)
        called = np.zeros(grid.shape, dtype=np.bool_)
        called[kept] = True
        valid &= called
    return size, int(np.count_nonzero(valid)), int(np.count_nonzero(wrong))


class _Projection:
    """The distinct combinations of a table's parameters in scope, and the rows of each."""

    def __init__(self, table: Table, scope: Sequence[str], domains: Mapping[str, Domain]) -> None:
        self.table = table
        covered = [name for name in scope if name in table.columns]
        self.counts: Indices | None = None
        if len(covered) == len(table.columns):
            self.columns: Mapping[str, Codes] = {name: table.columns[name] for name in covered}
            self.rows = table.rows
            return
        keys = _keys([table.columns[name] for name in covered], [len(domains[name].values) for name in covered])
        _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        self.columns = {name: table.columns[name][first] for name in covered}
        self.rows = len(first)
        self.counts = counts
        self.order = np.argsort(inverse, kind="stable")
        self.starts = np.cumsum(counts) - counts

    @staticmethod
    def joined_rows(projections: Sequence[_Projection], survivors: Sequence[Indices]) -> int:
        """Return how many rows the join of the survivors has."""
        partial = [(p.counts, index) for p, index in zip(projections, survivors, strict=True) if p.counts is not None]
        if not partial:
            return len(survivors[0])
        total = np.ones(len(survivors[0]))
        for counts, index in partial:
            total *= counts[index]
        return int(total.sum())


def _keys(columns: Sequence[Codes], radices: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return one integer a row, equal for equal rows."""
    keys = columns[0].astype(np.int64)
    span = radices[0]
    for column, radix in zip(columns[1:], radices[1:], strict=True):
        if span * radix > 2**62:
            _, keys = np.unique(keys, return_inverse=True)
            span = int(keys.max(initial=0)) + 1
        keys = keys * radix + column
        span *= radix
    return keys


def _expand(projections: Sequence[_Projection], survivors: Sequence[Indices], rows: int) -> Table:
    partial = [projection for projection in projections if projection.counts is not None]
    columns: dict[str, Codes] = {}
    if not partial:
        for projection, index in zip(projections, survivors, strict=True):
            columns.update({name: column[index] for name, column in projection.table.columns.items()})
        return Table(columns, rows)
    total = np.ones(len(survivors[0]), dtype=np.intp)
    for projection, index in zip(projections, survivors, strict=True):
        if projection.counts is not None:
            total *= projection.counts[index]
    within = np.arange(rows) - np.repeat(np.cumsum(total) - total, total)
    for projection, index in zip(projections, survivors, strict=True):
        chosen = np.repeat(index, total)
        if projection.counts is not None:
            if projection is partial[-1]:
                choice = within
            else:
                within, choice = np.divmod(within, projection.counts[chosen])
            chosen = projection.order[projection.starts[chosen] + choice]
        columns.update({name: column[chosen] for name, column in projection.table.columns.items()})
    return Table(columns, rows)


def _blocks(
    axes: Sequence[Mapping[str, Codes]],
) -> Iterator[tuple[tuple[int, ...], list[Mapping[str, Codes]]]]:
    """Yield the grid of the axes in blocks of bounded size: where each starts, and its part of the axes."""
    sizes = [len(next(iter(axis.values()))) for axis in axes]
    steps = []
    room = BLOCK
    for size in reversed(sizes):
        steps.append(max(1, min(size, room)))
        room //= steps[-1]
    ranges = [range(0, size, step) for size, step in zip(sizes, reversed(steps), strict=True)]
    for start in itertools.product(*ranges):
        ends = [first + step for first, step in zip(start, reversed(steps), strict=True)]
        yield (
            start,
            [
                {name: column[first:end] for name, column in axis.items()}
                for axis, first, end in zip(axes, start, ends, strict=True)
            ],
        )


def _count(failed: dict[int, int], owner: int, marks: npt.NDArray[np.uint8] | None, grid: Grid) -> None:
    if marks is not None:
        repeats = math.prod(grid.shape) // math.prod(marks.shape)
        count = int(np.count_nonzero(marks == ARITHMETIC)) * repeats
        if count:
            failed[owner] = failed.get(owner, 0) + count


def _call(
    condition: FunctionCondition,
    grid: Grid,
    points: tuple[Indices, ...],
    failed: dict[int, int],
    wrong: npt.NDArray[np.bool_] | None = None,
) -> tuple[Indices, ...]:
    """Return the points for which the function answers true; each distinct combination is called once."""
    count = len(points[0])
    columns = []
    for name in condition.scope:
        axis = grid.axis_of[name]
        columns.append(grid.axes[axis][name][points[axis]].tolist())
    distinct = len(grid.axis_of) == len(condition.scope)
    known: dict[tuple[int, ...], bool | None] = {}
    keep = np.zeros(count, dtype=np.bool_)
    for row, codes in enumerate(zip(*columns, strict=True) if columns else itertools.repeat((), count)):
        if distinct:
            answer = condition.outcome(codes)
        elif codes in known:
            answer = known[codes]
        else:
            answer = known[codes] = condition.outcome(codes)
        if answer is None:
            failed[condition.owner] = failed.get(condition.owner, 0) + 1
            if wrong is not None:
                wrong[tuple(index[row] for index in points)] = True
        keep[row] = bool(answer)
    return tuple(index[keep] for index in points)
