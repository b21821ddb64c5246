"""Local search with random restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import first_improvement, sampled
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["local_search"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"samples": (1, 5, 10, 20), "neighborhood": ("single", "step", "box")}


def local_search(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    samples: int = 20,
    neighborhood: str = "step",
) -> Plan:
    """Move to the first better neighbour, tried in random order; at a local optimum begin anew elsewhere.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        samples: configurations drawn for each start, of which the best is descended from.
        neighborhood: `SearchSpace.neighbors` kind.
    """
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    x = yield from sampled(samples, fresh, known, list(known))
    while x >= 0:
        yield from first_improvement(space, x, known, rng, neighborhood)
        x = yield from sampled(samples, fresh, known)
