"""Gaussian process with a discrete kernel; expected improvement times the probability of success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.candidates import Candidates
from tunewright.optimizers.toolkit.gaussian import GaussianProcess
from tunewright.optimizers.toolkit.ranks import normal_scores
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["gaussian_process"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "initial": (5, 10, 20),
    "remembered": (100, 200, 300),
    "offered": (500, 1000, 2000),
}

_LEARN_AT_MOST = 120  # configurations that scales are learned from
_OTHERS = 32  # evaluations for each further proposal of one model


def gaussian_process(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    remembered: int = 200,
    offered: int = 1000,
) -> Plan:
    """Fit a process to normal scores of the costs' ranks, propose where improvement is expected; learn from failures.

    Jones, Schonlau and Welch, J. Global Optimization 13, 1998; failures as in Gelbart et al., UAI 2014. The model keeps
    the best half of what it remembers and a random sample of the rest. Late in a run one model proposes several
    configurations, so that its cost for each stays small.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once, at least.
        remembered: evaluations that the model is conditioned on, at most.
        offered: configurations to choose from, beside the neighbours of the three best.
    """
    pool = Candidates(space, rng)
    process = GaussianProcess(space)
    ids = list(dict.fromkeys(start))
    ids += [i for i in space.spread(initial, rng) if i not in ids][: max(initial - len(ids), 0)]
    pool.remove(ids)
    costs = list((yield list(ids)))
    learned = 0
    while True:
        works = [k for k, cost in enumerate(costs) if cost < inf]
        works.sort(key=costs.__getitem__)
        places = _sample(range(len(works)), remembered, rng)
        kept = [works[k] for k in places]
        scores = normal_scores([costs[k] for k in works])[places]
        if len(kept) > 2 and len(ids) >= 1.3 * learned:
            few = _sample(range(len(kept)), _LEARN_AT_MOST, rng)
            process.learn_scales([ids[kept[k]] for k in few], scores[few])
            learned = len(ids)
        process.fit([ids[k] for k in kept], scores)
        left = pool.some(offered, [ids[k] for k in works[:3]])
        if not len(left):
            left = pool.all()
        if not len(left):
            return
        rows = process.kernel.embed(left.tolist())
        gain = _expected_improvement(*process.predict(rows), float(scores.min(initial=0.0)))
        if len(works) < len(ids):
            told = _sample(range(len(ids)), 2 * remembered, rng)
            known = process.kernel.embed([ids[k] for k in told])
            gain *= process.success(rows, known, np.array([costs[k] < inf for k in told]))
        chosen = _apart(rows, gain, max(batch, len(ids) // _OTHERS, 1))
        proposed = [int(left[k]) for k in chosen]
        pool.remove(proposed)
        costs += yield list(proposed)
        ids += proposed


def _sample(ordered: Sequence[int], most: int, rng: Random) -> list[int]:
    """All if there are few, else the first half and a random sample of the rest, in order."""
    if len(ordered) <= most:
        return list(ordered)
    half = most // 2
    return [ordered[k] for k in (*range(half), *sorted(rng.sample(range(half, len(ordered)), most - half)))]


def _expected_improvement(
    mean: npt.NDArray[np.float64], deviation: npt.NDArray[np.float64], best: float
) -> npt.NDArray[np.float64]:
    z = (best - mean) / deviation
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    gain: npt.NDArray[np.float64] = deviation * (z * _normal(z) + density)
    return np.maximum(gain, 1e-300)


def _normal(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The normal distribution function to 1e-7 (Abramowitz and Stegun 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(z))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * series
    below: npt.NDArray[np.float64] = np.where(z >= 0, 1 - tail, tail)
    return below


def _apart(rows: npt.NDArray[np.float64], gain: npt.NDArray[np.float64], count: int) -> list[int]:
    """The largest gains, each chosen one lessening the gains of those like it."""
    chosen: list[int] = []
    gain = gain.copy()
    while len(chosen) < min(count, len(gain)):
        k = int(np.argmax(gain))
        chosen.append(k)
        gain *= 1 - np.exp(-np.sqrt(((rows - rows[k]) ** 2).sum(axis=1)))
        gain[chosen] = -1.0
    return chosen
