"""Runners for anything that measures itself: a shell command, or a Python function.

Each measurement runs in a process of its own below an isolated worker, with limits on memory, time and output, and
whatever it starts is ended with it. The answer is a number (milliseconds), a list of numbers (samples), or an object
with ``runtime_ms`` or ``runtimes_ms`` and further metrics. A command prints it as the last line of its output.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from tunewright.budget import NEVER, Deadline
from tunewright.errors import DeadlineError, OptionError, RunnerError, SpecificationError
from tunewright.kernel.spec import Kernel, Value
from tunewright.measure import TRANSIENT, Measurement, Status, Task
from tunewright.runners.isolation import Isolation, Limits
from tunewright.runners.machine import conditions, cpu_name
from tunewright.runners.toolchain import macro_text
from tunewright.runners.worker import JobEnd, Worker
from tunewright.space import SearchSpace

__all__ = ["ProgramRunner", "parse_answer"]

_JOB = "tunewright.runners.program_job"
_ANSWER_BYTES = 1 << 20
_TAIL = 300
_SHELL_SIGNAL = 128  # a shell ends with this plus the number of the signal that ended its command


class ProgramRunner:
    """Measures configurations by running a command (``kernel.command``) or a Python function.

    Attributes:
        deadline: when whatever runs is ended, and nothing new begins; may be moved between calls.

    Raises:
        SpecificationError: the command or function cannot be found.
    """

    def __init__(self, kernel: Kernel, space: SearchSpace | None = None, *, deadline: Deadline = NEVER) -> None:
        """Make sure that there is something to run.

        Args:
            kernel: of language ``command`` or ``python``.
            space: its configurations; None: the kernel's own space.
            deadline: when whatever runs is ended, and nothing new begins.
        """
        self._kernel, self.deadline = kernel, deadline
        self._space = kernel.space if space is None else space
        if kernel.language == "command" and not kernel.command:
            raise SpecificationError("names no command", key="kernel.command")
        if kernel.language == "python" and not kernel.source.is_file():
            raise SpecificationError(f"no file {str(kernel.source)!r}", key="kernel.source")
        self._folder = tempfile.TemporaryDirectory(prefix="tunewright-")
        # A command has to start processes; those it leaves behind are ended with its namespace.
        self._worker = Worker([_JOB], isolation=Isolation(filter=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def task(self) -> Task:
        """What is tuned, where and with what."""
        kernel = self._kernel
        return Task(
            kernel=kernel.name,
            device=cpu_name(),
            problem=dict(kernel.problem),
            toolchain=f"Python {platform.python_version()}" if kernel.language == "python" else "",
            source_digest=_digest(kernel),
            settings={
                "method": 1,
                "language": kernel.language,
                "command": list(kernel.command),
                "entry": kernel.entry,
                "measuring": {n: v for n, v in asdict(kernel.measuring).items() if n not in ("leaders", "rounds")},
            },
        )

    @property
    def remarks(self) -> list[str]:
        """Nothing to remark: the program answers for its results."""
        return []

    def prepare(self, ids: Sequence[int]) -> None:
        """Nothing to prepare."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """Run each configuration once; one measurement for each id, in the same order.

        Raises:
            RunnerError: no process can be started.
            DeadlineError: the deadline has passed, or came before the end.
        """
        return [self._one(self._space.config(i)) for i in ids]

    def learn(self, measured: Measurement) -> None:
        """Nothing to learn: each program runs to its end."""

    def remeasure(self, ids: Sequence[int], rounds: int) -> dict[int, list[Measurement]]:
        """Run some configurations again, interleaved, as many of the rounds as are done before the deadline."""
        found: dict[int, list[Measurement]] = {i: [] for i in ids}
        with contextlib.suppress(DeadlineError):
            for turn in range(rounds):
                order = list(found)
                taken = {i: self._one(self._space.config(i)) for i in (reversed(order) if turn % 2 else order)}
                for i, measured in taken.items():
                    found[i].append(measured)
        return found

    def close(self) -> None:
        """End all processes and remove all files; calling it twice is allowed."""
        self._worker.close()
        self._folder.cleanup()

    def _one(self, configuration: Mapping[str, Value]) -> Measurement:
        self.deadline.check()
        measuring = self._kernel.measuring
        wall_s = min(measuring.timeout_s, self.deadline.left_s)
        answer = os.memfd_create("answer", os.MFD_CLOEXEC)
        try:
            end = self._worker.run(
                _JOB,
                self._arguments(configuration),
                [answer],
                limits=Limits(
                    wall_s=wall_s,
                    memory_bytes=measuring.memory_mib << 20,
                    cpu_s=math.ceil(measuring.timeout_s) * (os.cpu_count() or 1) + 2,
                    output_bytes=measuring.output_kib << 10,
                ),
                folder=Path(self._folder.name),
            )
            size = os.fstat(answer).st_size
            text = os.pread(answer, _ANSWER_BYTES, max(size - _ANSWER_BYTES, 0)).decode(errors="replace")
        finally:
            os.close(answer)
        if end.timed_out and wall_s < measuring.timeout_s:
            raise DeadlineError("the deadline came while a configuration was measured")
        return self._measurement(end, text)

    def _arguments(self, configuration: Mapping[str, Value]) -> dict[str, object]:
        values = {**self._kernel.problem, **configuration}
        if self._kernel.language == "python":
            return {
                "file": str(self._kernel.source.resolve()),
                "function": self._kernel.entry,
                "values": values,
                "warmup": self._kernel.measuring.warmup,
                "samples": self._kernel.measuring.samples_min,
            }
        words = [_filled(word, values) for word in self._kernel.command]
        return {"command": words, "folder": str(_folder(self._kernel))}

    def _measurement(self, end: JobEnd, text: str) -> Measurement:
        said = (text or end.output).strip()[-_TAIL:]
        words = f"; it said: {said}" if said else ""
        if end.lost:
            return Measurement(Status.CRASH, detail=end.lost, remarks=(TRANSIENT,))
        if end.timed_out:
            limit = self._kernel.measuring.timeout_s
            return Measurement(Status.TIMEOUT, benchmark_s=end.wall_s, detail=f"not done within {limit:g} s{words}")
        if signal.SIGXFSZ in (end.signal, (end.exit or 0) - _SHELL_SIGNAL):
            limit_kib = self._kernel.measuring.output_kib
            detail = f"output limit: wrote more than {limit_kib} KiB to standard output or a file"
            return Measurement(Status.CRASH, benchmark_s=end.wall_s, detail=detail)
        if end.signal is not None:
            detail = f"ended by signal {end.signal}{words}"
            return Measurement(Status.CRASH, benchmark_s=end.wall_s, detail=detail)
        if end.exit:
            detail = f"ended with exit status {end.exit}{words}"
            return Measurement(Status.CRASH, benchmark_s=end.wall_s, detail=detail)
        try:
            runtimes_ms, metrics = parse_answer(text)
        except OptionError as error:
            return Measurement(Status.WRONG_RESULT, benchmark_s=end.wall_s, detail=f"{error}{words}")
        metrics = {**conditions(()), **metrics}
        return Measurement(Status.OK, runtimes_ms, benchmark_s=end.wall_s, metrics=metrics)


def parse_answer(text: str) -> tuple[tuple[float, ...], dict[str, float]]:
    r"""Samples in milliseconds and further metrics from the last line of an answer.

    Raises:
        OptionError: it is no number, list or object of numbers, or a time is not above zero.

    >>> parse_answer("warming up\n3.5\n")
    ((3.5,), {})
    >>> parse_answer('{"runtimes_ms": [2, 3], "energy_j": 0.5}')
    ((2.0, 3.0), {'energy_j': 0.5})
    """
    lines = text.strip().splitlines()
    if not lines:
        raise OptionError("it gave no answer")
    try:
        answer: Any = json.loads(lines[-1])
    except (ValueError, RecursionError):
        raise OptionError(f"its last line is neither a number nor JSON: {lines[-1][:80]!r}") from None
    metrics = {}
    if isinstance(answer, dict):
        metrics = {str(name): value for name, value in answer.items() if name not in ("runtime_ms", "runtimes_ms")}
        answer = answer.get("runtimes_ms", answer.get("runtime_ms", []))
    samples = answer if isinstance(answer, list) else [answer]
    if not samples and not metrics:
        raise OptionError("its answer holds no number")
    for number in [*samples, *metrics.values()]:
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise OptionError(f"its answer holds {number!r}, which is no finite number")
    if any(number <= 0 for number in samples):
        raise OptionError(f"it claims a time of {min(samples)!r} ms; a time is above zero")
    return tuple(map(float, samples)), {name: float(value) for name, value in metrics.items()}


def _filled(word: str, values: Mapping[str, Value]) -> str:
    """A word of the command with ``{NAME}`` replaced."""
    for name, value in values.items():
        word = word.replace("{" + name + "}", macro_text(value))
    return word


def _folder(kernel: Kernel) -> Path:
    """Where a command runs."""
    source = kernel.source.resolve()
    return source if source.is_dir() else source.parent


def _digest(kernel: Kernel) -> str:
    """sha256 over the source and every word of the command that is a file beside it."""
    digest = sha256()
    folder = _folder(kernel)
    for file in dict.fromkeys([kernel.source, *(folder / word for word in kernel.command)]):
        if file.is_file():
            try:
                digest.update(file.read_bytes())
            except OSError as error:
                raise RunnerError(f"cannot read {str(file)!r}: {error.strerror}") from error
    return digest.hexdigest()
