"""One row of a file as a measurement, the way all readers do it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from tunewright.measure import Measurement, Status
from tunewright.records.notes import REPAIRED, SUSPICIOUS, Notes
from tunewright.records.numbers import NumberText, shifted

__all__ = [
    "STATUSES",
    "detail_of",
    "duration_s",
    "extras",
    "measured",
    "remarks_of",
    "samples_ms",
    "status_named",
    "timestamp_s",
    "timestamp_text",
]

STATUSES: Mapping[str, Status] = {status.value: status for status in Status}


def status_named(name: object, otherwise: Status) -> Status:
    """The status of this name; another one if there is none of it."""
    return STATUSES.get(name, otherwise) if isinstance(name, str) else otherwise


def duration_s(value: object, digits: int, what: str, notes: Notes, where: str) -> float:
    """A duration in seconds; 0 where it is not recorded, or is no duration, which is noted."""
    if value is None:
        return 0.0
    found = shifted(value, digits)
    if found is None or found < 0:
        notes.add(REPAIRED, f"{what} is no duration; taken as not recorded", f"{where}: {value!r}")
        return 0.0
    return found


def samples_ms(value: object, digits: int, notes: Notes, where: str) -> tuple[float, ...]:
    """The samples of a row; none where they are not recorded, or are no numbers, which is noted."""
    if value is None:
        return ()
    if digits == 0 and isinstance(value, list) and {type(item) for item in value} <= {NumberText, int}:
        plain = tuple(map(float, value))
        if all(map(math.isfinite, plain)):
            return plain
    found = [shifted(item, digits) for item in value] if isinstance(value, list) else [None]
    if None in found:
        notes.add(REPAIRED, "the samples are no list of numbers; taken as not recorded", f"{where}: {value!r}")
        return ()
    return tuple(found)  # type: ignore[arg-type]  # None was ruled out


def measured(
    samples: tuple[float, ...],
    seconds: tuple[float, float, float],
    metrics: Mapping[str, float],
    row: Mapping[str, object],
    notes: Notes,
    where: str,
) -> Measurement:
    """A measurement that worked, unless a time of zero or below says that it cannot have.

    Raises:
        ValueError: there is no figure at all.
    """
    if not samples and not metrics:
        raise ValueError("it has neither samples nor figures")
    time_ms = metrics.get("time_ms", math.inf)
    least = min((*samples, time_ms))
    if least <= 0:
        notes.add(SUSPICIOUS, "a time is zero or below; the configuration is invalid", f"{where}: {least!r} ms")
        rest = {name: value for name, value in metrics.items() if name != "time_ms"}
        return Measurement(Status.INVALID, samples, *seconds, rest, f"a time of {least!r} ms is no measurement")
    return Measurement(Status.OK, samples, *seconds, metrics, detail_of(row), remarks_of(row))


def detail_of(row: Mapping[str, object], otherwise: str = "") -> str:
    """The text under a row's key ``detail``."""
    detail = row.get("detail")
    return detail if type(detail) is str else otherwise


def remarks_of(row: Mapping[str, object]) -> tuple[str, ...]:
    """The texts under a row's key ``remarks``."""
    remarks = row.get("remarks")
    return tuple(remark for remark in remarks if type(remark) is str) if isinstance(remarks, list) else ()


def extras(measurement: Measurement, implied: tuple[Status, str]) -> dict[str, object]:
    """The keys that a row needs beyond what its format implies: status, detail and remarks."""
    status, detail = implied
    found: dict[str, object] = {}
    if measurement.status is not status:
        found["status"] = measurement.status.value
    if measurement.detail != detail:
        found["detail"] = measurement.detail
    if measurement.remarks:
        found["remarks"] = list(measurement.remarks)
    return found


def timestamp_s(value: object) -> float | None:
    """Seconds since 1970 of an ISO date with time; None for anything else."""
    if not isinstance(value, str) or len(value) < len("2023-01-01T00:00"):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def timestamp_text(seconds: float) -> str | None:
    """The ISO text of seconds since 1970, to the microsecond; None outside the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="microseconds")
    except (ValueError, OverflowError, OSError):
        return None
