"""Configurations that a model may choose from: all that were not proposed yet, or a sample of a large space."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt

from tunewright.space import SearchSpace

__all__ = ["Candidates"]

Ids = npt.NDArray[np.int64]


class Candidates:
    """The configurations not proposed yet."""

    def __init__(self, space: SearchSpace, rng: Random, most: int = 20_000) -> None:
        """Args: space: where to choose. rng: random numbers. most: spaces up to this size are offered whole."""
        self._space, self._rng, self._most = space, rng, most
        self.seen: set[int] = set()
        self._left = np.ones(space.size, dtype=bool) if space.size <= most else None

    @property
    def left(self) -> npt.NDArray[np.bool_] | None:
        """For each id of a space that is offered whole whether it was not proposed yet; None for a large space."""
        return self._left

    def remove(self, ids: Sequence[int]) -> None:
        """These are proposed."""
        self.seen.update(ids)
        if self._left is not None:
            self._left[list(ids)] = False

    def all(self, near: Sequence[int] = ()) -> Ids:
        """Every unseen id, ascending; of a large space a random sample and the neighbours of some configurations."""
        if self._left is not None:
            return np.flatnonzero(self._left)
        return self.some(self._most // 10, near)

    def some(self, count: int, near: Sequence[int] = ()) -> Ids:
        """About so many unseen ids drawn at random, and the unseen neighbours of some configurations, ascending."""
        if self._left is not None and len(left := np.flatnonzero(self._left)) <= count:
            return left
        drawn = {self._space.sample(self._rng) for _ in range(count)}
        for i in near:
            drawn.update(self._space.neighbors(i))
        return np.array(sorted(drawn - self.seen), dtype=np.int64 if self._space.size < 2**63 else object)
