"""How much a run may spend, how much it has spent, and when it has to end."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from tunewright.errors import DeadlineError, OptionError

__all__ = ["NEVER", "Budget", "Clock", "Deadline"]


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
        count = self.evaluations
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise OptionError(f"evaluations must be a whole number of at least 1, got {count!r}")
        _check_seconds("seconds", self.seconds)


def _check_seconds(name: str, seconds: object) -> None:
    """Refuse anything but None and finite numbers above 0."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and 0 < seconds < math.inf):  # type: ignore[operator]  # a number by now
        raise OptionError(f"{name} must be a finite number above 0, got {seconds!r}")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which a run begins nothing new.

    Attributes:
        at: when, in seconds of the monotonic clock; ``inf`` for never.
    """

    at: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many wall seconds from now; None for never.

        Raises:
            OptionError: seconds that are not positive and finite.
        """
        _check_seconds("a deadline", seconds)
        return NEVER if seconds is None else cls(time.monotonic() + seconds)

    def earlier(self, seconds: float) -> Deadline:
        """The moment so many seconds before this one."""
        return Deadline(self.at - seconds)

    @property
    def left_s(self) -> float:
        """Wall seconds until then; 0 once it has passed."""
        return max(self.at - time.monotonic(), 0.0)

    def check(self) -> None:
        """Go on only before it.

        Raises:
            DeadlineError: it has passed.
        """
        if not self.left_s:
            raise DeadlineError("the deadline has passed; allow more time")


NEVER = Deadline()
"""The deadline of a run that may take as long as it takes."""


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
