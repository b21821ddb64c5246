"""Sweeps along one parameter after the other, in the order of what the history says they matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["line_search"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"initial": (5, 10, 20, 40)}


def line_search(
    space: SearchSpace, budget: Clock, rng: Random, *, start: Sequence[int] = (), initial: int = 10
) -> Plan:
    """From the best so far try every value of the parameter that matters most, go to the best, take the next parameter.

    What a parameter matters is the variance between the mean ranks of its values, over all evaluations; it is learned
    anew for each round. A round without progress ends at a local optimum along lines; the next begins elsewhere.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first round, `start` included.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    lengths = [len(values) for values in space.parameters.values()]
    first = list(dict.fromkeys(start))
    first += [i for i in space.spread(initial, rng) if i not in first][: max(initial - len(first), 0)]
    known.update(zip(first, (yield list(first)), strict=True))
    x = min(known, key=known.__getitem__, default=-1)
    while True:
        if x < 0:
            x = next(fresh, -1)
            if x < 0:
                return
            [known[x]] = yield [x]
        came_from = x
        for j in _by_importance(space, known, lengths, rng):
            line = _line(space, x, j, lengths[j])
            if new := [i for i in line if i not in known]:
                known.update(zip(new, (yield list(new)), strict=True))
            x = min((x, *line), key=known.__getitem__)
        if x == came_from:
            x = -1


def _line(space: SearchSpace, x: int, j: int, length: int) -> list[int]:
    """The valid configurations that differ from x in parameter j alone."""
    codes = list(space.code_row(x))
    own, found = codes[j], []
    for k in range(length):
        codes[j] = k
        i = None if k == own else space.find_codes(codes)
        if i is not None:
            found.append(i)
    return found


def _by_importance(space: SearchSpace, known: Mapping[int, float], lengths: Sequence[int], rng: Random) -> list[int]:
    """Parameters with a choice, the most important first; equals in random order."""
    free = [j for j, length in enumerate(lengths) if length > 1]
    rng.shuffle(free)
    scores = normal_scores(list(known.values()))
    codes = space.codes_of(list(known))
    between = {}
    for j in free:
        counts = np.bincount(codes[:, j], minlength=lengths[j])
        sums = np.bincount(codes[:, j], scores, lengths[j])
        between[j] = float((sums**2 / np.maximum(counts, 1)).sum())
    return sorted(free, key=lambda j: -round(between[j], 9))
