"""Replaying recorded spaces: measurements come from memory, seconds from the recording."""

from __future__ import annotations

from collections.abc import Sequence

from tunewright.measure import Measurement
from tunewright.records.recorded import RecordedSpace

__all__ = ["ReplayRunner"]


class ReplayRunner:
    """Answers with the recorded measurement; the tuning clock runs by the recorded durations."""

    def __init__(self, recorded: RecordedSpace) -> None:
        """Args: recorded: the space to replay."""
        self._measurements = recorded.measurements

    def prepare(self, ids: Sequence[int]) -> None:
        """Nothing to prepare."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """The recorded measurement of each id."""
        measurements = self._measurements
        return [measurements[i] for i in ids]

    def learn(self, measured: Measurement) -> None:
        """Nothing to learn: all is known."""

    def close(self) -> None:
        """Nothing to release."""
