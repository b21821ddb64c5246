"""Firefly algorithm (Yang, Stochastic Algorithms: Foundations and Applications, LNCS 5792, 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["firefly"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "fireflies": (10, 15, 20),
    "attraction": (0.5, 1.0),
    "absorption": (0.1, 0.3, 1.0, 3.0),
    "noise": (0.1, 0.2, 0.4),
}


def firefly(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    fireflies: int = 15,
    attraction: float = 1.0,
    absorption: float = 0.1,
    noise: float = 0.1,
) -> Plan:
    """Each firefly flies towards all that are brighter, most towards the nearest, and a little at random.

    Coordinates are value indices over the length of the list: a distance of 1 is a whole parameter.
    Only the order of the costs matters; the best one also stays where it is. A place that is not valid is given
    up on the way to it, one that is known for an unseen neighbour.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids that belong to the first population.
        fireflies: size of the population.
        attraction: share of the way that a firefly flies towards one close by (beta).
        absorption: how fast attraction falls with the squared distance (gamma).
        noise: largest random displacement, as a share of a parameter's list (alpha).
    """
    moves = Moves(space, rng)
    seen = set(start)
    fresh = unseen(space.size, rng, seen)
    ids = list(dict.fromkeys(start))
    while len(ids) < fireflies and (i := next(fresh, -1)) >= 0:
        ids.append(i)
    seen.update(ids)
    swarm = sorted(zip((yield list(ids)), ids, strict=True))
    spans = [moves.lengths[k] - 1 for k in moves.free]
    while True:
        places = [[space.code_row(i)[k] / span for k, span in zip(moves.free, spans, strict=True)] for _, i in swarm]
        proposed: list[int] = []
        for n, (_, own) in enumerate(swarm):
            place = list(places[n])
            for other in reversed(places[:n]):  # the brighter ones, the brightest last
                squared = sum([(a - b) ** 2 for a, b in zip(place, other, strict=True)])
                pull = attraction * exp(-absorption * squared)
                place = [a + pull * (b - a) for a, b in zip(place, other, strict=True)]
            goal = list(space.code_row(own))
            for k, span, x in zip(moves.free, spans, place, strict=True):
                goal[k] = min(max(round((x + noise * (2 * rng.random() - 1)) * span), 0), span)
            i = moves.toward(own, goal)
            if i in seen:
                i = moves.unseen(i, seen)
            if i < 0:
                i = next(fresh, -1)
            if i < 0:
                break
            seen.add(i)
            proposed.append(i)
        if not proposed:
            return
        moved = zip((yield list(proposed)), proposed, strict=True)
        swarm = sorted([*moved, swarm[0], *swarm[len(proposed) :]])[: len(swarm)]
