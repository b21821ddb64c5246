"""How much a run may spend, and how much it has spent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tunewright.errors import OptionError

__all__ = ["Budget", "Clock"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a run; whichever is reached first ends it.

    Attributes:
        evaluations: distinct configurations evaluated, None for no limit.
        seconds: seconds on the tuning clock (compile, verify, benchmark), None for no limit.

    Raises:
        OptionError: a limit that is not positive and finite, or a fractional number of evaluations.
    """

    evaluations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        count, seconds = self.evaluations, self.seconds
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise OptionError(f"evaluations must be a whole number of at least 1, got {count!r}")
        if seconds is not None and (
            isinstance(seconds, bool)
            or not isinstance(seconds, (int, float))
            or not math.isfinite(seconds)
            or seconds <= 0
        ):
            raise OptionError(f"seconds must be a finite number above 0, got {seconds!r}")


class Clock:
    """What a run has spent of its budget. An optimizer sees `spent` and nothing else is promised to it."""

    __slots__ = ("evaluations", "limits", "seconds")

    def __init__(self, limits: Budget) -> None:
        """Args: limits: the budget counted against."""
        self.limits = limits
        self.evaluations = 0
        self.seconds = 0.0

    @property
    def spent(self) -> float:
        """Share of the budget that is spent, 0 to 1; 0 for ever where there is no limit."""
        limits = self.limits
        share = 0.0
        if limits.evaluations is not None:
            share = self.evaluations / limits.evaluations
        if limits.seconds is not None:
            share = max(share, self.seconds / limits.seconds)
        return min(share, 1.0)
