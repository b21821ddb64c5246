"""The published HybridVNDX, its fault included: its list of elites keeps the worst (arXiv 2510.17899)."""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from math import exp, inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.optimizers.toolkit.vndx import Neighbourhoods, nearest_costs, pool
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["hybrid_vndx", "keep_elite"]

EXEMPT = frozenset({"scale", "shift", "negative"})
HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "remembered": (100, 300, 1000),
    "temperature": (0.1, 1.0, 10.0),
    "cooling": (0.99, 0.995, 0.999),
    "patience": (50, 100, 200),
}

_ELITES = 5
_FAILED = sys.float_info.max  # what Kernel Tuner calls a failure


def hybrid_vndx(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    remembered: int = 300,
    temperature: float = 1.0,
    cooling: float = 0.995,
    patience: int = 100,
) -> Plan:
    """Variable neighbourhood descent over a pool ranked by nearest neighbours, with tabu list and annealing.

    Written anew from the paper's description. Temperatures and the penalty of 1,000 for what is tabu are absolute, so
    proposals depend on the scale of the costs. For a version without these faults see `hybrid_vndx_repaired`.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        remembered: length of the tabu list.
        temperature: at the beginning and after each restart, in units of the cost.
        cooling: factor of the temperature after each evaluation.
        patience: rejections in a row before a restart.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    elites: list[tuple[float, int]] = []
    tabu: deque[int] = deque(maxlen=remembered)
    kinds, moves = Neighbourhoods(rng), Moves(space, rng)
    known.update(zip(start, (yield list(start)), strict=True))
    x = min(known, key=known.__getitem__, default=-1)
    heat, rejected = temperature, 0
    while True:
        if x < 0:
            x = next(fresh, -1)
            if x < 0:
                return
            [known[x]] = yield [x]
            heat, rejected = temperature, 0
        ids = pool(space, moves, x, kinds.choose(), [i for _, i in elites], rng)
        costs = [_FAILED if cost == inf else cost for cost in known.values()]
        guesses = nearest_costs(space, ids, list(known), costs)
        ranked = [guess * 1.1 + 1000 if i in tabu else guess for i, guess in zip(ids, guesses, strict=True)]
        y = min(zip(ranked, ids, strict=True))[1]
        if y in known:  # the original pays nothing for this either, and may go on for ever
            y = next(fresh, -1)
            if y < 0:
                return
        [known[y]] = yield [y]
        fx, fy = known[x], known[y]
        tabu.append(y)
        keep_elite(elites, (_FAILED if fy == inf else fy, y))
        kinds.learn(better=fy < fx)
        if fy < fx or (fy < inf and rng.random() < exp(-(fy - fx) / max(heat, 1e-300))):
            x, rejected = y, 0
        else:
            rejected += 1
        heat *= cooling
        if rejected >= patience:
            x = -1


def keep_elite(elites: list[tuple[float, int]], one: tuple[float, int]) -> None:
    """As published: a heap whose least, the best, is dropped when it is full, so that the worst remain."""
    heapq.heappush(elites, one)
    if len(elites) > _ELITES:
        heapq.heappop(elites)
