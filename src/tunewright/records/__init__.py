"""The run store, recorded search spaces, and the formats they come in."""

from tunewright.records.derive import derive
from tunewright.records.difference import difference
from tunewright.records.formats import FORMATS, format_for, format_of, read_record, write_record
from tunewright.records.inspect import inspect, inspect_against
from tunewright.records.kernel_tuner import read_cache
from tunewright.records.names import goal_of, unit_of
from tunewright.records.notes import repairs, suspicions
from tunewright.records.recorded import PartialRecord, RecordedSpace
from tunewright.records.recording import read_recording, write_recording
from tunewright.records.store import RunRow, Store, StoredBest

__all__ = [
    "FORMATS",
    "PartialRecord",
    "RecordedSpace",
    "RunRow",
    "Store",
    "StoredBest",
    "derive",
    "difference",
    "format_for",
    "format_of",
    "goal_of",
    "inspect",
    "inspect_against",
    "read_cache",
    "read_record",
    "read_recording",
    "repairs",
    "suspicions",
    "unit_of",
    "write_record",
    "write_recording",
]
