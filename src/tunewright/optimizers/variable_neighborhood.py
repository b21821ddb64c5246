"""Variable neighbourhood search (Mladenović and Hansen, Computers and Operations Research 24, 1997)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import Descent, evaluated, sampled
from tunewright.optimizers.toolkit.draw import shuffled, unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["variable_neighborhood"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "width": (5, 10, 20, 40),
    "shakes": (3, 5, 8),
    "samples": (1, 5, 10, 20),
}

_Neighborhood = Callable[[int], Iterator[int]]


def variable_neighborhood(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    width: int = 10,
    shakes: int = 3,
    samples: int = 20,
) -> Plan:
    """Descend in one neighbourhood after the other, then shake ever harder until a better optimum is found.

    The neighbourhoods of the descent: the next values up and down, any value of one parameter, two parameters
    at once, all parameters by a step or none. A better neighbour takes the descent back to the first of them;
    of all but the first, which is small, only some members are looked at. A shake makes k random moves, where
    k is one more after each failure; after the last k the search begins anew.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        width: new neighbours measured of each neighbourhood but the first.
        shakes: largest number of random moves of a shake.
        samples: configurations drawn for each beginning, which is the best of them.
    """
    moves = Moves(space, rng)
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)

    def drawn(draw: Callable[[int], int]) -> _Neighborhood:
        return lambda i: islice((j for j in (draw(i) for _ in range(2 * width)) if j not in known), width)

    neighborhoods: list[_Neighborhood] = [
        lambda i: shuffled(space.neighbors(i, "step"), rng),
        lambda i: islice((j for j in shuffled(space.neighbors(i), rng) if j not in known), width),
        drawn(lambda i: moves.several(i, 2)),
        drawn(moves.box),
    ]
    x = yield from sampled(samples, fresh, known, list(known))
    while x >= 0:
        x = yield from _descend(x, neighborhoods, known)
        k = 1
        while k <= shakes:
            y = moves.several(x, k)
            yield from evaluated(y, known)
            y = yield from _descend(y, neighborhoods, known)
            if known[y] < known[x]:
                x, k = y, 1
            else:
                k += 1
        x = yield from sampled(samples, fresh, known)


def _descend(x: int, neighborhoods: Sequence[_Neighborhood], known: dict[int, float]) -> Descent:
    """Move to the first better neighbour of the first neighbourhood that has one, until none has."""
    at = 0
    while at < len(neighborhoods):
        at += 1
        for y in neighborhoods[at - 1](x):
            if (yield from evaluated(y, known)) < known[x]:
                x, at = y, 0
                break
    return x
