"""The run store, recorded search spaces, and the formats they come in."""

from tunewright.records.kernel_tuner import read_cache
from tunewright.records.recorded import RecordedSpace
from tunewright.records.runlog import RunLog
from tunewright.records.store import RunRow, Store, StoredBest

__all__ = ["RecordedSpace", "RunLog", "RunRow", "Store", "StoredBest", "read_cache"]
