"""Likelihood-free search with a forest of good against bad (Song et al., ICML 2022), in diverse batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.history import History
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.optimizers.toolkit.trees import RandomTrees
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["random_forest"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "initial": (10, 20, 40),
    "good": (0.1, 0.2, 0.33),
    "refit": (0.02, 0.05, 0.1),
    "local": (0.2, 0.5, 0.8),
}

_OFFERED = 2000  # candidates scored for each model


def random_forest(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 20,
    batch: int = 1,
    good: float = 0.2,
    refit: float = 0.05,
    local: float = 0.5,
) -> Plan:
    """Learn to tell the best evaluations from the others and failures; propose what is most surely among the best.

    Good rows weigh the more the better they are. Of each model's batch a part is taken near the best so far; each
    further member differs from those before it in at least two values, where there are such.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, at least.
        good: share of the evaluations that count as good.
        refit: a new model after this share of the evaluations so far is new.
        local: share of the proposals taken among the neighbours of the five best.
    """
    history = History(space, rng)
    describe = _Features(space)
    numbers = np.random.default_rng(rng.getrandbits(64))
    forest = RandomTrees(trees=30)
    yield from history.begin(start, initial)
    while True:
        ids, order = history.ids, history.ordered()
        works = sum(cost < inf for cost in history.costs)
        count = min(max(2, int(good * works)), works)
        is_good = np.zeros(len(ids), dtype=bool)
        is_good[order[:count]] = True
        scores = normal_scores(history.costs)
        weights = np.where(is_good, np.maximum(scores[order[count - 1]] - scores, 0.0) + 0.5, 1.0)
        weights[is_good] *= max(len(ids) - count, 1) / weights[is_good].sum() if count else 1.0
        forest.fit(describe(ids), is_good, weights, numbers)
        wanted = max(batch, int(refit * len(ids)), 1)
        best = [ids[k] for k in order[:5]]
        around = sorted({j for i in best for j in space.neighbors(i)} - history.pool.seen)
        near = round(wanted * local) if wanted > 1 else int(rng.random() < local)
        chosen = _diverse(space, forest, describe, np.array(around, dtype=object), near, numbers)
        history.pool.remove(chosen)
        far = history.pool.some(_OFFERED, best)
        chosen += _diverse(space, forest, describe, far, wanted - len(chosen), numbers)
        if not chosen:
            return
        yield from history.evaluate(chosen)


class _Features:
    """Codes of configurations as numbers: places in the list, and a column for each text."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._texts = [
            (j, len(values))
            for j, values in enumerate(space.parameters.values())
            if any(isinstance(value, str) for value in values)
        ]

    def __call__(self, ids: Sequence[int]) -> npt.NDArray[np.float64]:
        codes = self._space.codes_of(ids).astype(np.float64)
        columns = [codes[:, j] == k for j, count in self._texts for k in range(count)]
        return np.column_stack([codes, *columns]) if columns else codes


def _diverse(
    space: SearchSpace,
    forest: RandomTrees,
    describe: _Features,
    ids: npt.NDArray[np.generic],
    count: int,
    numbers: np.random.Generator,
) -> list[int]:
    """The likeliest of some ids to be good, no two alike in all values but one as long as there are others."""
    if count < 1 or not len(ids):
        return []
    offered = [int(i) for i in ids]
    codes = space.codes_of(offered)
    chance = forest.predict(describe(offered)) + 1e-6 * numbers.random(len(offered))
    chosen: list[int] = []
    while len(chosen) < min(count, len(offered)):
        k = int(np.argmax(chance))
        chosen.append(offered[k])
        chance[(codes != codes[k]).sum(axis=1) < 2] -= 1.0
        chance[k] = -inf
    return chosen
