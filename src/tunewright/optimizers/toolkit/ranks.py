"""Costs as numbers without scale: nothing that only shifts or stretches the costs changes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

__all__ = ["normal_scores"]

_GRID = 4000


@lru_cache(maxsize=1)
def _quantiles() -> npt.NDArray[np.float64]:
    return np.array([NormalDist().inv_cdf((k + 0.5) / _GRID) for k in range(_GRID)])


def normal_scores(costs: Sequence[float]) -> npt.NDArray[np.float64]:
    """Standardised normal quantiles of the costs' ranks; ties share a rank, failures (inf) come last."""
    values, places, counts = np.unique(np.array(costs), return_inverse=True, return_counts=True)
    if len(values) <= 1:
        return np.zeros(len(costs))
    middle = (np.cumsum(counts) - counts / 2) / len(costs)
    scores = np.interp(middle, (np.arange(_GRID) + 0.5) / _GRID, _quantiles())[places]
    standard: npt.NDArray[np.float64] = (scores - scores.mean()) / scores.std()
    return standard
