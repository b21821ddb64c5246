"""Recording a kernel's space: every configuration, or a sample and the neighbourhood of its best."""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tunewright.budget import Deadline
from tunewright.errors import DeadlineError, OptionError
from tunewright.kernel import Kernel
from tunewright.measure import Measurement, Objective, Status
from tunewright.records import PartialRecord, RecordedSpace, Store, write_recording
from tunewright.runners.derived import DerivingRunner
from tunewright.runners.host import HostRunner
from tunewright.runners.machine import wait_until_quiet
from tunewright.runners.stored import StoredRunner
from tunewright.space import SearchSpace

__all__ = ["Progress", "record"]

_CHUNK = 20
"""Configurations between two looks at the machine and two measurements of the anchor."""

_SPREAD_SHARE = 0.7
"""Part of a sample that fills the space; the rest are neighbours of the best."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a recording is.

    Attributes:
        done: configurations measured or known.
        total: configurations wanted.
        failures: of those done.
        best_ms: least median so far, ``inf`` before the first.
        waited_s: seconds spent waiting for a quiet machine.
    """

    done: int
    total: int
    failures: int
    best_ms: float
    waited_s: float


@dataclass(slots=True)
class _Recording:
    """What was gathered so far."""

    rows: dict[int, Measurement] = field(default_factory=dict)
    anchors: list[tuple[int, float]] = field(default_factory=list)
    best_ms: float = inf
    waited_s: float = 0.0


def record(
    kernel: Kernel,
    out: str | Path,
    store: Store,
    *,
    sample: int | None = None,
    seed: int = 0,
    fix: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    patience_s: float = 60.0,
    deadline_s: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RecordedSpace | PartialRecord:
    """Measure a whole space, or a sample of it, alone on the machine, into a recording file.

    Nothing is compiled while something is timed; before every chunk of configurations the machine has to be quiet.
    The default configuration is measured again and again as an anchor, so that drift shows. What was recorded
    before is taken from the store, so that a recording that was stopped goes on where it was.

    Args:
        kernel: what to record.
        out: the file; it appears at the end.
        store: keeps every measurement on the way.
        sample: how many configurations; None: all of them.
        seed: of the order and the sample.
        fix: parameters pinned to one value.
        jobs: compilers at the same time, while nothing is timed.
        patience_s: seconds to wait for a quiet machine before each measurement; then it is measured all the same.
        deadline_s: wall seconds from now after which nothing new begins; what was measured until then becomes a
            partial record.
        on_progress: called after every configuration and while waiting.

    Raises:
        SpecificationError, SpaceError, OptionError: the request cannot be carried out.
        RunnerError: nothing can be measured on this machine.
        RecordError: the file cannot be written.
        DeadlineError: the deadline came before anything was measured.
    """
    deadline = Deadline.after(deadline_s)
    if sample is not None and sample < 1:
        raise OptionError(f"sample must be a whole number of at least 1, got {sample!r}")
    space = kernel.space.fix(**fix) if fix else kernel.space
    whole = sample is None or sample >= space.size
    total = space.size if whole or sample is None else sample
    rng = random.Random(seed)
    found = _Recording()
    anchor = space.nearest({**kernel.default_configuration, **(fix or {})})
    with closing(HostRunner(kernel, space, jobs=jobs, alone=True, deadline=deadline)) as host:
        task = host.task
        stored = StoredRunner(host, store, store.task(task), space)
        runner = DerivingRunner(stored, kernel, space)

        def measure(ids: Sequence[int]) -> None:
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                runner.prepare(chunk)
                for i in chunk:
                    deadline.check()
                    if not stored.knows(i):
                        host.compiled([i])
                        found.waited_s += wait_until_quiet(tell, min(patience_s, deadline.left_s))
                    [found.rows[i]] = runner.measure([i])
                    if found.rows[i].status is Status.OK:
                        found.best_ms = min(found.best_ms, median(found.rows[i].runtimes_ms))
                    tell(0.0)
                for again in host.remeasure([anchor], 1)[anchor]:
                    if again.status is Status.OK:
                        found.anchors.append((len(found.rows), median(again.runtimes_ms)))

        def tell(waited_s: float) -> None:
            if on_progress is not None:
                failures = sum(row.status is not Status.OK for row in found.rows.values())
                on_progress(Progress(len(found.rows), total, failures, found.best_ms, found.waited_s + waited_s))

        notes = []
        try:
            if whole:
                measure(rng.sample(range(space.size), space.size))
            else:
                measure(space.spread(max(1, round(_SPREAD_SHARE * total)), rng))
                while len(found.rows) < total and (ids := _around_best(space, found.rows, kernel.objective, total)):
                    measure(ids)
        except DeadlineError:
            if not found.rows:
                raise
            notes.append(f"ended at the deadline, after {len(found.rows)} of {total} configurations")
        if stored.problem:
            notes.append(stored.problem)
    result: RecordedSpace | PartialRecord
    if len(found.rows) == space.size:
        rows = tuple(found.rows[i] for i in range(space.size))
        result = RecordedSpace(task, space, rows, kernel.objective, tuple(notes))
    else:
        result = PartialRecord(task, space, found.rows, kernel.objective, tuple(notes))
    write_recording(out, result, _machine(found))
    return result


def _around_best(space: SearchSpace, rows: Mapping[int, Measurement], objective: Objective, total: int) -> list[int]:
    """Unmeasured neighbours of the best configurations, at most as many as are wanted still."""
    good = sorted((objective.value(row), i) for i, row in rows.items() if row.status is Status.OK)
    ids: dict[int, None] = {}
    for _, i in good:
        ids.update(dict.fromkeys(j for j in space.neighbors(i) if j not in rows))
        if ids:
            break
    return list(ids)[: total - len(rows)]


def _machine(found: _Recording) -> dict[str, object]:
    """The machine and how noisy it was."""
    spreads = sorted(
        (median(row.runtimes_ms), _spread(row.runtimes_ms)) for row in found.rows.values() if len(row.runtimes_ms) > 3
    )
    best_tenth = [spread for _, spread in spreads[: max(1, len(spreads) // 10)]]
    anchors = [ms for _, ms in found.anchors]
    return {
        "system": platform.system(),
        "release": platform.release(),
        "processor": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "noise": median(spread for _, spread in spreads) if spreads else None,
        "noise_of_best_tenth": median(best_tenth) if best_tenth else None,
        "anchors": [list(anchor) for anchor in found.anchors],
        "drift": (max(anchors) - min(anchors)) / median(anchors) if anchors else None,
        "waited_s": found.waited_s,
    }


def _spread(samples_ms: Sequence[float]) -> float:
    """Interquartile range as a share of the median."""
    low, middle, high = quantiles(samples_ms, n=4)
    return (high - low) / middle
