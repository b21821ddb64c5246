"""What random search is expected to reach, second by second: the zero of the exact score.

Random search without replacement evaluates the configurations in a random order, each taking its recorded time. With
equal times its expected best after k evaluations is known in closed form; with unequal ones it is estimated from random
orders, the closed form serving as a control variate, which leaves little to estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

__all__ = ["GOALS", "Baseline", "UnscorableError", "baseline", "expected_best"]

Vector = npt.NDArray[np.float64]

GOALS = (0.95, 0.99, 0.999, 0.9999)
"""Shares of the way from the median to the optimum at which the window may end; the first that is far enough."""

FEWEST_EVALUATIONS = 20
"""The window is at least this many median evaluations long, where a higher goal makes it so."""

_GRID = 1000
_BATCH = 1000  # orders at once
_ROUGHLY, _FEWEST_BATCHES, _MOST_BATCHES = 2, 10, 300
_ERROR = 0.001  # of the estimate, in units of median - optimum
_RELATIVE = 0.02  # of the same, in units of what is left to the optimum
_MARGIN = 1.05


class UnscorableError(Exception):
    """A space on which no optimizer can be told from another."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The window of a space and the expectation of random search in it.

    Attributes:
        optimum: least finite cost.
        median: of the finite costs; what is worse counts as this.
        goal: the share of the way from the median to the optimum that random search has gone at the window's end.
        start_s: seconds that an omniscient optimizer needs, the window's beginning.
        end_s: the window's end; a scored run has this budget.
        evaluations: that end in mean evaluations.
        times_s: points in time from `start_s` to `end_s`.
        values: the expected best so far of random search at these.
        error: largest standard error of `values`, in units of median - optimum.
    """

    optimum: float
    median: float
    goal: float
    start_s: float
    end_s: float
    evaluations: float
    times_s: Vector
    values: Vector
    error: float

    @property
    def weight(self) -> Vector:
        """The integral of 1 / (values - optimum) from `start_s` to each point in time."""
        inverse = 1 / (self.values - self.optimum)
        steps = np.diff(self.times_s) * (inverse[1:] + inverse[:-1]) / 2
        return np.concatenate([[0.0], np.cumsum(steps)])


def baseline(costs: Vector, seconds: Vector, seed: int = 0) -> Baseline:
    """The window and the baseline of a space (SCORE.md of the design; docs/score.md).

    Args:
        costs: of every configuration, inf where it failed.
        seconds: what evaluating each takes on the tuning clock.
        seed: of the random orders.

    Raises:
        UnscorableError: nothing works, everything is equally good, or nothing takes time.
    """
    finite = costs[np.isfinite(costs)]
    if not len(finite):
        raise UnscorableError("no configuration works")
    optimum, median = float(finite.min()), float(np.median(finite))
    if optimum == median:
        raise UnscorableError("half of the configurations are optimal")
    if not seconds.max() > 0:
        raise UnscorableError("no evaluation takes time")
    worths = np.minimum(costs, median)
    start = float(seconds[costs == optimum].min())
    orders = _Orders(worths, seconds, median, seed)
    for goal in GOALS:
        target = median - goal * (median - optimum)
        end = orders.first_time(target)
        if end > start and end >= FEWEST_EVALUATIONS * float(np.median(seconds)):
            break
    times = np.linspace(start, max(end, np.nextafter(start, inf)) * _MARGIN, _GRID + 1)
    values, errors = orders.expectation(times, optimum)
    values = np.minimum.accumulate(values)
    end = _crossing(times, values, target)
    if end <= start:
        raise UnscorableError("random search is at its goal before the optimum can be evaluated")
    inside = times < end
    return Baseline(
        optimum=optimum,
        median=median,
        goal=goal,
        start_s=start,
        end_s=end,
        evaluations=end / float(seconds.mean()),
        times_s=np.append(times[inside], end),
        values=np.append(values[inside], target),
        error=float((errors[times <= end * _MARGIN] / (median - optimum)).max()),
    )


def expected_best(worths: Vector, counts: npt.NDArray[np.int64]) -> Vector:
    """Expected least of k values drawn without replacement, for each k of `counts` (1 to len(worths)).

    The i-th smallest of n values is the least of k with probability C(n - i, k - 1) / C(n, k), i from 1.
    """
    ordered = np.sort(worths)
    n = len(ordered)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # logs[k] = log k!
    left = n - 1 - np.arange(n)  # how many are larger
    found = np.empty(len(counts))
    for at, k in enumerate(counts.tolist()):
        enough = left >= k - 1
        larger = left[enough]
        chance = logs[larger] - logs[k - 1] - logs[larger - k + 1] - (logs[n] - logs[k] - logs[n - k])
        found[at] = float(np.exp(chance) @ ordered[enough])
    return found


def _crossing(times: Vector, values: Vector, target: float) -> float:
    """The first time at which falling values reach the target, linear between points."""
    below = np.flatnonzero(values <= target)
    if not len(below):
        return float(times[-1])
    at = int(below[0])
    if at == 0:
        return float(times[0])
    high, low = float(values[at - 1]), float(values[at])
    share = (high - target) / (high - low) if high > low else 1.0
    return float(times[at - 1] + share * (times[at] - times[at - 1]))


class _Orders:
    """Random orders of a space, and what they say about the best so far."""

    def __init__(self, worths: Vector, seconds: Vector, median: float, seed: int) -> None:
        self._worths, self._seconds, self._median, self._seed = worths, seconds, median, seed
        self._mean_s = float(seconds.mean())

    def first_time(self, target: float) -> float:
        """About the first time at which the expected best reaches the target."""
        low, high = 1, len(self._worths)
        while low < high:  # in evaluations
            middle = (low + high) // 2
            if expected_best(self._worths, np.array([middle]))[0] <= target:
                high = middle
            else:
                low = middle + 1
        about = max(low * self._mean_s, float(self._seconds.min()))
        times = np.linspace(0, min(2 * about + 2 * float(self._seconds.max()), float(self._seconds.sum())), _GRID)
        values, _ = self._estimate(times, _ROUGHLY, None)
        return _crossing(times, np.minimum.accumulate(values), target)

    def expectation(self, times: Vector, optimum: float) -> tuple[Vector, Vector]:
        """The expected best so far at each time, and its standard error."""
        return self._estimate(times, _MOST_BATCHES, optimum)

    def _estimate(self, times: Vector, batches: int, optimum: float | None) -> tuple[Vector, Vector]:
        """Mean over batches of orders; with an optimum given, no more than are needed for a small error everywhere."""
        rng = np.random.default_rng(self._seed)
        counts = np.minimum(np.floor(times / self._mean_s + 1e-9).astype(np.int64), len(self._worths))
        known = np.full(len(times), self._median)
        known[counts > 0] = expected_best(self._worths, counts[counts > 0])
        order = np.tile(np.arange(len(self._worths), dtype=np.int32), (_BATCH, 1))
        total, squares, taken = np.zeros(len(times)), np.zeros(len(times)), np.zeros(len(times))
        open_until = len(times)  # later points are known well enough
        for batch in range(1, batches + 1):
            found = self._batch(rng, order, times[:open_until], counts[:open_until])
            total[:open_until] += found
            squares[:open_until] += found * found
            taken[:open_until] += 1
            if optimum is None or batch < _FEWEST_BATCHES:
                continue
            mean = total / taken
            errors = np.sqrt(np.maximum(squares / taken - mean * mean, 0.0) / (taken - 1))
            allowed = np.minimum(_ERROR * (self._median - optimum), _RELATIVE * np.maximum(known + mean - optimum, 0.0))
            unsure = np.flatnonzero(errors[:open_until] > allowed[:open_until])
            if not len(unsure):
                break
            open_until = int(unsure[-1]) + 1
        mean = total / taken
        return known + mean, np.sqrt(np.maximum(squares / taken - mean * mean, 0.0) / np.maximum(taken - 1, 1))

    def _batch(
        self, rng: np.random.Generator, order: npt.NDArray[np.int32], times: Vector, counts: npt.NDArray[np.int64]
    ) -> Vector:
        """Best so far at each time, less the best after the number of evaluations usual by then; mean over orders.

        The rows of `order` are arrangements of all configurations; they are shuffled further in place.
        """
        rows, n = np.arange(len(order)), order.shape[1]
        ends, best = np.zeros(len(order)), np.full(len(order), self._median)
        by_time, by_count = np.zeros(len(times) + 1), np.zeros(len(times) + 1)
        last, most = float(times[-1]), int(counts[-1])
        for k in range(n):
            other = rng.integers(k, n, len(order))  # Fisher and Yates
            drawn = order[rows, other]
            order[rows, other] = order[:, k]
            order[:, k] = drawn
            ends += self._seconds[drawn]
            gain = np.maximum(best - self._worths[drawn], 0.0)
            better = np.flatnonzero(gain)
            if len(better):
                best[better] -= gain[better]
                at = np.searchsorted(times, ends[better])  # the first point not before its end
                by_time += np.bincount(at, gain[better], len(times) + 1)
                by_count[np.searchsorted(counts, k + 1)] += gain[better].sum()
            if k + 1 >= most and ends.min() > last:
                break
        difference: Vector = np.cumsum(by_count - by_time)[:-1] / len(order)
        return difference
