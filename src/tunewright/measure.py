"""What a measurement is: statuses, samples, objectives, trials and runs. Units are in every name."""

from __future__ import annotations

import enum
import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from tunewright.errors import OptionError

__all__ = [
    "BIMODAL",
    "CENSORED",
    "CONFIRMED",
    "NOISY",
    "REDUCTIONS",
    "TRANSIENT",
    "Decision",
    "Leader",
    "Measurement",
    "Objective",
    "Status",
    "Stopped",
    "Task",
    "Trial",
    "TuningRun",
]

_NO_METRICS: Mapping[str, float] = MappingProxyType({})

REDUCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = MappingProxyType(
    {"median": statistics.median, "min": min, "mean": statistics.fmean, "max": max}
)
"""How several samples become one number."""


class Status(enum.StrEnum):
    """How the measurement of one configuration ended."""

    OK = "ok"
    INVALID = "invalid"
    COMPILE_ERROR = "compile_error"
    LAUNCH_ERROR = "launch_error"
    WRONG_RESULT = "wrong_result"
    TIMEOUT = "timeout"
    CRASH = "crash"


CENSORED = "censored"
"""Sampling was cut short because the configuration is clearly slow: its true time is about what was seen, or more."""

CONFIRMED = "confirmed"
"""It was suspiciously fast and was run a second time before it counted."""

NOISY = "noisy"
"""The samples scatter, or other work took part of the processor; the value is not reliable."""

BIMODAL = "bimodal"
"""The samples fall into two groups, as when a clock or a placement changes in between."""

TRANSIENT = "transient"
"""The failure came from outside, not from the configuration; it is worth measuring again and is not kept."""

_OK = Status.OK  # looked up for every cost of a replay


class Stopped(enum.StrEnum):
    """Why a tuning run ended."""

    BUDGET = "budget"
    DEADLINE = "deadline"
    FINISHED = "finished"
    STALLED = "stalled"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The outcome of compiling, verifying and timing one configuration.

    Attributes:
        status: how it ended; only ``OK`` has a cost.
        runtimes_ms: every timed sample of the kernel, in the order taken.
        compile_s: seconds of compiler time.
        verify_s: seconds spent checking the result.
        benchmark_s: seconds spent on warm-up and timed runs.
        metrics: further figures by name, the unit in the name (``energy_j``).
        detail: the cause of a failure, or a remark; text for people.
        remarks: what sets this measurement apart: `CENSORED`, `CONFIRMED`, `NOISY`, `BIMODAL`, `TRANSIENT`.

    Raises:
        OptionError: ``OK`` without a sample or metric, or a negative or non-finite duration.
    """

    status: Status
    runtimes_ms: tuple[float, ...] = ()
    compile_s: float = 0.0
    verify_s: float = 0.0
    benchmark_s: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=lambda: _NO_METRICS)
    detail: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status is Status.OK and not self.runtimes_ms and not self.metrics:
            raise OptionError("a measurement with status OK needs at least one sample or metric")
        for seconds in (self.compile_s, self.verify_s, self.benchmark_s):
            if not 0 <= seconds < math.inf:
                raise OptionError(f"a duration must be finite and not negative, got {seconds!r} s")

    @property
    def total_s(self) -> float:
        """Seconds on the tuning clock: compile, verify and benchmark."""
        return self.compile_s + self.verify_s + self.benchmark_s


@dataclass(frozen=True, slots=True)
class Objective:
    """What is optimised: a metric, how its samples are reduced, and in which direction.

    ``runtime_ms`` is reduced from the samples; any other metric is read from `Measurement.metrics`.

    Raises:
        OptionError: an unknown reduction or goal.

    >>> Objective().value(Measurement(Status.OK, (3.0, 1.0, 2.0)))
    2.0
    """

    metric: str = "runtime_ms"
    reduction: str = "median"
    goal: str = "min"

    def __post_init__(self) -> None:
        if self.reduction not in REDUCTIONS:
            raise OptionError(f"unknown reduction {self.reduction!r}; choose one of {', '.join(REDUCTIONS)}")
        if self.goal not in ("min", "max"):
            raise OptionError(f"unknown goal {self.goal!r}; choose min or max")

    def value(self, measurement: Measurement) -> float:
        """The cost, lower is better; ``inf`` unless the measurement is OK and has the metric as a number."""
        if measurement.status is not _OK:
            return math.inf
        if self.metric == "runtime_ms":
            if not measurement.runtimes_ms:
                return math.inf
            number = REDUCTIONS[self.reduction](measurement.runtimes_ms)
        else:
            number = measurement.metrics.get(self.metric, math.nan)
        if not math.isfinite(number):
            return math.inf
        return number if self.goal == "min" else -number


@dataclass(frozen=True, slots=True)
class Task:
    """What is being tuned, where and with what; what a record belongs to.

    Attributes:
        kernel: the kernel's name.
        device: the device's name as its vendor or the system gives it.
        problem: problem sizes by name.
        toolchain: compiler and version.
        source_digest: sha256 of the kernel source, empty when unknown.
        settings: everything else that a measurement depends on, the configuration left out: how it is compiled,
            called, verified and sampled.
    """

    kernel: str
    device: str = "unknown"
    problem: Mapping[str, object] = field(default_factory=dict)
    toolchain: str = ""
    source_digest: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """``kernel/device``, as recorded spaces are named."""
        return f"{self.kernel}/{self.device}"


class Trial(NamedTuple):
    """One evaluated configuration of a run, in order.

    Attributes:
        id: the configuration's id in its space.
        measurement: what was measured.
        cost: the objective's value, lower is better, ``inf`` for a failure.
        clock_s: tuning seconds spent when the measurement was finished.
    """

    id: int
    measurement: Measurement
    cost: float
    clock_s: float


class Leader(NamedTuple):
    """A configuration measured again at the end of a run.

    Attributes:
        id: the configuration's id.
        cost: median of its rounds, in the objective's unit.
        low: lower end of the 95 % interval of that median.
        high: upper end.
        rounds: the cost of each interleaved round.
        metrics: derived metrics, each the median of its rounds.
    """

    id: int
    cost: float
    low: float
    high: float
    rounds: tuple[float, ...]
    metrics: Mapping[str, float] = _NO_METRICS


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of measuring the leaders again, interleaved with the default.

    Attributes:
        best: the leader called best.
        ties: other leaders that the noise does not separate from it.
        default: the default configuration, measured in the same rounds; None if it fails.
        speedup: cost of the default over cost of the best, median of the rounds' ratios.
        speedup_low: lower end of its 95 % interval.
        speedup_high: upper end.
    """

    best: Leader
    ties: tuple[Leader, ...] = ()
    default: Leader | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None


