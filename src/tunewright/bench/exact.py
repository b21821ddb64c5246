"""The exact score: 0 is what random search is expected to reach, 1 is the optimum at once. See docs/score.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunewright.bench.baseline import Baseline
from tunewright.bench.prepared import Prepared
from tunewright.bench.runs import Run

__all__ = ["FRACTIONS", "Trajectory", "best_so_far", "fraction_of_optimum", "score", "time_to", "trajectory"]

Vector = npt.NDArray[np.float64]

FRACTIONS = (0.90, 0.95, 0.99)
"""Fractions of the optimum whose evaluations and seconds are reported."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The best configuration so far of a run, at its improvements.

    Attributes:
        seconds: on the tuning clock, when each improvement was known.
        evaluations: how many evaluations that took.
        values: its recorded cost; beyond the space's median it counts as that in the score, not here.
        end_s: when the last evaluation ended.
        count: evaluations in all.
        failures: of them, how many failed.
    """

    seconds: Vector
    evaluations: npt.NDArray[np.int64]
    values: Vector
    end_s: float
    count: int
    failures: int


def trajectory(prepared: Prepared, run: Run) -> Trajectory:
    """What a run found, when. With noise, the best is the one that looked best, at its recorded cost."""
    costs = prepared.costs[run.ids]
    took = prepared.seconds[run.ids] if run.charged_s is None else prepared.seconds[run.ids] + run.charged_s
    ends = np.cumsum(took)
    seen = costs if run.observed is None else run.observed
    before = np.concatenate([[np.inf], np.minimum.accumulate(seen)[:-1]]) if len(seen) else seen
    better = np.flatnonzero(seen < before)
    return Trajectory(
        seconds=ends[better],
        evaluations=better + 1,
        values=costs[better],
        end_s=float(ends[-1]) if len(ends) else 0.0,
        count=len(seen),
        failures=int((~np.isfinite(seen)).sum()),
    )


def score(base: Baseline, trajectories: Sequence[Trajectory]) -> Vector:
    """The score of each run; a space's score is their mean. A run that ends early keeps what it has found."""
    weights = base.weight
    total = weights[-1]
    length = base.end_s - base.start_s
    found = np.empty(len(trajectories))
    for number, each in enumerate(trajectories):
        reached = np.interp(each.seconds, base.times_s, weights)
        steps = np.diff(np.concatenate([[0.0], reached, [total]]))
        worths = np.minimum(np.concatenate([[base.median], each.values]), base.median)
        found[number] = 1 - float((worths - base.optimum) @ steps) / length
    return found


def best_so_far(each: Trajectory, times_s: Vector) -> Vector:
    """The best cost at some times, inf before the first success."""
    values = np.concatenate([[np.inf], each.values])
    return values[np.searchsorted(each.seconds, times_s, side="right")]


def fraction_of_optimum(optimum: float, value: float) -> float:
    """The ratio optimum / value for costs above zero, value / optimum below (maximised figures); 0 before a success.

    NaN where costs lie on both sides of zero: a ratio means nothing there.
    """
    if np.isinf(value):
        return 0.0
    if optimum > 0:
        return optimum / value
    return value / optimum if value < 0 else float("nan")


def time_to(each: Trajectory, optimum: float, fraction: float) -> tuple[float, float]:
    """Evaluations and seconds until a fraction of the optimum; inf if the run did not get there."""
    for evaluation, second, value in zip(each.evaluations, each.seconds, each.values, strict=True):
        if fraction_of_optimum(optimum, float(value)) >= fraction:
            return float(evaluation), float(second)
    return float("inf"), float("inf")
