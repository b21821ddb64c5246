"""The run store, recorded search spaces, and the formats they come in."""

from tunewright.records.kernel_tuner import read_cache
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.recording import read_recording, write_recording
from tunewright.records.store import RunRow, Store, StoredBest

__all__ = [
    "PartialRecord",
    "RecordedSpace",
    "RunRow",
    "Store",
    "StoredBest",
    "read_cache",
    "read_recording",
    "write_recording",
]
