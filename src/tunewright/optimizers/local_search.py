"""Local search with random restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import shuffled, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["local_search"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"neighborhood": ("single", "step", "box")}


def local_search(
    space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = (), neighborhood: str = "single"
) -> Plan:
    """Move to the first better neighbour, tried in random order; at a local optimum begin anew elsewhere.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; the search begins from the best of them.
        neighborhood: `SearchSpace.neighbors` kind.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    known.update(zip(start, (yield list(start)), strict=True))
    x = min(start, key=lambda i: known[i], default=-1)
    while True:
        if x < 0:
            x = next(fresh, -1)
            if x < 0:
                return
            [known[x]] = yield [x]
        fx = known[x]
        for y in shuffled(space.neighbors(x, neighborhood), rng):
            fy = known.get(y)
            if fy is None:
                [fy] = yield [y]
                known[y] = fy
            if fy < fx:
                x = y
                break
        else:
            x = -1
