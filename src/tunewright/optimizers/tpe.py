"""Tree-structured Parzen estimator on discrete values (Bergstra et al., NeurIPS 2011)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.budget import Clock
from tunewright.optimizers.toolkit.history import History
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["tpe"]

HYPERPARAMETERS: Mapping[str, Sequence[object]] = {
    "initial": (5, 10, 20),
    "good": (0.1, 0.15, 0.25),
    "candidates": (8, 24, 64),
    "width": (0.3, 0.6, 1.0),
}


def tpe(
    space: SearchSpace,
    budget: Clock,
    rng: Random,
    *,
    start: Sequence[int] = (),
    initial: int = 10,
    batch: int = 1,
    good: float = 0.15,
    candidates: int = 24,
    width: float = 0.6,
) -> Plan:
    """Model where the good configurations are and where the others; draw from the first, propose the best ratio.

    Each parameter has its own density, so configurations are scored by the sum of logarithms. Numbers lend weight to
    their neighbours in the list, texts do not. Failures are among the others.

    Args:
        space: where to search.
        budget: not looked at.
        rng: random numbers.
        start: ids to try first.
        initial: space-filling evaluations before the first model, `start` included.
        batch: proposals at once.
        good: share of the evaluations that count as good.
        candidates: draws from the density of the good, for each proposal.
        width: how far a number's weight reaches in its list, as a standard deviation in places.
    """
    history = History(space, rng)
    kernels = [_kernel(values, width) for values in space.parameters.values()]
    noise = np.random.default_rng(rng.getrandbits(64))
    yield from history.begin(start, initial)
    while True:
        codes = space.codes_of(history.ids)
        order = history.ordered()
        count = max(2, ceil(good * sum(cost < inf for cost in history.costs)))
        better = _log_densities(codes[order[:count]], kernels)
        worse = _log_densities(codes[order[count:]], kernels)
        left = history.pool.all(near=[history.ids[k] for k in order[:3]])
        if not len(left):
            return
        place = space.codes_of(left.tolist()) if history.pool.left is None else space.codes[left]
        likely = np.sum([table[place[:, j]] for j, table in enumerate(better)], axis=0)
        ratio = likely - np.sum([table[place[:, j]] for j, table in enumerate(worse)], axis=0)
        chosen: list[int] = []
        for _ in range(min(batch, len(left))):
            drawn = likely + noise.gumbel(size=len(left))  # the largest of these are a sample of the density
            top = np.argpartition(-drawn, min(candidates, len(left)) - 1)[:candidates]
            best = int(top[np.argmax(ratio[top])])
            likely[best] = ratio[best] = -inf
            chosen.append(int(left[best]))
        yield from history.evaluate(chosen)


def _kernel(values: Sequence[object], width: float) -> npt.NDArray[np.float64]:
    """Weight that an observation of one value, by row, lends to each."""
    if any(isinstance(value, str | bool) for value in values):
        return np.eye(len(values))
    places = np.arange(len(values))
    weights = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2)
    normal: npt.NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normal


def _log_densities(
    codes: npt.NDArray[np.int32], kernels: Sequence[npt.NDArray[np.float64]]
) -> list[npt.NDArray[np.float64]]:
    """Log probability of each value of each parameter, one uniform observation added."""
    found = []
    for j, kernel in enumerate(kernels):
        counts = np.bincount(codes[:, j], minlength=len(kernel)) @ kernel
        found.append(np.log((counts + 1 / len(kernel)) / (len(codes) + 1)))
    return found
