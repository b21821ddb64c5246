"""Tabu search with a short-term memory of changes (Glover, ORSA J. on Computing 1, 1989)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, islice
from math import inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.descend import sampled
from tunewright.optimizers.toolkit.draw import shuffled, unseen
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["tabu"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "tenure": (3, 6, 12, 24),
    "candidates": (4, 8, 16, 32),
    "patience": (10, 20, 40, 80),
    "samples": (1, 5, 10, 20),
    "neighborhood": ("single", "step", "box"),
}


def tabu(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    tenure: int = 3,
    candidates: int = 8,
    patience: int = 10,
    samples: int = 20,
    neighborhood: str = "step",
) -> Plan:
    """Always move to the best neighbour, better or not, but not back to parameter values just given up.

    Each move looks at the neighbours that are known and at a few new ones. A value that a move gave up is tabu
    for its parameter for some moves; a neighbour with a tabu value is entered only if it is better than
    anything of the walk (aspiration). Where nothing may be entered, or nothing new is found, the walk begins
    anew.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first; they count among the first samples.
        tenure: moves for which a value stays tabu.
        candidates: new neighbours measured for each move.
        patience: moves without a new best of the walk before another begins.
        samples: configurations drawn for each walk, which begins from the best of them.
        neighborhood: `SearchSpace.neighbors` kind.
    """
    known = dict(zip(start, (yield list(start)), strict=True))
    fresh = unseen(space.size, rng, known)
    x = yield from sampled(samples, fresh, known, list(known))
    while x >= 0:
        least, idle = known[x], 0
        until: dict[tuple[int, int], int] = {}
        for move in count():
            around = space.neighbors(x, neighborhood)
            new = list(islice((y for y in shuffled(around, rng) if y not in known), candidates))
            if new:
                known.update(zip(new, (yield list(new)), strict=True))
            codes = space.code_row(x)
            best, y = inf, -1
            for z in shuffled(around, rng):
                cost = known.get(z)
                if cost is None or (y >= 0 and cost >= best):
                    continue
                if cost < least or not _is_tabu(codes, space.code_row(z), until, move):
                    best, y = cost, z
            if y < 0 or idle >= patience:
                break
            for change in _changes(codes, space.code_row(y)):
                until[change] = move + tenure
            idle = 0 if best < least else idle + 1
            least = min(least, best)
            x = y
        x = yield from sampled(samples, fresh, known)


def _changes(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """The values that a move gives up: parameter and value index."""
    return [(k, code) for k, code in enumerate(old) if new[k] != code]


def _is_tabu(codes: Sequence[int], there: Sequence[int], until: Mapping[tuple[int, int], int], move: int) -> bool:
    """Whether the way there takes on a value that was given up not long ago."""
    return any(until.get(change, -1) >= move for change in _changes(there, codes))