@dataclass(frozen=True, slots=True)
class TuningRun:
    """A finished run: what was asked, every trial in order, why it stopped.

    Attributes:
        task: what was tuned.
        space_digest: identity of the search space.
        optimizer: name of the optimizer.
        version: version of tunewright that made the run.
        seed: seed of the optimizer's random numbers.
        stopped: why the run ended; a deadline may have cut the search or the final comparison.
        trials: every distinct evaluation, in order.
        repeats: proposals answered from memory.
        decision: the final comparison of the leaders; None where nothing is measured live.
        notes: remarks for the user (an invalid start, a stopped optimizer).
        best_configuration: the configuration called best, by parameter name.
        failure: what ended the run early, if something failed: the optimizer, or measuring as such.
    """

    task: Task
    space_digest: str
    optimizer: str
    version: str
    seed: int
    stopped: Stopped
    trials: tuple[Trial, ...]
    repeats: int = 0
    decision: Decision | None = None
    notes: tuple[str, ...] = ()
    best_configuration: Mapping[str, object] | None = None
    failure: str = ""

    @property
    def best(self) -> Trial | None:
        """The trial of the configuration called best; the first of least cost without a final comparison."""
        if self.decision is not None:
            chosen = self.decision.best.id
            return next(trial for trial in self.trials if trial.id == chosen)
        trial = min(self.trials, key=lambda trial: trial.cost, default=None)
        return None if trial is None or trial.cost == math.inf else trial

    @property
    def speedup(self) -> float | None:
        """How many times better than the first trial, the default: from the final comparison where there is one.

        None where either does not work, or the figures do not have the same sign.
        """
        if self.decision is not None:
            return self.decision.speedup
        best = self.best
        if best is None:
            return None
        first = self.trials[0].cost
        if first < 0 and best.cost < 0:  # of a maximised objective
            return best.cost / first
        return first / best.cost if best.cost > 0 and 0 < first < math.inf else None

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many trials ended with each status; statuses that did not occur are left out."""
        return Counter(trial.measurement.status for trial in self.trials)

    @property
    def clock_s(self) -> float:
        """Tuning seconds spent: compile, verify and benchmark of all trials."""
        return self.trials[-1].clock_s if self.trials else 0.0
