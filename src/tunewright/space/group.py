"""Groups: the factors of a space, each a sorted list of valid rows that answers queries by binary search.

A row is its mixed-radix key: value indices in parameter order, the first parameter most significant. Keys
are int64 where the product of the radices allows (`NarrowGroup`), else bytes that sort alike (`WideGroup`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from tunewright.space.parameters import code_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Group", "NarrowGroup", "WideGroup", "make_group"]

Codes: TypeAlias = npt.NDArray[np.integer]
Indices: TypeAlias = npt.NDArray[np.intp]

NARROW = 2**62
LISTED = 500_000  # groups up to this size keep their keys as a list too, which a single search is faster in
CHUNK = 1 << 20


def make_group(names: Sequence[str], radices: Sequence[int], columns: Sequence[Codes]) -> Group:
    """Return a group from unsorted, distinct rows, given as one column of value indices a parameter."""
    if math.prod(radices) <= NARROW:
        strides = _strides(radices)
        keys = np.zeros(len(columns[0]), dtype=np.int64)
        for column, stride, radix in zip(columns, strides, radices, strict=True):
            if radix > 1:
                keys += column.astype(np.int64) * stride
        if not (keys[1:] > keys[:-1]).all():
            keys.sort()
        return NarrowGroup(tuple(names), tuple(radices), keys)
    matrix = np.stack([column.astype(code_dtype(max(radices))) for column in columns], axis=1)
    return WideGroup(tuple(names), tuple(radices), matrix)


class NarrowGroup:
    """A group whose rows are int64 keys."""

    def __init__(self, names: tuple[str, ...], radices: tuple[int, ...], keys: npt.NDArray[np.int64]) -> None:
        self.names = names
        self.radices = radices
        self.size = len(keys)
        self.cartesian = math.prod(radices)
        # One key beyond all others, so that a search never points past the end.
        self._keys = np.append(keys, np.int64(2**63 - 1))
        self.strides = _strides(radices)
        self._stride_array = np.array(self.strides, dtype=np.int64)
        self._radix_array = np.array(radices, dtype=np.int64)
        moving = [number for number, radix in enumerate(radices) if radix > 1]
        self._moving = moving
        self._starts = np.cumsum([0, *(radices[number] for number in moving)]).tolist()
        offsets = [np.arange(radices[number], dtype=np.int64) * self.strides[number] for number in moving]
        self._offsets = np.concatenate(offsets) if offsets else np.zeros(0, dtype=np.int64)
        self._which = np.repeat(np.array(moving, dtype=np.intp), [radices[number] for number in moving])
        self._listed: list[int] | None = None

    def __reduce__(self) -> tuple[type[NarrowGroup], tuple[object, ...]]:
        return NarrowGroup, (self.names, self.radices, self.keys)

    @property
    def keys(self) -> npt.NDArray[np.int64]:
        """The sorted keys."""
        return self._keys[:-1]

    def codes(self, rows: Sequence[int] | Indices | slice) -> Codes:
        """Return the value indices of some rows, one line a row."""
        keys = self.keys[rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)]
        result = np.empty((len(keys), len(self.radices)), dtype=code_dtype(max(self.radices)), order="F")
        for number, radix in reversed(list(enumerate(self.radices))):
            if radix == 1:
                result[:, number] = 0
                continue
            quotient = keys // radix
            result[:, number] = keys - quotient * radix
            keys = quotient
        return result

    def code_row(self, row: int) -> list[int]:
        """Return the value indices of one row."""
        key = row if self.size == self.cartesian else int(self._keys[row])
        return [key // stride % radix for stride, radix in zip(self.strides, self.radices, strict=True)]

    def find(self, codes: Sequence[int]) -> int:
        """Return the row with these value indices, or -1."""
        key: int = sum(map(mul, codes, self.strides))
        if self.size == self.cartesian:
            return key
        if self._listed is None:
            if self.size > LISTED:
                row = int(self._keys.searchsorted(key))
                return row if self._keys[row] == key else -1
            self._listed = self._keys.tolist()
        row = bisect_left(self._listed, key)
        return row if self._listed[row] == key else -1

    def single(self, row: int) -> list[int]:
        """Return the other rows that differ in exactly one parameter, ascending."""
        _, position, hit = self._lines(row)
        rows: list[int] = position[hit].tolist()
        rows.sort()
        return rows

    def step(self, row: int) -> list[int]:
        """Return the rows reached by moving one parameter to its next valid value up or down, ascending."""
        codes, position, hit = self._lines(row)
        rows: list[int] = []
        hits = hit.nonzero()[0].tolist()
        position_list = position[hits].tolist()
        number, below = 0, -1
        for candidate, other in zip(hits, position_list, strict=True):
            while candidate >= self._starts[number + 1]:
                if below >= 0:
                    rows.append(below)
                number, below = number + 1, -1
            own = self._starts[number] + codes[self._moving[number]]
            if candidate < own:
                below = other
            elif below != -2:
                if below >= 0:
                    rows.append(below)
                rows.append(other)
                below = -2
        if below >= 0:
            rows.append(below)
        rows.sort()
        return rows

    def box(self, row: int) -> list[int]:
        """Return the rows whose indices all differ by at most one, ascending, the row itself included."""
        prefixes = np.zeros(1, dtype=np.int64)
        low = np.zeros(1, dtype=np.intp)
        for code, stride, radix in zip(self.code_row(row), self.strides, self.radices, strict=True):
            if radix == 1:
                continue
            near = np.arange(max(code - 1, 0), min(code + 2, radix), dtype=np.int64)
            prefixes = (prefixes[:, None] + near * stride).ravel()
            low = self._keys.searchsorted(prefixes)
            filled = self._keys[low] < prefixes + stride
            prefixes, low = prefixes[filled], low[filled]
        rows: list[int] = low.tolist()
        return rows

    def _lines(self, row: int) -> tuple[list[int], Indices, npt.NDArray[np.bool_]]:
        """Look up every change of one parameter: the row's indices, each change's place, which are rows."""
        keys = self._keys
        key = keys[row]
        codes = key // self._stride_array % self._radix_array
        base = key - codes * self._stride_array
        candidates = base[self._which]
        candidates += self._offsets
        position = keys.searchsorted(candidates)
        hit = keys[position] == candidates
        hit &= position != row
        return codes.tolist(), position, hit


class WideGroup:
    """A group of so many parameters that a row's key is a string of bytes."""

    def __init__(self, names: tuple[str, ...], radices: tuple[int, ...], matrix: Codes) -> None:
        self.names = names
        self.radices = radices
        self.size = len(matrix)
        self.cartesian = math.prod(radices)
        keys = self._pack(matrix)
        order = np.argsort(keys, kind="stable")
        self._matrix = np.ascontiguousarray(matrix[order])
        self._keys = keys[order]

    def codes(self, rows: Sequence[int] | Indices | slice) -> Codes:
        """Return the value indices of some rows, one line a row."""
        return self._matrix[rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)]

    def code_row(self, row: int) -> list[int]:
        """Return the value indices of one row."""
        codes: list[int] = self._matrix[row].tolist()
        return codes

    def find(self, codes: Sequence[int]) -> int:
        """Return the row with these value indices, or -1."""
        return int(self._search(np.array([codes], dtype=self._matrix.dtype))[0])

    def single(self, row: int) -> list[int]:
        """Return the other rows that differ in exactly one parameter, ascending."""
        return sorted(other for line in self._lines(row) for _, other in line if other != row)

    def step(self, row: int) -> list[int]:
        """Return the rows reached by moving one parameter to its next valid value up or down, ascending."""
        rows = []
        for code, line in zip(self.code_row(row), self._lines(row), strict=True):
            below = [other for value, other in line if value < code]
            above = [other for value, other in line if value > code]
            rows += below[-1:] + above[:1]
        return sorted(rows)

    def box(self, row: int) -> list[int]:
        """Return the rows whose indices all differ by at most one, ascending, the row itself included."""
        codes = self._matrix[row].astype(np.int64)
        rows: list[int] = []
        for start in range(0, self.size, CHUNK):
            near = np.abs(self._matrix[start : start + CHUNK].astype(np.int64) - codes).max(axis=1) <= 1
            rows += (near.nonzero()[0] + start).tolist()
        return rows

    def _lines(self, row: int) -> list[list[tuple[int, int]]]:
        """Return, per parameter, the valid (value index, row) along it, ascending."""
        candidates = np.repeat(self._matrix[row][None, :], sum(self.radices), axis=0)
        start = 0
        for number, radix in enumerate(self.radices):
            candidates[start : start + radix, number] = np.arange(radix)
            start += radix
        found = self._search(candidates).tolist()
        lines, start = [], 0
        for radix in self.radices:
            lines.append([(code, other) for code, other in enumerate(found[start : start + radix]) if other >= 0])
            start += radix
        return lines

    def _search(self, codes: Codes) -> Indices:
        keys = self._pack(codes)
        position = np.minimum(self._keys.searchsorted(keys), self.size - 1)
        return np.where(self._keys[position] == keys, position, -1)

    @staticmethod
    def _pack(matrix: Codes) -> npt.NDArray[np.bytes_]:
        """Return rows as byte strings; big-endian, so that they sort as the rows do."""
        wide = np.ascontiguousarray(matrix.astype(matrix.dtype.newbyteorder(">")))
        return wide.view(f"S{wide.dtype.itemsize * wide.shape[1]}").ravel()


Group: TypeAlias = NarrowGroup | WideGroup
"""Parameters that constraints tie together, and their valid rows in lexicographic order."""


def _strides(radices: Sequence[int]) -> list[int]:
    strides = [1] * len(radices)
    for number in range(len(radices) - 2, -1, -1):
        strides[number] = strides[number + 1] * radices[number + 1]
    return strides
