"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import sampled
from tunewright.optimizers.toolkit.draw import below, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["annealing"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "patience": (25, 50, 100, 200),
    "temperature": (0.03, 0.1, 0.3, 1.0),
    "samples": (1, 5, 10, 20),
    "neighborhood": ("single", "step", "box"),
}


def annealing(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    patience: int = 100,
    temperature: float = 0.1,
    samples: int = 20,
    neighborhood: str = "step",
) -> Plan:
    """Random moves; a worse one is taken with a probability that falls with its size and over the budget.

    The temperature is counted in the running mean of the cost differences seen, so that the unit of the cost
    does not matter, and falls with the share of the budget that is left.

    Args:
        space: where to search.
        budget: its `spent` sets the temperature.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        patience: moves without a new best of the walk before it is given up for a new one.
        temperature: at the start, in units of the typical difference.
        samples: configurations drawn for each walk, which begins from the best of them.
        neighborhood: `SearchSpace.neighbors` kind.
    """
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    x = yield from sampled(samples, fresh, known, list(known))
    typical = 0.0
    while x >= 0:
        fx = least = known[x]
        idle = 0
        around = space.neighbors(x, neighborhood)
        while idle < patience and around:
            y = around[below(len(around), rng)]
            fy = known.get(y)
            if fy is None:
                [fy] = yield [y]
                known[y] = fy
            idle = 0 if fy < least else idle + 1
            least = min(fy, least)
            if fx < fy < inf:
                typical += 0.1 * (fy - fx - typical)
                if rng.random() >= exp(-(fy - fx) / (temperature * typical * (1 - budget.spent) + 1e-300)):
                    continue
            elif fy == inf > fx:
                continue
            x, fx = y, fy
            around = space.neighbors(x, neighborhood)
        x = yield from sampled(samples, fresh, known)
