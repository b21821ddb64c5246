"""Bayesian ridge regression on interactions, searched by Thompson sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.features import InteractionFeatures
from tunewright.optimizers.toolkit.linear import BayesianRidge
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["ridge"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {"initial": (5, 10, 20), "local": (0.2, 0.4, 0.6)}

_WHOLE = 20_000
"""Spaces up to this size are scored whole, larger ones by a random sample each time."""

_SAMPLE = 2_000


def ridge(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    local: float = 0.4,
) -> Plan:
    """Fit a linear model to the ranks of the costs, draw one of its posterior, propose its minimum; repeat.

    Ranks become normal scores, so that no scale, shift or outlier of the costs matters; failures rank last.
    Part of the proposals is taken among the neighbours of the best configuration so far. Thompson sampling:
    Russo et al., A Tutorial on Thompson Sampling, 2018.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, each from a draw of its own.
        local: share of proposals among the neighbours of the incumbent.
    """
    pool = _Pool(space, rng)
    model = BayesianRidge(pool.features.columns)
    normals = np.random.default_rng(rng.getrandbits(64))
    ids = list(dict.fromkeys(start))
    ids += [i for i in space.spread(initial, rng) if i not in ids][: max(initial - len(ids), 0)]
    pool.remove(ids)
    costs = list((yield list(ids)))
    fitted = 0
    while True:
        if len(ids) >= fitted + max(1, fitted // 50):  # late in a run one more row changes little
            model.fit(pool.features.rows(ids), normal_scores(costs))
            fitted = len(ids)
        chosen: list[int] = []
        for _ in range(batch):
            weights = model.draw(normals.standard_normal((pool.features.columns,)))
            fx, x = min(zip(costs, ids, strict=True))
            i = pool.best_near(x, weights) if fx < inf and rng.random() < local else None
            if i is None:
                i = pool.best(weights)
            if i is None:
                break
            pool.remove([i])
            chosen.append(i)
        if not chosen:
            return
        costs += yield list(chosen)
        ids += chosen


class _Pool:
    """The configurations not proposed yet, and the least of them under a linear model."""

    def __init__(self, space: SearchSpace, rng: Random) -> None:
        self.features = InteractionFeatures(space)
        self._space = space
        self._rng = rng
        self._seen: set[int] = set()
        self._table: npt.NDArray[np.float64] | None = None
        if space.size <= _WHOLE:
            self._table = self.features.rows(range(space.size))
            self._gone = np.zeros(space.size, dtype=bool)

    def remove(self, ids: Sequence[int]) -> None:
        """These are proposed."""
        self._seen.update(ids)
        if self._table is not None:
            self._gone[list(ids)] = True

    def best_near(self, x: int, weights: npt.NDArray[np.float64]) -> int | None:
        """The least among the neighbours of x; None if all were proposed."""
        return self._least([i for i in self._space.neighbors(x) if i not in self._seen], weights)

    def best(self, weights: npt.NDArray[np.float64]) -> int | None:
        """The least of all, or of a random sample of a large space; None if all were proposed."""
        if self._table is not None:
            scores = self._table @ weights
            scores[self._gone] = inf
            i = int(np.argmin(scores))
            return None if self._gone[i] else i
        sample = {self._space.sample(self._rng) for _ in range(_SAMPLE)} - self._seen
        return self._least(sorted(sample), weights)

    def _least(self, ids: Sequence[int], weights: npt.NDArray[np.float64]) -> int | None:
        return ids[int(np.argmin(self.features.rows(ids) @ weights))] if ids else None
