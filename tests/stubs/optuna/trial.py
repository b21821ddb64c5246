"""States of trials."""

from enum import Enum


class TrialState(Enum):
    """How a trial ended."""

    PRUNED = 2
