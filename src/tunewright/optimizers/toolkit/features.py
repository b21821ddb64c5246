"""Configurations as rows of numbers for linear models."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
import numpy.typing as npt

from tunewright.space import SearchSpace

__all__ = ["InteractionFeatures"]

_MAX_LEVELS = 32
_MAX_COLUMNS = 300
"""Products and columns of values are added as long as there are no more columns than this."""


class InteractionFeatures:
    """A constant, each parameter's logarithm and its square, one column a value, and all pairwise products.

    Logarithms where all values are positive, else the values, scaled to -1..1. Texts have no order: they
    enter by their columns of values alone, and in products by their place in the list.
    """

    def __init__(self, space: SearchSpace) -> None:
        """Args: space: whose configurations are described."""
        self._space = space
        free = [j for j, values in enumerate(space.parameters.values()) if len(values) > 1]
        lists = [list(space.parameters.values())[j] for j in free]
        self._free = free
        self._scales = [_scale(values) for values in lists]
        self._curved = [j for j, values in enumerate(lists) if len(values) > 2]
        room = _MAX_COLUMNS - 1 - len(free) - len(self._curved)
        left, right = np.triu_indices(len(free), 1)
        kept = np.unique(np.linspace(0, len(left) - 1, max(min(len(left), room), 0)).astype(int))
        self._pairs = left[kept], right[kept]
        room -= len(kept)
        self._levels: list[int] = []
        for j, values in enumerate(lists):
            if 2 < len(values) <= min(_MAX_LEVELS, room):
                self._levels.append(j)
                room -= len(values)
        self.columns = self.rows([0]).shape[1]

    def rows(self, ids: Sequence[int]) -> npt.NDArray[np.float64]:
        """The design matrix of some configurations, one row each."""
        codes = self._space.codes_of(ids)[:, self._free]
        scaled = np.empty(codes.shape)
        for j, scale in enumerate(self._scales):
            scaled[:, j] = scale[codes[:, j]]
        left, right = self._pairs
        levels = [
            0.7 * (codes[:, j, None] == np.arange(len(self._scales[j])))  # 0.7: two columns share one effect
            for j in self._levels
        ]
        return np.hstack(
            [
                np.ones((len(codes), 1)),
                scaled,
                scaled[:, self._curved] ** 2 - 1 / 3,
                scaled[:, left] * scaled[:, right],
                *levels,
            ]
        )


def _scale(values: Sequence[object]) -> npt.NDArray[np.float64]:
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        numbers = [float(k) for k in range(len(values))]
    elif min(numbers) > 0:
        numbers = [log2(number) for number in numbers]
    low, high = min(numbers), max(numbers)
    if low == high:  # logarithms too close to tell apart
        return _scale([str(k) for k in range(len(values))])
    return np.array([2 * (number - low) / (high - low) - 1 for number in numbers])
