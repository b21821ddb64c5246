"""Runs compiled libraries with one kernel's arguments: verification first, then timing."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tunewright.budget import NEVER, Deadline
from tunewright.errors import DeadlineError
from tunewright.kernel.spec import DTYPES, Measuring, Role
from tunewright.measure import CENSORED, CONFIRMED, TRANSIENT, Status
from tunewright.runners.arrays import GUARD_BYTES, Buffers
from tunewright.runners.causes import failure
from tunewright.runners.isolation import Limits
from tunewright.runners.machine import conditions
from tunewright.runners.native import Kind, Page, page_bytes
from tunewright.runners.noise import noise_remarks
from tunewright.runners.placement import Placement
from tunewright.runners.worker import JobEnd, Worker

__all__ = ["JOB", "Launcher", "Outcome", "Run", "call_header", "clock_failure"]

JOB = "tunewright.runners.native"

_BATCH_NS = 50_000
_THREAD_BYTES = 136 << 20  # a thread's stack, and the address space that malloc reserves for it
_CLOCK_SLACK_S = 0.001


def call_header(buffers: Buffers) -> str:
    """C text that calls a kernel with its own signature."""
    types: list[str] = []
    values: list[str] = []
    for number, buffer in enumerate(buffers.items):
        c_type = DTYPES[buffer.argument.dtype]
        if buffer.kind is Kind.SCALAR:
            types.append(c_type)
            values.append(f"*({c_type} *)a[{number}]")
        else:
            pointer = f"const {c_type} *" if buffer.argument.role is Role.IN else f"{c_type} *"
            types.append(pointer)
            values.append(f"({pointer})a[{number}]")
    return (
        "static void tw_call(void *entry, void **a)\n"
        "{\n"
        "    (void)a;\n"
        f"    ((void (*)({', '.join(types) or 'void'}))entry)({', '.join(values)});\n"
        "}\n"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One library to be run.

    Attributes:
        library: path of the shared library.
        entry: the function to call.
        threads: how many threads it will use.
        placement: where they run.
        check: says what is wrong with the results, empty when they are right.
        timed: take samples after the verification call.
        timeout_s: wall seconds for everything.
        slow_ms: a call that takes longer ends sampling at once; 0 for never.
        deadline: when it is ended whatever it does; sampling does not hurry for it.
    """

    library: Path
    entry: str
    threads: int
    placement: Placement
    check: Callable[[], str]
    timed: bool
    timeout_s: float
    slow_ms: float = 0.0
    deadline: Deadline = NEVER


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; ``runtimes_ms`` and metrics only if it was timed."""

    status: Status
    detail: str = ""
    runtimes_ms: tuple[float, ...] = ()
    verify_s: float = 0.0
    benchmark_s: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def with_more(self, again: Outcome) -> Outcome:
        """This outcome and a second one of the same library: its failure if it failed, else all samples."""
        verify_s, benchmark_s = self.verify_s + again.verify_s, self.benchmark_s + again.benchmark_s
        if again.status is not Status.OK:
            return Outcome(again.status, f"worked once, then not: {again.detail}", (), verify_s, benchmark_s)
        samples = self.runtimes_ms + again.runtimes_ms
        remarks = (CONFIRMED, *noise_remarks(samples, self.metrics.get("cpu_ms")))
        return Outcome(Status.OK, self.detail, samples, verify_s, benchmark_s, self.metrics, remarks)


@dataclass(slots=True)
class _Talk:
    """What was seen while the job ran; times are monotonic seconds, 0 where a point was not reached."""

    started: float
    verified: float = 0.0
    timed: float = 0.0
    wrong: str = ""
    wrong_later: str = ""


class Launcher:
    """Runs libraries for one kernel, one at a time."""

    def __init__(self, worker: Worker, shim: Path, buffers: Buffers, measuring: Measuring, folder: Path) -> None:
        """Args: worker: where jobs run; shim: the compiled shim; folder: the jobs' working directory."""
        self._worker, self._shim, self._buffers = worker, shim, buffers
        self._measuring, self._folder = measuring, folder
        self._page_bytes = page_bytes(measuring.samples_max)

    def run(self, run: Run) -> Outcome:
        """Run a library; a failure of the kernel is an outcome.

        Raises:
            RunnerError: no process can be started.
            DeadlineError: the deadline has passed, or came before the end.
        """
        run.deadline.check()
        limits = self._limits(run)
        ours, theirs = socket.socketpair()
        page_fd = os.memfd_create("status", os.MFD_CLOEXEC)
        talk = _Talk(time.monotonic())
        with ours, theirs:
            try:
                os.ftruncate(page_fd, self._page_bytes)

                def attend(last: float) -> None:
                    theirs.close()
                    self._talk(run, ours, page_fd, last, talk)

                fds = [self._buffers.source_fd, self._buffers.target_fd, page_fd, theirs.fileno()]
                end = self._worker.run(
                    JOB, self._arguments(run), fds, limits=limits, folder=self._folder, attend=attend
                )
                page = self._page(page_fd)
            finally:
                os.close(page_fd)
        if end.timed_out and limits.wall_s < run.timeout_s:
            raise DeadlineError("the deadline came while a configuration was measured")
        return self._outcome(run, talk, end, page, limits.memory_bytes or 0)

    def _limits(self, run: Run) -> Limits:
        """What a run may use."""
        buffers, measuring = self._buffers, self._measuring
        memory = buffers.source_bytes + buffers.target_bytes + buffers.array_bytes + self._page_bytes
        memory += (measuring.memory_mib << 20) + (run.threads - 1) * _THREAD_BYTES
        return Limits(
            wall_s=min(run.timeout_s, run.deadline.left_s),
            memory_bytes=memory,
            cpu_s=math.ceil(run.timeout_s * max(run.threads, os.cpu_count() or 1)) + 2,
            output_bytes=measuring.output_kib << 10,
        )

    def _arguments(self, run: Run) -> dict[str, object]:
        """The message to the job; its descriptors are filled in on the other side."""
        buffers, measuring = self._buffers, self._measuring
        repeatable = all(buffer.kind is not Kind.INOUT for buffer in buffers.items)
        job = [len(buffers.items), 0, 0, 0, 0, buffers.source_bytes, buffers.target_bytes, self._page_bytes,
               measuring.warmup, measuring.samples_min, measuring.samples_max,
               int(measuring.sampling_s * 1e9),
               _BATCH_NS if repeatable else 0, GUARD_BYTES, int(run.timeout_s * 0.95e9),
               int(measuring.precision * 1e6), int(run.slow_ms * 1e6)]  # fmt: skip
        return {
            "shim": str(self._shim),
            "library": str(run.library),
            "entry": run.entry,
            "job": job,
            "rows": buffers.rows,
            "cores": list(run.placement.cores),
            "environment": {"OMP_NUM_THREADS": str(run.threads), **run.placement.environment},
        }

    def _page(self, fd: int) -> Page:
        raw = os.pread(fd, self._page_bytes, 0)
        return Page.read(raw.ljust(self._page_bytes, b"\0"), len(self._buffers.items), self._measuring.samples_max)

    def _talk(self, run: Run, channel: socket.socket, page_fd: int, last: float, talk: _Talk) -> None:
        """Look at the results when the job says so, and let it go on or not."""
        with contextlib.suppress(OSError):  # the job has gone; its end tells why
            if _word(channel, last) != b"V":
                return
            if self._page(page_fd).canary is None:
                talk.wrong = run.check()
                go_on = run.timed and not talk.wrong
            else:
                go_on = False
            talk.verified = time.monotonic()
            channel.send(b"T" if go_on else b"Q")
            word = _word(channel, last) if go_on else b""
            while word == b"C":  # a sample whose results are not the verified ones bit for bit
                talk.wrong_later = run.check()
                channel.send(b"Q" if talk.wrong_later else b"T")
                word = _word(channel, last)
            talk.timed = time.monotonic()
            if word == b"D":
                talk.wrong_later = talk.wrong_later or run.check()
                channel.send(b"Q")

    def _outcome(self, run: Run, talk: _Talk, end: JobEnd, page: Page, limit_bytes: int) -> Outcome:
        """Put together what was seen from outside and what the job left."""
        now = time.monotonic()
        verify_s = (talk.verified or now) - talk.started
        benchmark_s = (talk.timed or now) - talk.verified if talk.verified and run.timed else 0.0
        names = [buffer.argument.name for buffer in self._buffers.items]
        failed = failure(end, page, names, self._measuring, limit_bytes)
        if failed is None and talk.wrong:
            failed = Status.WRONG_RESULT, talk.wrong
            benchmark_s = 0.0
        if failed is None and not talk.verified:
            failed = Status.CRASH, "it ended without a word about its result"
        if failed is None and talk.wrong_later:
            failed = Status.WRONG_RESULT, f"right in the first call, wrong in a later one: {talk.wrong_later}"
        if failed is None and run.timed:
            cause = clock_failure(page.wall_ns, page.calls, talk.timed - talk.verified)
            failed = (Status.CRASH, cause) if cause else None
        if failed is not None:
            transient = (TRANSIENT,) if end.lost or end.signal == signal.SIGKILL else ()
            return Outcome(*failed, verify_s=verify_s, benchmark_s=benchmark_s, remarks=transient)
        if not run.timed:
            return Outcome(Status.OK, verify_s=verify_s)
        metrics = {"calls_per_sample": float(page.calls), **conditions(run.placement.cores)}
        if run.threads == 1:
            metrics["cpu_ms"] = statistics.median(page.cpu_ns) / 1e6
        samples = tuple(ns / 1e6 for ns in page.wall_ns)
        if not page.cut:
            remarks = noise_remarks(samples, metrics.get("cpu_ms"))
            return Outcome(Status.OK, "", samples, verify_s, benchmark_s, metrics, remarks)
        detail = f"cut short: a call took {samples[-1]:.4g} ms, more than {run.slow_ms:.4g} ms"
        return Outcome(Status.OK, detail, samples, verify_s, benchmark_s, metrics, (CENSORED,))


def _word(channel: socket.socket, last: float) -> bytes:
    """The job's next word; empty when it has gone, or at the last moment to wait for."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while (left := last - time.monotonic()) > 0:
        if poll.poll(min(left, 3600.0) * 1000):  # what poll(2) takes is limited
            return channel.recv(1)
    return b""


def clock_failure(samples_ns: Sequence[float], calls: int, passed_s: float) -> str:
    """Why the samples cannot be true; empty when all are above zero and fit into the time that passed.

    Args:
        samples_ns: of one call each.
        calls: calls in each sample.
        passed_s: seconds that went by on the controller's own clock meanwhile.
    """
    if not samples_ns:
        return "it ended without a sample"
    if not all(0 < ns < math.inf for ns in samples_ns):
        return f"clock: a sample of {min(samples_ns):g} ns cannot be; the clock was wrong"
    claimed_s = sum(samples_ns) * calls / 1e9
    if claimed_s > 1.02 * passed_s + _CLOCK_SLACK_S:
        return f"clock: the samples add up to {claimed_s * 1e3:.3g} ms, only {passed_s * 1e3:.3g} ms passed"
    return ""
