"""What a model-based optimizer has evaluated, and what it may still propose."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random

from tunewright.optimizers.toolkit.candidates import Candidates
from tunewright.plan import Plan
from tunewright.space import SearchSpace

__all__ = ["History"]


class History:
    """Evaluations in order, and the configurations not proposed yet.

    Attributes:
        space: where.
        ids, costs: of the evaluations.
        pool: what may still be proposed.
    """

    def __init__(self, space: SearchSpace, rng: Random) -> None:
        """Args: space: where. rng: random numbers."""
        self.space = space
        self.ids: list[int] = []
        self.costs: list[float] = []
        self.pool = Candidates(space, rng)
        self._rng = rng

    def begin(self, start: Sequence[int], initial: int) -> Plan:
        """Evaluate `start`, and ids spread over the space up to `initial` in all; use with ``yield from``."""
        ids = list(dict.fromkeys(start))
        ids += [i for i in self.space.spread(initial, self._rng) if i not in ids][: max(initial - len(ids), 0)]
        yield from self.evaluate(ids)

    def evaluate(self, ids: Sequence[int]) -> Plan:
        """Evaluate ids that were not proposed before; use with ``yield from``."""
        self.pool.remove(ids)
        self.costs += yield list(ids)
        self.ids += ids

    def ordered(self) -> list[int]:
        """Positions of the evaluations, the best first, failures last."""
        return sorted(range(len(self.ids)), key=self.costs.__getitem__)

    def working(self) -> list[int]:
        """Positions of the evaluations that worked, the best first."""
        return sorted((k for k, cost in enumerate(self.costs) if cost < inf), key=self.costs.__getitem__)
