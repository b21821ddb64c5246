"""Lets another runner begin nothing after a deadline."""

from __future__ import annotations

from collections.abc import Sequence

from tunewright.budget import Deadline
from tunewright.measure import Measurement
from tunewright.plan import Measure

__all__ = ["PunctualRunner"]


class PunctualRunner:
    """A runner in front of another one, also in front of the store: what is known takes time to ask for, too."""

    def __init__(self, runner: Measure, deadline: Deadline) -> None:
        """Args: runner: measures; deadline: until when it may begin."""
        self._runner, self._deadline = runner, deadline

    def prepare(self, ids: Sequence[int]) -> None:
        """Let the runner prepare."""
        self._runner.prepare(ids)

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """One measurement for each id.

        Raises:
            DeadlineError: the deadline has passed.
        """
        self._deadline.check()
        return self._runner.measure(ids)
