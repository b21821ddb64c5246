"""Factors: a space as a product of groups, all in terms of ids and value indices.

An id is a mixed-radix number whose digits are the groups' rows, the first group most significant.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from tunewright.errors import OptionError, SpaceError, SpaceTooLargeError
from tunewright.space.group import Group, WideGroup, make_group
from tunewright.space.parameters import code_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["KINDS", "Factors"]

Codes: TypeAlias = npt.NDArray[np.int32]

MAX_ENUMERATED = 20_000_000
MAX_BOX = 1_000_000
MAX_CACHED = 5_000_000
CHUNK = 1 << 20
KINDS = ("single", "step", "box")


class Factors:
    """The product of groups that together hold the parameters `names`."""

    def __init__(self, names: Sequence[str], groups: Sequence[Group]) -> None:
        self.names = tuple(names)
        self.groups = tuple(groups)
        self.size = math.prod(group.size for group in groups)
        self._strides = [1] * len(groups)
        for number in range(len(groups) - 2, -1, -1):
            self._strides[number] = self._strides[number + 1] * groups[number + 1].size
        position = {name: number for number, name in enumerate(names)}
        self._positions = [[position[name] for name in group.names] for group in groups]
        self._in_order = len(groups) == 1 and groups[0].names == self.names
        # What one step of a parameter adds to the id, where its group holds every combination.
        self._weights = [0] * len(names)
        self._tied: list[tuple[Group, int, list[int]]] = []
        for group, stride, positions in zip(groups, self._strides, self._positions, strict=True):
            if group.size < group.cartesian or isinstance(group, WideGroup):
                self._tied.append((group, stride, positions))
                continue
            for where, weight in zip(positions, group.strides, strict=True):
                self._weights[where] = weight * stride
        self._moving = [number for number, group in enumerate(groups) if group.size > 1]
        self._cache: dict[str, dict[int, tuple[int, ...]]] = {kind: {} for kind in KINDS}
        self._group_cache: dict[tuple[str, int, int], list[int]] = {}
        self._rows: dict[int, tuple[int, ...]] = {}
        self._cached = 0

    def rows(self, id: int) -> list[int]:  # noqa: A002 - the name of the protocol
        """Return an id's row in every group.

        Raises:
            SpaceError: an id outside 0..size-1.
        """
        try:
            rest = operator.index(id)
        except TypeError as error:
            raise SpaceError(f"a configuration's id is an integer, not {id!r}") from error
        if not 0 <= rest < self.size:
            raise SpaceError(f"there is no configuration {id}; ids are 0 to {self.size - 1}")
        rows = []
        for stride in self._strides:
            row, rest = divmod(rest, stride)
            rows.append(row)
        return rows

    def code_row(self, id: int) -> tuple[int, ...]:  # noqa: A002 - the name of the protocol
        """Return an id's value indices."""
        found = self._rows.get(id)
        if found is None:
            found = tuple(self._code_row(self.rows(id)))
            self._remember(len(found))
            self._rows[operator.index(id)] = found
        return found

    def find(self, codes: Sequence[int]) -> int | None:
        """Return the id with these value indices, each within its list, or None."""
        if self._in_order:
            row = self.groups[0].find(codes)
            return row if row >= 0 else None
        total: int = sum(map(operator.mul, codes, self._weights))
        for group, stride, positions in self._tied:
            row = group.find([codes[position] for position in positions])
            if row < 0:
                return None
            total += row * stride
        return total

    def nearest(self, tables: Sequence[npt.NDArray[np.float64]]) -> int:
        """Return the lowest id with the least sum of distances, given the distance of each value."""
        total = 0
        for group, stride, positions in zip(self.groups, self._strides, self._positions, strict=True):
            best, best_row = math.inf, 0
            for start in range(0, group.size, CHUNK):
                codes = group.codes(slice(start, min(start + CHUNK, group.size)))
                far = np.zeros(len(codes))
                for column, position in zip(codes.T, positions, strict=True):
                    far += tables[position][column]
                # Sums that differ by rounding alone are ties.
                far = np.round(far, 9)
                row = int(far.argmin())
                if far[row] < best:
                    best, best_row = float(far[row]), start + row
            total += best_row * stride
        return total

    def codes(self) -> Codes:
        """Return the value indices of all ids.

        Raises:
            SpaceTooLargeError: more than 20 million.
        """
        if self.size > MAX_ENUMERATED:
            raise SpaceTooLargeError(
                f"listing all {self.size:,} configurations is beyond the limit of {MAX_ENUMERATED:,}; "
                "use sample, neighbors or codes_of(ids)"
            )
        width = len(self.names)
        result = np.empty((width, self.size), dtype=np.int32)
        for group, stride, positions in zip(self.groups, self._strides, self._positions, strict=True):
            columns = group.codes(slice(0, group.size)).T
            view = result.reshape(width, -1, group.size, stride)
            for column, position in zip(columns, positions, strict=True):
                view[position] = column[None, :, None]
        return result.T

    def codes_of(self, ids: Sequence[int]) -> Codes:
        """Return the value indices of some ids."""
        rows = [self.rows(each) for each in ids]
        result = np.empty((len(rows), len(self.names)), dtype=np.int32)
        for number, (group, positions) in enumerate(zip(self.groups, self._positions, strict=True)):
            result[:, positions] = group.codes([row[number] for row in rows])
        return result

    def neighbors(self, id: int, kind: str) -> tuple[int, ...]:  # noqa: A002 - the name of the protocol
        """Return the ids around one, ascending, itself left out; see SearchSpace.neighbors."""
        cache = self._cache.get(kind)
        if cache is None:
            raise OptionError(f"unknown neighbourhood {kind!r}; choose one of {', '.join(KINDS)}")
        found = cache.get(id)
        if found is None:
            found = self._box(id) if kind == "box" else self._line(id, kind)
            self._remember(len(found))
            cache[id] = found
        return found

    def pinned(self, pins: Mapping[str, int]) -> tuple[Group, ...] | None:
        """Return the groups with some parameters held at one value index, or None if nothing is left."""
        groups = []
        for group in self.groups:
            kept = _pinned(group, pins)
            if kept is None:
                return None
            groups.append(kept)
        return tuple(groups)

    def _line(self, id: int, kind: str) -> tuple[int, ...]:  # noqa: A002 - as above
        rows = self.rows(id)
        if len(self._moving) == 1:
            [number] = self._moving
            return tuple(_query(self.groups[number], kind)(rows[number]))
        found: list[int] = []
        for number in self._moving:
            row = rows[number]
            others = self._group_cache.get((kind, number, row))
            if others is None:
                others = _query(self.groups[number], kind)(row)
                self._group_cache[kind, number, row] = others
                self._cached += len(others)
            stride = self._strides[number]
            base = operator.index(id) - row * stride
            found += [base + other * stride for other in others]
        found.sort()
        return tuple(found)

    def _box(self, id: int) -> tuple[int, ...]:  # noqa: A002 - as above
        boxes = [group.box(row) for group, row in zip(self.groups, self.rows(id), strict=True)]
        count = math.prod(len(box) for box in boxes) - 1
        if count > MAX_BOX:
            raise SpaceTooLargeError(
                f"the box around configuration {id} has {count:,} neighbours, more than {MAX_BOX:,}; "
                "use kind='step' or kind='single'"
            )
        found = [0]
        for box, stride in zip(boxes, self._strides, strict=True):
            found = [base + row * stride for base in found for row in box]
        found.remove(operator.index(id))
        return tuple(found)

    def _code_row(self, rows: Sequence[int]) -> list[int]:
        if self._in_order:
            return self.groups[0].code_row(rows[0])
        codes = [0] * len(self.names)
        for group, row, positions in zip(self.groups, rows, self._positions, strict=True):
            for position, code in zip(positions, group.code_row(row), strict=True):
                codes[position] = code
        return codes

    def _remember(self, numbers: int) -> None:
        """Make room for so many numbers."""
        self._cached += numbers
        if self._cached > MAX_CACHED:
            self._clear()

    def _clear(self) -> None:
        for cache in self._cache.values():
            cache.clear()
        self._group_cache.clear()
        self._rows.clear()
        self._cached = 0


def _query(group: Group, kind: str) -> Callable[[int], list[int]]:
    return group.single if kind == "single" else group.step


def _pinned(group: Group, pins: Mapping[str, int]) -> Group | None:
    pinned = [number for number, name in enumerate(group.names) if name in pins]
    if not pinned:
        return group
    codes = group.codes(slice(0, group.size))
    keep = np.ones(len(codes), dtype=np.bool_)
    for number in pinned:
        keep &= codes[:, number] == pins[group.names[number]]
    if not keep.any():
        return None
    radices = [1 if number in pinned else radix for number, radix in enumerate(group.radices)]
    zero = np.zeros(int(keep.sum()), dtype=code_dtype(1))
    columns = [zero if number in pinned else codes[keep, number] for number in range(len(radices))]
    return make_group(group.names, radices, columns)
