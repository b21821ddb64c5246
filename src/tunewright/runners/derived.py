"""Adds the kernel's derived metrics to what another runner measures, or knows from before."""

from __future__ import annotations

from collections.abc import Sequence

from tunewright.kernel.spec import Kernel
from tunewright.measure import Measurement
from tunewright.plan import Measure
from tunewright.space import SearchSpace

__all__ = ["DerivingRunner"]


class DerivingRunner:
    """A runner in front of another one; stands in front of the store too, so that what is stored is only measured."""

    def __init__(self, runner: Measure, kernel: Kernel, space: SearchSpace) -> None:
        """Args: runner: measures; kernel: whose metrics; space: of the ids."""
        self._runner, self._kernel, self._space = runner, kernel, space

    def prepare(self, ids: Sequence[int]) -> None:
        """Let the runner prepare."""
        self._runner.prepare(ids)

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """One measurement for each id, with the derived metrics where it worked.

        Raises:
            SpecificationError: a metric cannot be computed.
        """
        found = self._runner.measure(ids)
        return [self._kernel.with_metrics(row, self._space.config(i)) for i, row in zip(ids, found, strict=True)]
