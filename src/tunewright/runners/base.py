"""What every runner offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tunewright.measure import Measurement

__all__ = ["Runner"]


class Runner(Protocol):
    """Measures configurations of one task."""

    def prepare(self, ids: Sequence[int]) -> None:
        """These ids will be asked for soon; work such as compilation may start. May do nothing."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """One measurement for each id, in the same order; a bad configuration is a value, never an exception.

        Raises:
            RunnerError: measuring as such cannot go on.
        """
        ...

    def learn(self, measured: Measurement) -> None:
        """A measurement of this task that was asked for and was known: it steers later ones as if it had been made."""

    def close(self) -> None:
        """Release processes and files; calling it twice is allowed."""
