"""The published score of auto-tuning optimizers, made repeatable.

Willemsen et al., Future Generation Computer Systems 2024, 10.1016/j.future.2024.05.021.

Computed as version 1.1.0 of its reference implementation does, faults included: docs/score.md lists them. The one
difference: where the reference averages a few isotonic fits of unseeded random samples, so that two calls give two
figures, this takes the mean of as many such averages from a fixed seed as it needs to be near their expectation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

__all__ = [
    "CUTOFFS",
    "Points",
    "PublishedBaseline",
    "PublishedCurve",
    "published_baseline",
    "published_curve",
    "published_error",
]

Vector = npt.NDArray[np.float64]

CUTOFFS = (0.01, 0.95)
"""Shares of the way from the median to the optimum at which the time axis begins and ends."""

_POINTS = 1000
_BUDGET_MARGIN = 0.1
_FITS = 400  # isotonic fits behind a curve, at least
_RESAMPLES, _FEW_FITS = 40, 10


@dataclass(frozen=True, slots=True)
class PublishedBaseline:
    """What the published score needs to know of a space; costs are minimised, times in seconds.

    Attributes:
        optimum, median: of the costs of valid configurations.
        cutoff: the cost at the end of the axis.
        evaluations: evaluations at which the axis begins and ends.
        budget_s: tuning seconds that an optimizer gets.
        median_s, mean_s: seconds of one evaluation.
        per_evaluation_s: the reference's mean for each evaluation: that of valid ones, plus the share of invalid ones
            times theirs.
        times_s: the time axis.
        raw: the baseline of random search at each time, before smoothing.
        values: the baseline.
        ascending: costs of the valid configurations, ascending.
    """

    optimum: float
    median: float
    cutoff: float
    evaluations: tuple[float, float]
    budget_s: float
    median_s: float
    mean_s: float
    per_evaluation_s: float
    times_s: Vector
    raw: Vector
    values: Vector
    ascending: Vector

    def over_evaluations(self) -> Vector:
        """The baseline at each number of evaluations from the beginning of the axis to its end."""
        return _smoothed(
            self.ascending[::-1], np.arange(self.evaluations[0], self.evaluations[1] + 1).astype(np.int64)
        )[1]


def published_baseline(costs: Vector, seconds: Vector) -> PublishedBaseline:
    """Axis and baseline.

    Args:
        costs: of every configuration, inf where it failed.
        seconds: what each took: compilation, validation, all runs, framework, search.

    Raises:
        ValueError: the optimum is the first value of the axis, so that there is none.
    """
    valid = np.isfinite(costs)
    ascending = np.sort(costs[valid])
    worst_first = ascending[::-1]
    optimum, median = float(ascending[0]), float(np.median(ascending))
    median_s = float(np.median(seconds))
    starts = [_evaluations_to(worst_first, optimum, median, cutoff) for cutoff in CUTOFFS]
    first, last = float(starts[0]), float(starts[1])
    if last - first < 2:  # the reference bounds the end by the optimum's value where it means its number of evaluations
        if first == 0:
            last = min(optimum, last + 2)
        else:
            last = min(optimum, last + 1)
            first -= 1
    if last <= first:
        raise ValueError("the axis has no length: the goal is reached at once")
    mean_s = float(seconds.mean())
    per_evaluation = mean_s
    if not valid.all():
        per_evaluation = float(seconds[valid].mean() + (~valid).mean() * seconds[~valid].mean())
    times = np.linspace(first * median_s, last * median_s, _POINTS)
    raw, values = _smoothed(worst_first, np.round(np.maximum(times / per_evaluation, 1)).astype(np.int64))
    return PublishedBaseline(
        optimum=optimum,
        median=median,
        cutoff=optimum + (median - optimum) * (1 - CUTOFFS[1]),
        evaluations=(first, last),
        budget_s=(1 + _BUDGET_MARGIN) * last * median_s,
        median_s=median_s,
        mean_s=mean_s,
        per_evaluation_s=per_evaluation,
        times_s=times,
        raw=raw,
        values=values,
        ascending=ascending,
    )


@dataclass(frozen=True, slots=True)
class Points:
    """One run as the published score sees it: after each evaluation the time, and the best so far if it was valid.

    Attributes:
        times_s: when each evaluation ended.
        best: the best cost so far; NaN where the evaluation failed.
    """

    times_s: Vector
    best: Vector


@dataclass(frozen=True, slots=True)
class PublishedCurve:
    """What the published score computes from all runs of an optimizer on a space.

    Attributes:
        values: the optimizer's curve on the time axis.
        standardised: (values - baseline) / (optimum - baseline).
        score: its mean.
        stopping_index: from here on the curve is frozen, since half of the runs have ended.
        short: runs with fewer than two valid evaluations on the axis; the reference refuses these and runs again.
    """

    values: Vector
    standardised: Vector
    score: float
    stopping_index: int
    short: int


def published_curve(
    base: PublishedBaseline,
    runs: Sequence[Points],
    seed: int = 0,
    *,
    averages: int | None = None,
    bags: int | None = None,
) -> PublishedCurve:
    """The curve of an optimizer and its score.

    Args:
        base: of the space.
        runs: at least one with a valid evaluation on the axis.
        seed: of the samples that isotonic fits are made of.
        averages: how many curves are averaged, each the mean of `bags` fits; None: enough.
        bags: fits for each; None: as many as the reference takes, one for each run.

    Raises:
        ValueError: no run has a valid evaluation on the axis.
    """
    times, best, stopping_s, short = _pooled(base, runs)
    ranks = np.searchsorted(base.ascending, best).astype(np.float64)
    rng = np.random.default_rng(seed)
    size = max(int(len(times) / np.sqrt(max(len(runs), 3))), 1)
    bags = bags or max(len(runs), 3)
    averages = averages or max(ceil(_FITS / bags), 4)
    total = np.zeros(len(base.times_s))
    for _ in range(averages):
        mean = np.zeros(len(base.times_s))
        for _ in range(bags):
            drawn = rng.integers(0, len(times), size)
            mean += _falling_fit(times[drawn], ranks[drawn], base.times_s) / bags
        total += base.ascending[np.clip(np.round(mean).astype(np.int64), 0, len(base.ascending) - 1)]
    values = total / averages
    stopping = len(values)
    if stopping_s < base.times_s[-1]:
        stopping = int(np.searchsorted(base.times_s, stopping_s, side="right"))
        values[stopping:] = values[stopping]
    standardised = (values - base.values) / (base.optimum - base.values)
    return PublishedCurve(values, standardised, float(standardised.mean()), stopping, short)


def published_error(base: PublishedBaseline, runs: Sequence[Points], seed: int = 0) -> float:
    """The standard error of the score over seeds of the optimizer, from resampled runs; the reference gives none."""
    rng = np.random.default_rng(seed)
    scores = []
    for resample in range(_RESAMPLES):
        drawn = [runs[i] for i in rng.integers(0, len(runs), len(runs))]
        scores.append(published_curve(base, drawn, resample, averages=1, bags=_FEW_FITS).score)
    return float(np.std(scores, ddof=1))


def _evaluations_to(worst_first: Vector, optimum: float, median: float, cutoff: float) -> int:
    """Evaluations until random search is expected at a cutoff, by the inverse of the expected rank."""
    target = optimum + (median - optimum) * (1 - cutoff)
    rank = int(np.argmax(worst_first <= target))
    if worst_first[rank] == optimum:
        if rank == 0:
            raise ValueError("the optimum is reached at once")
        rank -= 1
    return ceil(rank / (len(worst_first) + 1 - rank))


def _smoothed(worst_first: Vector, counts: npt.NDArray[np.int64]) -> tuple[Vector, Vector]:
    """The cost at the expected rank of the best of so many draws, as it is and smoothed."""
    n = len(worst_first)
    expected = np.array([min(n - 1, round(count * (n + 1) / (count + 1))) for count in counts.tolist()])
    raw = worst_first[expected]
    first = np.concatenate([[True], np.diff(counts) > 0])
    x, y = counts[first].astype(np.float64), raw[first]
    if len(x) < 2 or len(counts) <= 2:
        return raw, raw
    return raw, _pchip(x, y, np.linspace(counts[0], counts[-1], len(counts)))


def _pooled(base: PublishedBaseline, runs: Sequence[Points]) -> tuple[Vector, Vector, float, int]:
    """Times and best values of all runs near the axis, the time from which on they say too little, and short runs."""
    ends = np.sort([run.times_s[~np.isnan(run.best)].max(initial=-np.inf) for run in runs])
    later = ends[ends > np.median(ends)]
    stopping_s = float(later[0]) if len(later) else float(base.times_s[-1])
    longest = max(len(run.best) for run in runs)
    rows = np.zeros(longest, dtype=bool)  # evaluations that were valid in any run
    for run in runs:
        rows[: len(run.best)] |= ~np.isnan(run.best)
    margin = 0.1 + 0.25 / max(int(rows.sum()), 1)
    low, high = base.times_s[0] * (1 - margin), base.times_s[-1] * (1 + margin)
    times, best, short = [], [], 0
    for run in runs:
        near = ~np.isnan(run.best) & (low <= run.times_s) & (run.times_s <= high)
        short += int(near.sum() < 2)
        times.append(run.times_s[near])
        best.append(run.best[near])
    pooled = np.concatenate(times), np.concatenate(best)
    if not len(pooled[0]):
        raise ValueError("no run has a valid evaluation on the axis")
    return *pooled, stopping_s, short


def _falling_fit(x: Vector, y: Vector, where: Vector) -> Vector:
    """Non-increasing least-squares fit, linear between points, level outside: pools of adjacent violators."""
    at, place, weights = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(place, y) / weights
    heights: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for height, mass in zip(means.tolist(), weights.tolist(), strict=True):
        length = 1
        while heights and heights[-1] <= height:
            earlier, more = heights.pop(), masses.pop()
            height = (height * mass + earlier * more) / (mass + more)
            mass += more
            length += lengths.pop()
        heights.append(height)
        masses.append(mass)
        lengths.append(length)
    fitted: Vector = np.interp(where, at, np.repeat(heights, lengths))
    return fitted


def _pchip(x: Vector, y: Vector, where: Vector) -> Vector:
    """Monotone piecewise cubic interpolation (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984)."""
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    if len(x) == 2:
        line: Vector = y[0] + slope[0] * (where - x[0])
        return line
    d = np.zeros(len(x))
    left, right = slope[:-1], slope[1:]
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    same = left * right > 0
    d[1:-1][same] = (w1 + w2)[same] / (w1[same] / left[same] + w2[same] / right[same])
    d[0] = _end_slope(h[0], h[1], slope[0], slope[1])
    d[-1] = _end_slope(h[-1], h[-2], slope[-1], slope[-2])
    k = np.clip(np.searchsorted(x, where, side="right") - 1, 0, len(h) - 1)
    t = (where - x[k]) / h[k]
    values: Vector = (
        y[k] * (1 + 2 * t) * (1 - t) ** 2
        + d[k] * h[k] * t * (1 - t) ** 2
        + y[k + 1] * t**2 * (3 - 2 * t)
        + d[k + 1] * h[k] * t**2 * (t - 1)
    )
    return values


def _end_slope(h0: float, h1: float, m0: float, m1: float) -> float:
    """One-sided three-point slope, held in bounds that keep the curve monotone."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    if d * m0 <= 0:
        return 0.0
    return 3 * m0 if m0 * m1 <= 0 and abs(d) > 3 * abs(m0) else float(d)
