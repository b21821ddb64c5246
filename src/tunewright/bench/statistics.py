"""Intervals and tests for scores: bootstrap over seeds or over families, paired randomisation, Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

__all__ = [
    "FLOOR",
    "Interval",
    "Scores",
    "bootstrap",
    "family_bootstrap",
    "family_mean",
    "holm",
    "interval",
    "paired_test",
]

Vector = npt.NDArray[np.float64]

FLOOR = -1.0
"""A space's score counts as no less than this; only the mean over its runs is cut, never a run."""

_RESAMPLES = 4000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends of a 95 % interval."""

    low: float
    high: float


Scores = Mapping[str, Vector]
"""The scores of the runs by space."""


def family_mean(values: Mapping[str, npt.NDArray[np.float64] | float], families: Mapping[str, str]) -> Vector:
    """Mean within each family, then over families; sibling devices of one kernel are not independent.

    Args:
        values: by space; numbers, or arrays of one shape.
        families: of each space.
    """
    groups: dict[str, list[Vector]] = {}
    for space, value in values.items():
        groups.setdefault(families[space], []).append(np.asarray(value, dtype=np.float64))
    mean: Vector = np.mean([np.mean(group, axis=0) for group in groups.values()], axis=0)
    return mean


def bootstrap(scores: Scores, families: Mapping[str, str], seed: int = 0) -> Vector:
    """The suite's score in resamples of each space's runs: how it would vary with other seeds.

    The runs drawn depend on the space and the number of runs alone, so that two contestants' resamples are paired.
    """
    drawn = {space: _cut(runs[_draws(space, len(runs), seed)].mean(axis=1)) for space, runs in scores.items()}
    return family_mean(drawn, families)


def family_bootstrap(by_family: Mapping[str, float], seed: int = 0) -> Vector:
    """The mean over resampled families: how it would vary with other kernels."""
    values = np.array([by_family[name] for name in sorted(by_family)])
    drawn: Vector = values[np.random.default_rng(seed).integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    return drawn


def interval(resampled: Vector) -> Interval:
    """The 95 % percentile interval of resampled values."""
    low, high = np.quantile(resampled, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def paired_test(first: Scores, second: Scores, families: Mapping[str, str], seed: int = 0) -> float:
    """Two-sided p of the difference between two suite scores, if it made no difference who made which run.

    The two runs of one space and one seed are exchanged at random; the statistic is the difference of the scores
    themselves. With r exchanges at least as extreme out of R, p = (r + 1) / (R + 1).
    """
    rng = np.random.default_rng(seed)
    seen: dict[str, float] = {}
    exchanged: dict[str, Vector] = {}
    for space in sorted(first):
        a, b = first[space], second[space]
        swap = rng.random((_RESAMPLES, len(a))) < 0.5
        moved = swap @ (b - a) / len(a)
        seen[space] = float(_cut(np.array(a.mean())) - _cut(np.array(b.mean())))
        exchanged[space] = _cut(a.mean() + moved) - _cut(b.mean() - moved)
    observed = float(family_mean(seen, families))
    others = np.abs(family_mean(exchanged, families))
    return float((np.count_nonzero(others >= abs(observed) - 1e-12) + 1) / (_RESAMPLES + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Scand. J. Statistics 6, 1979), in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = largest
    return corrected


def _cut(means: Vector) -> Vector:
    return np.maximum(means, FLOOR)


def _draws(space: str, runs: int, seed: int) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng([seed, crc32(space.encode())])
    return rng.integers(0, runs, (_RESAMPLES, runs))
