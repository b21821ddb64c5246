"""What makes two spaces the same, and how two differ."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tunewright.space.group import Group
    from tunewright.space.parameters import Value

__all__ = ["Difference", "compare", "digest"]

Codes = npt.NDArray[np.integer]

MAX_SUBSETS = 4096
MAX_SUBSET_ROWS = 20_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes from one space to another. Falsy where nothing does."""

    parameters_added: tuple[str, ...]
    parameters_removed: tuple[str, ...]
    values_added: Mapping[str, tuple[Value, ...]]
    values_removed: Mapping[str, tuple[Value, ...]]
    reordered: tuple[str, ...]
    same: bool

    def __bool__(self) -> bool:
        return not self.same

    def __str__(self) -> str:
        if self.same:
            return "the spaces are the same"
        parts = []
        if self.parameters_added:
            parts.append(f"parameters added: {', '.join(self.parameters_added)}")
        if self.parameters_removed:
            parts.append(f"parameters removed: {', '.join(self.parameters_removed)}")
        for name in dict.fromkeys([*self.values_added, *self.values_removed]):
            changes = []
            if name in self.values_added:
                changes.append(f"added: {', '.join(map(repr, self.values_added[name]))}")
            if name in self.values_removed:
                changes.append(f"removed: {', '.join(map(repr, self.values_removed[name]))}")
            parts.append(f"{name} (values {', '.join(changes)})")
        if self.reordered:
            parts.append(f"another order of {', '.join(self.reordered)}")
        return "; ".join(parts) or "the same parameters and values under different constraints"


def compare(old: Mapping[str, tuple[Value, ...]], new: Mapping[str, tuple[Value, ...]], *, same: bool) -> Difference:
    """Return the difference from old to new; `same` says whether the valid sets are equal as well."""
    common = [name for name in old if name in new]
    added = {name: _without(new[name], old[name]) for name in common}
    removed = {name: _without(old[name], new[name]) for name in common}
    reordered = [
        name
        for name in common
        if not added[name] and not removed[name] and [*map(_tag, old[name])] != [*map(_tag, new[name])]
    ]
    if set(old) == set(new) and list(old) != list(new):
        reordered.insert(0, "the parameters")
    return Difference(
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        {name: values for name, values in added.items() if values},
        {name: values for name, values in removed.items() if values},
        tuple(reordered),
        same,
    )


def digest(parameters: Mapping[str, tuple[Value, ...]], groups: Sequence[Group]) -> str:
    """Return a sha256 of names, typed values and valid set.

    The valid set is hashed factor by factor, split as finely as it is a product, so the way constraints tied
    parameters together does not show.
    """
    position = {name: number for number, name in enumerate(parameters)}
    factors: list[tuple[tuple[str, ...], Codes]] = []
    for group in groups:
        codes = group.codes(slice(0, group.size))
        for block in _factors(codes, group.radices):
            rows = codes[:, block]
            if len(block) < len(group.names):
                rows = _distinct(rows, [group.radices[number] for number in block])
            factors.append((tuple(group.names[number] for number in block), rows))
    factors.sort(key=lambda factor: position[factor[0][0]])
    head = {name: [_tag(value) for value in values] for name, values in parameters.items()}
    result = hashlib.sha256(json.dumps(list(head.items())).encode())
    for names, rows in factors:
        result.update(json.dumps([names, len(rows)]).encode())
        result.update(np.ascontiguousarray(rows, dtype="<u4").tobytes())
    return result.hexdigest()


def _tag(value: Value) -> list[str]:
    return [type(value).__name__, repr(value)]


def _without(values: Sequence[Value], others: Sequence[Value]) -> tuple[Value, ...]:
    known = {tuple(_tag(value)) for value in others}
    return tuple(value for value in values if tuple(_tag(value)) not in known)


def _factors(codes: Codes, radices: Sequence[int]) -> list[list[int]]:
    """Return the finest partition of the columns such that the rows are the product of their projections."""
    count = len(codes)
    columns = list(range(len(radices)))
    if count == math.prod(radices):
        return [[number] for number in columns]
    sizes = {number: _count(codes, radices, [number]) for number in columns}
    blocks = _tied(codes, radices, sizes)
    done = []
    # A block that pairs tie together lies inside one factor; it is a factor if it splits off from the rest.
    width = 1
    left = count
    while width * 2 <= len(blocks):
        if math.comb(len(blocks), width) > min(MAX_SUBSETS, MAX_SUBSET_ROWS // max(count, 1)):
            break
        for chosen in itertools.combinations(blocks, width):
            block = sorted(itertools.chain.from_iterable(chosen))
            rest = [number for other in blocks if other not in chosen for number in other]
            inner = _count(codes, radices, block)
            if inner * _count(codes, radices, rest) == left:
                done.append(block)
                left //= inner
                blocks = [other for other in blocks if other not in chosen]
                break
        else:
            width += 1
    return [*done, sorted(itertools.chain.from_iterable(blocks))] if blocks else done


def _tied(codes: Codes, radices: Sequence[int], sizes: Mapping[int, int]) -> list[list[int]]:
    """Return the columns in blocks: two are in one if some chain of dependent pairs joins them."""
    block_of = {number: [number] for number in sizes}
    for first, second in itertools.combinations(sizes, 2):
        if block_of[first] is block_of[second] or sizes[first] == 1 or sizes[second] == 1:
            continue
        if _count(codes, radices, [first, second]) < sizes[first] * sizes[second]:
            merged = block_of[first] + block_of[second]
            for number in merged:
                block_of[number] = merged
    return list({id(block): block for block in block_of.values()}.values())


def _count(codes: Codes, radices: Sequence[int], columns: Sequence[int]) -> int:
    """Return how many distinct rows the columns have."""
    if not columns:
        return 1
    span = math.prod(radices[number] for number in columns)
    if span <= 1 << 22:
        seen = np.zeros(span, dtype=np.bool_)
        seen[_mixed(codes, radices, columns)] = True
        return int(np.count_nonzero(seen))
    if span <= 2**62:
        return len(np.unique(_mixed(codes, radices, columns)))
    return len(np.unique(codes[:, columns], axis=0))


def _mixed(codes: Codes, radices: Sequence[int], columns: Sequence[int]) -> npt.NDArray[np.int64]:
    keys = np.zeros(len(codes), dtype=np.int64)
    for number in columns:
        keys *= radices[number]
        keys += codes[:, number]
    return keys


def _distinct(rows: Codes, radices: Sequence[int]) -> Codes:
    """Return the distinct rows in lexicographic order."""
    if math.prod(radices) > 2**62:
        return np.unique(rows, axis=0)
    _, first = np.unique(_mixed(rows, radices, range(len(radices))), return_index=True)
    return rows[first]
