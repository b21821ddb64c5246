"""Iterated local search (Lourenço, Martin and Stützle, Handbook of Metaheuristics, 2003, chapter 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tunewright.budget import Clock
from tunewright.errors import OptionError
from tunewright.optimizers.toolkit.descend import best_improvement, evaluated, first_improvement, sampled
from tunewright.optimizers.toolkit.draw import below, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["iterated_local_search"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "improvement": ("first", "best"),
    "strength": (1, 2, 3, 5, 8),
    "acceptance": ("better", "always"),
    "samples": (1, 5, 10, 20),
    "patience": (5, 10, 20, 50),
    "neighborhood": ("single", "step", "box"),
}

_DESCENTS = {"first": first_improvement, "best": best_improvement}


def iterated_local_search(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    improvement: str = "first",
    strength: int = 3,
    acceptance: str = "better",
    samples: int = 20,
    patience: int = 10,
    neighborhood: str = "step",
) -> Plan:
    """Descend to a local optimum, leave it by a few random valid moves, descend again.

    After some rounds without a new best of the walk, another walk begins at a new random configuration.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        improvement: "first", move to the first better neighbour; "best", to the best of all.
        strength: random moves that lead out of a local optimum.
        acceptance: "better", go on from the new optimum if it is no worse than the last; "always", in any case.
        samples: configurations drawn for each walk, which begins from the best of them.
        patience: rounds without a new best of the walk before another begins.
        neighborhood: `SearchSpace.neighbors` kind of descents and moves.

    Raises:
        OptionError: an unknown improvement or acceptance.
    """
    if improvement not in _DESCENTS:
        raise OptionError(f"unknown improvement {improvement!r}; choose one of {', '.join(_DESCENTS)}")
    if acceptance not in ("better", "always"):
        raise OptionError(f"unknown acceptance {acceptance!r}; choose 'better' or 'always'")
    descend = _DESCENTS[improvement]
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    place = yield from sampled(samples, fresh, known, list(known))
    while place >= 0:
        place = yield from descend(space, place, known, rng, neighborhood)
        least, idle = known[place], 0
        while idle < patience:
            x = _wander(space, place, strength, neighborhood, rng)
            yield from evaluated(x, known)
            x = yield from descend(space, x, known, rng, neighborhood)
            idle = 0 if known[x] < least else idle + 1
            least = min(least, known[x])
            if acceptance == "always" or known[x] <= known[place]:
                place = x
        place = yield from sampled(samples, fresh, known)


def _wander(space: SearchSpace, x: int, moves: int, kind: str, rng: Random) -> int:
    """Go some random moves away from x."""
    for _ in range(moves):
        around = space.neighbors(x, kind)
        x = around[below(len(around), rng)] if around else x
    return x
