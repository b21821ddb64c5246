"""Random search: the yardstick of every other optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import permutation
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["random"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {}


def random(space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = (), batch: int = 1) -> Plan:
    """Every configuration equally likely, none twice, until the space is exhausted.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        batch: ids proposed at once.
    """
    yield list(start)
    if batch == 1:
        for i in permutation(space.size, rng):
            yield [i]
    else:
        fresh = permutation(space.size, rng)
        while ids := list(islice(fresh, batch)):
            yield ids
