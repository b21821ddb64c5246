"""Space-filling designs: each configuration picked is the candidate farthest from those picked before."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tunewright.space.view import unit_tables

if TYPE_CHECKING:
    import random

    from tunewright.space.searchspace import SearchSpace

__all__ = ["spread"]

CANDIDATES_EACH = 20
MIN_CANDIDATES = 1_000
MAX_CANDIDATES = 20_000


def spread(space: SearchSpace, n: int, rng: random.Random) -> list[int]:
    """Return n distinct ids: greedy maximin over random candidates, the first one at random.

    Beyond what that can afford, one random id from each of n equal stretches of the numbering.
    """
    if n == 0:
        return []
    if n >= space.size:
        return list(range(space.size))
    if n > MAX_CANDIDATES // 2:
        bounds = [number * space.size // n for number in range(n + 1)]
        return [rng.randrange(low, high) for low, high in itertools.pairwise(bounds)]
    candidates = _candidates(space, max(MIN_CANDIDATES, min(n * CANDIDATES_EACH, MAX_CANDIDATES)), rng)
    codes = space.codes_of(candidates)
    tables = unit_tables(space.parameters)
    points = np.concatenate([table[codes[:, number]] for number, table in enumerate(tables)], axis=1)
    chosen: list[int] = []
    gap = np.full(len(candidates), np.inf)
    pick = 0
    for _ in range(n):
        chosen.append(pick)
        gap = np.minimum(gap, ((points - points[pick]) ** 2).sum(axis=1))
        gap[pick] = -1.0
        pick = int(gap.argmax())
    return [candidates[number] for number in chosen]


def _candidates(space: SearchSpace, count: int, rng: random.Random) -> list[int]:
    """Return distinct random ids, in random order."""
    if count * 2 >= space.size:
        ids = list(range(space.size))
        rng.shuffle(ids)
        return ids[:count]
    found: dict[int, None] = {}
    while len(found) < count:
        found[space.sample(rng)] = None
    return list(found)
