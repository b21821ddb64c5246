"""HybridVNDX (arXiv 2510.17899) without its faults: elites are the best, nothing depends on the scale of the costs."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from math import exp, inf
from random import Random

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.draw import unseen
from tunewright.optimizers.toolkit.moves import Moves
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.optimizers.toolkit.vndx import Neighbourhoods, nearest_costs, pool
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["hybrid_vndx_repaired", "keep_elite"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "remembered": (100, 300, 1000),
    "temperature": (0.1, 0.3, 1.0),
    "cooling": (0.98, 0.99, 0.995),
    "patience": (25, 50, 100),
}

_ELITES = 5
_RERANKED = 20  # evaluations between two rankings of the history


def hybrid_vndx_repaired(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    remembered: int = 300,
    temperature: float = 0.3,
    cooling: float = 0.99,
    patience: int = 50,
) -> Plan:
    """As `hybrid_vndx`, but elites are the best and ranks stand for costs; what was evaluated is never proposed.

    The nearest neighbours' mean is one of normal scores of ranks, failures last; acceptance looks at cost differences
    relative to the typical one.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        remembered: evaluations that neighbours are looked for among: the latest.
        temperature: at the beginning and after each restart, in typical cost differences.
        cooling: factor of the temperature after each evaluation.
        patience: rejections in a row before a restart.
    """
    known: dict[int, float] = {}
    fresh = unseen(space.size, rng, known)
    moves = Moves(space, rng)
    elites: list[tuple[float, int]] = []
    latest: deque[int] = deque(maxlen=remembered)
    kinds = Neighbourhoods(rng)
    first = list(dict.fromkeys(start))
    known.update(zip(first, (yield first), strict=True))
    latest.extend(first)
    x = min(known, key=known.__getitem__, default=-1)
    heat, rejected, typical, seen = temperature, 0, 0.0, 0
    scores: dict[int, float] = {}
    while True:
        if x < 0:
            x = next(fresh, -1)
            if x < 0:
                return
            [known[x]] = yield [x]
            latest.append(x)
            heat, rejected = temperature, 0
        if not scores or len(known) % _RERANKED == 0:
            scores = dict(zip(known, normal_scores(list(known.values())), strict=True))
        worst = max(scores.values())
        ids = [i for i in pool(space, moves, x, kinds.choose(), [i for _, i in elites], rng) if i not in known]
        if not ids:
            y = moves.unseen(x, known)
            y = next(fresh, -1) if y < 0 else y
        else:
            history = list(latest)
            guesses = nearest_costs(space, ids, history, [scores.get(i, worst) for i in history])
            y = min(zip(guesses, ids, strict=True))[1]
        if y < 0:
            return
        [known[y]] = yield [y]
        latest.append(y)
        fx, fy = known[x], known[y]
        if fy < inf:
            keep_elite(elites, (fy, y))
        difference = abs(fy - fx)
        if 0 < difference < inf:
            seen += 1
            typical += (difference - typical) / min(seen, 20)
        kinds.learn(better=fy < fx)
        if fy <= fx or (fy < inf and typical > 0 and rng.random() < exp(-(fy - fx) / (heat * typical + 1e-300))):
            x, rejected = y, 0
        else:
            rejected += 1
        heat *= cooling
        if rejected >= patience:
            x = -1


def keep_elite(elites: list[tuple[float, int]], one: tuple[float, int]) -> None:
    """Keep the best: a heap of negated costs, whose least is the worst."""
    cost, i = one
    heapq.heappush(elites, (-cost, i))
    if len(elites) > _ELITES:
        heapq.heappop(elites)
