"""Models that propose configurations from a history; optimizers use one of them, or several in turn."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.optimizers.toolkit.features import InteractionFeatures
from tunewright.optimizers.toolkit.gaussian import GaussianProcess
from tunewright.optimizers.toolkit.history import History
from tunewright.optimizers.toolkit.linear import BayesianRidge
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.space import SearchSpace

__all__ = ["ProcessProposer", "RidgeProposer"]

Table = npt.NDArray[np.float64]

_LEARN_AT_MOST = 120  # configurations that a process's scales are learned from


class RidgeProposer:
    """The least of a draw from the posterior of a linear model of ranks (Thompson sampling)."""

    def __init__(self, space: SearchSpace, rng: Random, local: float) -> None:
        """Args: space: where. rng: random numbers. local: share of proposals among the neighbours of the incumbent."""
        self._features = InteractionFeatures(space)
        self._model = BayesianRidge(self._features.columns)
        self._normals = np.random.default_rng(rng.getrandbits(64))
        self._rng, self._local = rng, local
        self._table: Table | None = None
        self._fitted = 0

    def propose(self, history: History, count: int) -> list[int]:
        """Up to so many ids, each from a draw of its own, taken out of the pool; fewer where the space ends."""
        if len(history.ids) >= self._fitted + max(1, self._fitted // 50):  # late in a run one row changes little
            self._model.fit(self._features.rows(history.ids), normal_scores(history.costs))
            self._fitted = len(history.ids)
        chosen: list[int] = []
        for _ in range(count):
            weights = self._model.draw(self._normals.standard_normal((self._features.columns,)))
            best, x = min(zip(history.costs, history.ids, strict=True), default=(inf, -1))
            i = None
            if best < inf and self._rng.random() < self._local:
                i = self._least([j for j in history.space.neighbors(x) if j not in history.pool.seen], weights)
            if i is None:
                i = self._least_of_all(history, weights)
            if i is None:
                break
            history.pool.remove([i])
            chosen.append(i)
        return chosen

    def _least(self, ids: Sequence[int], weights: Table) -> int | None:
        return int(ids[int(np.argmin(self._features.rows(ids) @ weights))]) if len(ids) else None

    def _least_of_all(self, history: History, weights: Table) -> int | None:
        """The least of what is left; of a large space the least of a sample."""
        left = history.pool.left
        if left is None:
            return self._least(history.pool.all().tolist(), weights)
        if self._table is None:
            self._table = self._features.rows(range(history.space.size))
        scores = self._table @ weights
        scores[~left] = inf
        i = int(np.argmin(scores))
        return i if left[i] else None


class ProcessProposer:
    """The largest expected improvement of a Gaussian process of ranks, times the probability of success.

    The process is conditioned on the best half of what it remembers and a random sample of the rest.
    """

    def __init__(self, space: SearchSpace, rng: Random, remembered: int, offered: int) -> None:
        """Args as for `gaussian_process`."""
        self._process = GaussianProcess(space)
        self._rng, self._remembered, self._offered = rng, remembered, offered
        self._learned = 0

    def propose(self, history: History, count: int) -> list[int]:
        """Up to so many ids, unlike each other, taken out of the pool; fewer where the space ends."""
        ids, process = history.ids, self._process
        works = history.working()
        places = self._sample(len(works), self._remembered)
        kept = [ids[works[k]] for k in places]
        scores = normal_scores([history.costs[k] for k in works])[places]
        if len(kept) > 2 and len(ids) >= 1.3 * self._learned:
            few = self._sample(len(kept), _LEARN_AT_MOST)
            process.learn_scales([kept[k] for k in few], scores[few])
            self._learned = len(ids)
        process.fit(kept, scores)
        offered = history.pool.some(self._offered, [ids[k] for k in works[:3]])
        if not len(offered):
            offered = history.pool.all()
        if not len(offered):
            return []
        rows = process.kernel.embed(offered.tolist())
        gain = _expected_improvement(*process.predict(rows), float(scores.min(initial=0.0)))
        if len(works) < len(ids):
            told = self._sample(len(ids), 2 * self._remembered)
            known = process.kernel.embed([ids[k] for k in told])
            gain *= process.success(rows, known, np.array([history.costs[k] < inf for k in told]))
        chosen = [int(offered[k]) for k in _apart(rows, gain, count)]
        history.pool.remove(chosen)
        return chosen

    def _sample(self, count: int, most: int) -> list[int]:
        """All places if there are few, else the first half of `most` and a random sample of the rest."""
        if count <= most:
            return list(range(count))
        half = most // 2
        return [*range(half), *sorted(self._rng.sample(range(half, count), most - half))]


def _expected_improvement(mean: Table, deviation: Table, best: float) -> Table:
    z = (best - mean) / deviation
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    gain: Table = np.maximum(deviation * (z * _normal(z) + density), 1e-300)
    return gain


def _normal(z: Table) -> Table:
    """The normal distribution function to 1e-7 (Abramowitz and Stegun 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(z))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * series
    below: Table = np.where(z >= 0, 1 - tail, tail)
    return below


def _apart(rows: Table, gain: Table, count: int) -> list[int]:
    """The largest gains, each chosen one lessening the gains of those like it."""
    chosen: list[int] = []
    gain = gain.copy()
    while len(chosen) < min(count, len(gain)):
        k = int(np.argmax(gain))
        chosen.append(k)
        gain *= 1 - np.exp(-np.sqrt(((rows - rows[k]) ** 2).sum(axis=1)))
        gain[chosen] = -1.0
    return chosen
