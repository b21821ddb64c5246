"""Recorded search spaces and the formats they come in."""

from tunewright.records.kernel_tuner import read_cache
from tunewright.records.recorded import RecordedSpace

__all__ = ["RecordedSpace", "read_cache"]
