"""What makes a recording doubtful, judged from its figures alone.

The thresholds are set so that none of the published exhaustive spaces that were checked is accused: there, a time is
the mean of its samples to the last digit, samples take 73 % or more of the benchmark's time and never more than all
of it, and half of the configurations scatter by less than 4 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Status, Task
from tunewright.records.notes import SUSPICIOUS, Notes
from tunewright.records.recorded import PartialRecord, RecordedSpace

__all__ = ["inspect", "inspect_against"]

AGREES = 1e-6
"""A time may differ from mean, median and least of its samples by this part."""

LEAST_SHARE = 0.5
"""Half of the configurations have samples that take at least this part of their benchmark time."""

GREATEST_SHARE = 1.001
"""No configuration has samples that add up to more than this part of its benchmark time."""

SCATTER = 0.2
"""Half of the configurations have samples with a smaller coefficient of variation."""

CLOCK = 0.02
"""A measured clock may differ from the one asked for by this part."""

POWER_OF_TEN = 10.0
"""Between two devices, times of the same work may differ by less than this."""

_REQUESTED = ("nvml_gr_clock", "gr_clock", "core_clock", "clock")
_REQUESTED_MEMORY = ("nvml_mem_clock", "mem_clock")
_MEASURED_LONGER = {"energy_j", "power_w", "ps_energy_j", "ps_power_w"}  # power takes runs of its own
_FIGURES_OF_SUCCESS = ("gflop_per_s", "tflop_per_s", "gb_per_s", "energy_j", "ps_energy_j")


def inspect(record: RecordedSpace | PartialRecord) -> tuple[str, ...]:
    """The suspicions, each with how often and one example; empty for a recording without any."""
    notes = Notes()
    worked: list[tuple[int, Measurement]] = []
    failed: list[tuple[int, Measurement]] = []
    for i, measurement in record.rows.items():
        (worked if measurement.status is Status.OK else failed).append((i, measurement))
    _check_times(worked, record, notes)
    _check_failures(failed, record, notes)
    _check_scale([measurement for _, measurement in worked], notes)
    _check_clocks(worked, record, notes)
    return notes.texts()


def inspect_against(record: RecordedSpace | PartialRecord, other: RecordedSpace | PartialRecord) -> tuple[str, ...]:
    """Whether times are off by a power of ten or more against another recording of the same kernel.

    Times are compared for an equal amount of work where both tell their problem sizes.

    Raises:
        RecordError: the two have no configuration in common that works in both.
    """
    if set(record.space.names) != set(other.space.names):
        raise RecordError(
            f"{record.task.label} and {other.task.label} have different parameters: "
            f"{', '.join(record.space.names)}; {', '.join(other.space.names)}"
        )
    theirs = {i: time for i, measurement in other.rows.items() if (time := _time_ms(measurement)) is not None}
    ratios = []
    for i, measurement in record.rows.items():
        time, twin = _time_ms(measurement), other.space.find(record.space.config(i))
        if time is not None and twin in theirs:
            ratios.append(time / theirs[twin])
    if not ratios:
        raise RecordError(f"{record.task.label} and {other.task.label} have no working configuration in common")
    work = _work(record.task) / _work(other.task)
    ratio = statistics.median(ratios) / (work if math.isfinite(work) and work > 0 else 1.0)
    if 1 / POWER_OF_TEN < ratio < POWER_OF_TEN:
        return ()
    text = (
        f"times are {ratio:.3g} times those of {other.task.label} for the same work "
        f"(median of {len(ratios):,} configurations): another unit or another problem?"
    )
    return (f"{SUSPICIOUS}: {text}",)


def _time_ms(measurement: Measurement) -> float | None:
    """The time of a configuration that works and has one."""
    if measurement.status is not Status.OK:
        return None
    if "time_ms" in measurement.metrics:
        return measurement.metrics["time_ms"]
    return statistics.median(measurement.runtimes_ms) if measurement.runtimes_ms else None


def _work(task: Task) -> float:
    """The product of the problem sizes; NaN where one is no number or none is told."""
    sizes = list(task.problem.values())
    if not sizes or any(not isinstance(size, int | float) for size in sizes):
        return math.nan
    return math.prod(float(size) for size in sizes if isinstance(size, int | float)) or math.nan


def _check_times(rows: Iterable[tuple[int, Measurement]], record: RecordedSpace | PartialRecord, notes: Notes) -> None:
    for i, measurement in rows:
        samples = measurement.runtimes_ms
        time = measurement.metrics.get("time_ms")
        if time is None or not samples:
            continue
        mean = sum(samples) / len(samples)
        if abs(time - mean) <= AGREES * time:
            continue
        if all(abs(time - one) > AGREES * time for one in (statistics.median(samples), min(samples))):
            example = f"{record.space.config(i)}: {time:.6g} ms, mean of {len(samples)} samples {mean:.6g} ms"
            notes.add(SUSPICIOUS, "a time is neither mean nor median nor least of its samples", example)


def _check_failures(
    rows: Iterable[tuple[int, Measurement]], record: RecordedSpace | PartialRecord, notes: Notes
) -> None:
    for i, measurement in rows:
        if measurement.status is Status.INVALID:
            continue  # figures of what may not run are estimates, or explained by the cause
        if measurement.runtimes_ms:
            example = f"{record.space.config(i)}: {measurement.detail}, {len(measurement.runtimes_ms)} samples"
            notes.add(SUSPICIOUS, "a failed row has samples", example)
        figure = next((name for name in _FIGURES_OF_SUCCESS if name in measurement.metrics), None)
        if figure is not None:
            notes.add(SUSPICIOUS, f"a failed row has {figure}", str(record.space.config(i)))


def _check_scale(rows: Iterable[Measurement], notes: Notes) -> None:
    """Times against the time that measuring them took, and against each other."""
    shares, scatter = [], []
    for measurement in rows:
        samples = measurement.runtimes_ms
        total = sum(samples)
        if len(samples) > 1 and 0 < total < math.inf:
            mean = total / len(samples)
            scatter.append(
                math.sqrt(sum((sample - mean) * (sample - mean) for sample in samples) / len(samples)) / mean
            )
            if measurement.benchmark_s > 0 and not measurement.metrics.keys() & _MEASURED_LONGER:
                shares.append(total / (1000 * measurement.benchmark_s))
    if not scatter:
        return
    beyond = [share for share in shares if share > GREATEST_SHARE]
    if beyond:
        notes.add(
            SUSPICIOUS,
            "the samples of a row add up to more than its whole benchmark took; another row or unit?",
            f"{max(beyond):.4g} times its benchmark time",
            len(beyond),
        )
    if shares and statistics.median(shares) < LEAST_SHARE:
        notes.add(
            SUSPICIOUS,
            f"the samples are {statistics.median(shares):.0%} of the time that their benchmarks took (median): "
            "times may be too small for the stated problem",
        )
    if statistics.median(scatter) > SCATTER:
        notes.add(SUSPICIOUS, f"the samples of a configuration scatter by {statistics.median(scatter):.0%} (median)")


def _check_clocks(rows: Iterable[tuple[int, Measurement]], record: RecordedSpace | PartialRecord, notes: Notes) -> None:
    """Clocks that were asked for against those that ran."""
    pairs = [(name, candidates) for name in record.space.names if (candidates := _measured_clocks(name))]
    if not pairs:
        return
    for i, measurement in rows:
        configuration: Mapping[str, object] = record.space.config(i)
        for name, candidates in pairs:
            asked = configuration[name]
            ran = next((measurement.metrics[c] for c in candidates if c in measurement.metrics), None)
            if ran is None or not isinstance(asked, int | float) or asked <= 0:
                continue
            if abs(ran - asked) > CLOCK * asked:
                example = f"{configuration}: {name}={asked!r}, the device ran at {ran:g}"
                notes.add(SUSPICIOUS, f"the device did not run at the {name} asked for", example)


def _measured_clocks(name: str) -> tuple[str, ...]:
    """Metrics that may hold what a clock parameter asked for."""
    own = (f"{name}_measured", f"measured_{name}", f"{name}_measured_mhz")
    if name in _REQUESTED:
        return (*own, "core_freq_mhz")
    return (*own, "mem_freq_mhz") if name in _REQUESTED_MEMORY else own
