"""Basin hopping (Wales and Doye, J. Physical Chemistry A 101, 1997)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import evaluated, first_improvement, sampled
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["basin_hopping"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "stride": (0.1, 0.25, 0.5),
    "temperature": (0.1, 0.3, 1.0),
    "interval": (5, 10, 20),
    "samples": (1, 5, 10, 20),
    "neighborhood": ("single", "step", "box"),
}

_GROWTH = 0.8
_LEAST, _MOST = 0.02, 1.0
_STUCK = 20
"""Hops in a row that found nothing new before the walk begins elsewhere."""


def basin_hopping(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    stride: float = 0.25,
    temperature: float = 0.3,
    interval: int = 5,
    samples: int = 20,
    neighborhood: str = "step",
) -> Plan:
    """A Metropolis walk over local optima: displace all value indices at random, descend, accept or go back.

    The displacement of a parameter is uniform within a stride, a share of its list. As in the original the
    stride adapts so that about half of the hops are accepted: it grows while more are, shrinks while fewer are.
    The temperature is counted in the typical difference between one optimum and the next.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        stride: largest displacement at first, as a share of a parameter's list.
        temperature: of the Metropolis test, in units of the typical difference.
        interval: hops between adaptations of the stride.
        samples: configurations drawn for each walk, which begins from the best of them.
        neighborhood: `SearchSpace.neighbors` kind of the descents.
    """
    moves = Moves(space, rng)
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    x = yield from sampled(samples, fresh, known, list(known))
    typical = 0.0
    while x >= 0:
        x = yield from first_improvement(space, x, known, rng, neighborhood)
        reach, hops, accepted, stuck = stride, 0, 0, 0
        while stuck < _STUCK:
            before = len(known)
            y = moves.displaced(x, reach)
            yield from evaluated(y, known)
            y = yield from first_improvement(space, y, known, rng, neighborhood)
            stuck = 0 if len(known) > before else stuck + 1
            rise = known[y] - known[x] if known[y] < inf else inf
            if 0 < rise < inf:
                typical += 0.1 * (rise - typical)
            hops += 1
            if rise <= 0 or known[x] == inf or rng.random() < exp(-rise / (temperature * typical + 1e-300)):
                x = y
                accepted += 1
            if hops == interval:
                reach = min(max(reach / _GROWTH if 2 * accepted > hops else reach * _GROWTH, _LEAST), _MOST)
                hops, accepted = 0, 0
        x = yield from sampled(samples, fresh, known)
