"""Cells of a comparison, one contestant on one space with some seeds: run in limited processes, kept for ever."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from tunewright.bench.contestant import Contestant
from tunewright.bench.prepared import Prepared, cache_folder
from tunewright.bench.runs import Run, pack, unpack
from tunewright.errors import OptionError, RecordError
from tunewright.runners.isolation import Limits
from tunewright.runners.worker import JobEnd, Worker

__all__ = ["CHUNK", "Cell", "Conditions", "run_cells"]

CHUNK = 25
"""Runs in one process; a cell's seeds are cut into such pieces, so that more repeats later reuse the first ones."""

_JOB = str(Path(__file__).with_name("cell_job.py"))
_OUTPUT_BYTES = 256 << 20
_HUNG = 2  # runs of a piece that may exceed their time before the rest of it is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How runs are made; part of a cell's identity.

    Attributes:
        seconds: budget on the tuning clock, None for no limit.
        evaluations: budget in distinct configurations, None for no limit.
        seed: of all random numbers; each run has its own, made of this, the space's name and the run's number.
        noise: every evaluation is answered with one of the recorded samples, drawn at random.
        shuffled: costs and durations are dealt out anew to the configurations in each run: the null space.
        charge: how many seconds on the tuning clock a processor second of the optimizer costs.
        published: count seconds as the published score does.
    """

    seconds: float | None = None
    evaluations: int | None = None
    seed: int = 0
    noise: bool = False
    shuffled: bool = False
    charge: float = 0.0
    published: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A contestant on a space: runs number `first` to `first` + `count` - 1."""

    contestant: Contestant
    prepared: Prepared
    conditions: Conditions
    first: int
    count: int

    @property
    def key(self) -> str:
        """Identity of the results."""
        parts = [
            self.contestant.kind,
            self.contestant.target if self.contestant.kind != "tunewright" else "",
            self.contestant.code,
            dict(self.contestant.options),
            self.prepared.key,
            self.prepared.name,
            asdict(self.conditions),
            self.first,
            self.count,
        ]
        return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:40]


def run_cells(
    cells: Sequence[Cell],
    *,
    jobs: int | None = None,
    run_timeout_s: float = 120.0,
    memory_mib: int = 2048,
    folder: Path | None = None,
    on_done: Callable[[Cell, bool], None] | None = None,
) -> list[list[Run]]:
    """Run cells, or take their results from the cache.

    A run whose process ends, hangs or breaks its limits is a run that failed: it is not tried again.

    Args:
        cells: what to run.
        jobs: processes at the same time; None: one for each core.
        run_timeout_s: wall seconds for one run.
        memory_mib: address space of a process beyond what it has at its start.
        folder: where results are kept; None: in the user's cache.
        on_done: called after each cell, with whether it was known already.

    Returns:
        The runs of each cell.

    Raises:
        OptionError: a hyper-parameter that does not fit, a foreign tuner that is not installed.
        RunnerError: no process can be started.
    """
    home = (folder or cache_folder()) / "cells"
    found: dict[int, list[Run]] = {}
    for number, cell in enumerate(cells):
        with suppress(OSError, RecordError):
            found[number] = unpack((home / f"{cell.key}.npz").read_bytes(), cell.prepared.space.size)
            if on_done is not None:
                on_done(cell, True)
    missing = [number for number in range(len(cells)) if number not in found]
    if missing:
        limits = Limits(
            wall_s=run_timeout_s,
            memory_bytes=memory_mib << 20,
            cpu_s=int(run_timeout_s * CHUNK) + 1,
            output_bytes=_OUTPUT_BYTES,
        )
        for number, runs in _run_all([(number, cells[number]) for number in missing], jobs, limits):
            found[number] = runs
            _keep(home, cells[number], runs)
            if on_done is not None:
                on_done(cells[number], False)
    return [found[number] for number in range(len(cells))]


def _run_all(cells: Sequence[tuple[int, Cell]], jobs: int | None, limits: Limits) -> Iterator[tuple[int, list[Run]]]:
    """Run cells side by side, each thread with a worker of its own; in the order in which they end."""
    todo = queue.SimpleQueue[tuple[int, Cell]]()
    done = queue.SimpleQueue[tuple[int, list[Run] | BaseException]]()
    for each in cells:
        todo.put(each)
    stop = threading.Event()

    def work(worker: Worker) -> None:
        number = -1
        try:
            while not stop.is_set():
                number, cell = todo.get_nowait()
                done.put((number, _run_cell(cell, worker, limits, stop)))
        except queue.Empty:
            pass
        except BaseException as error:  # passed on to the caller's thread
            done.put((number, error))

    workers = [Worker([_JOB]) for _ in range(max(1, min(jobs or len(os.sched_getaffinity(0)), len(cells))))]
    threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in cells:
            number, runs = done.get()
            if isinstance(runs, BaseException):
                raise runs
            yield number, runs
    finally:
        stop.set()
        for worker in workers:
            worker.abort()
        for thread in threads:
            thread.join()


def _run_cell(cell: Cell, worker: Worker, limits: Limits, stop: threading.Event) -> list[Run]:
    """All runs of a cell; what a process leaves undone the next one does."""
    runs: list[Run] = []
    hung = 0
    while len(runs) < cell.count and not stop.is_set():
        if hung >= _HUNG:
            last = runs[-1].failure
            runs += [Run(np.zeros(0, np.int32), failure=last)] * (cell.count - len(runs))
            break
        rest = cell.count - len(runs)
        part = replace(cell, first=cell.first + len(runs), count=rest)
        got, end = _process(part, worker, replace(limits, wall_s=limits.wall_s * rest))
        runs += got[:rest]
        if len(got) < rest:
            runs.append(Run(np.zeros(0, np.int32), failure=_cause(end)))
            hung += 1
    return runs


def _process(cell: Cell, worker: Worker, limits: Limits) -> tuple[list[Run], JobEnd]:
    """Run a cell in one process; fewer runs come back if it does not get to the end."""
    output = os.memfd_create("runs", os.MFD_CLOEXEC)
    arguments = {
        "folder": str(cell.prepared.folder),
        "name": cell.prepared.name,
        "kind": cell.contestant.kind,
        "target": cell.contestant.target,
        "options": dict(cell.contestant.options),
        "conditions": asdict(cell.conditions),
        "first": cell.first,
        "count": cell.count,
    }
    try:
        end = worker.run(_JOB, arguments, [output], limits=limits)
        raw = os.pread(output, _OUTPUT_BYTES, 0)
    finally:
        os.close(output)
    runs: list[Run] = []
    while raw:
        length, kind = int.from_bytes(raw[:8], "little"), raw[8:9]
        body, raw = raw[9 : 9 + length], raw[9 + length :]
        if len(body) < length:
            break
        if kind == b"E":
            raise OptionError(body.decode(errors="replace"))
        try:
            runs += unpack(body, cell.prepared.space.size)
        except RecordError:
            break
    return runs, end


def _cause(end: JobEnd) -> str:
    """Why a process did not get to its end."""
    if end.lost:
        return end.lost
    if end.timed_out:
        return "timeout"
    if end.signal is not None:
        return f"ended by signal {end.signal}"
    words = end.output.strip().splitlines()
    return words[-1] if words else f"ended with status {end.exit}"


def _keep(home: Path, cell: Cell, runs: Sequence[Run]) -> None:
    """Write results into the cache; what cannot be kept is made again next time."""
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        file = home / f"{cell.key}.npz"
        partial = file.with_suffix(f".{os.getpid()}.{threading.get_ident()}.partial")
        partial.write_bytes(pack(runs))
        partial.replace(file)
