"""Runs jobs in processes that can be ended with everything they have started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tunewright.errors import RunnerError
from tunewright.runners.isolation import Isolation, Limits, end_descendants
from tunewright.runners.wire import receive, send

__all__ = ["JobEnd", "Layer", "Worker", "clean_environment", "layers"]

_PACKAGE = Path(__file__).resolve().parent.parent
# The package's own start-up code would import numpy and more; the keeper needs two empty stand-ins instead.
_START = """\
import sys, types
for name, folder in (("tunewright", sys.argv[1]), ("tunewright.runners", sys.argv[1] + "/runners")):
    package = types.ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package
from tunewright.runners.keeper import main
main(sys.argv[2:])
"""
_ALLOWED = frozenset({"PATH", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})
_ALLOWED_PREFIXES = ("LC_", "OMP_", "GOMP_", "KMP_")
_GRACE_S = 10.0
_START_S = 30.0
_ENDED_EARLY = "the process that looks after the job has ended"


def clean_environment(extra: frozenset[str] = frozenset()) -> dict[str, str]:
    """What a child may see of the environment: search paths, language and OpenMP, no keys or tokens."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name in extra or name.startswith(_ALLOWED_PREFIXES)
    }


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of isolation: its name, whether it is on, and why not."""

    name: str
    on: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended.

    Attributes:
        exit: exit status, None when a signal ended it or the keeper is gone.
        signal: number of the signal that ended it, None otherwise.
        timed_out: the wall limit passed.
        stopped: it was in a stopped state at that time.
        lost: the keeper itself ended or fell silent and was replaced; nothing is known about the job.
        wall_s: wall seconds.
        cpu_s: processor seconds.
        peak_kib: largest resident memory, in KiB.
        output: the beginning of what it printed.
    """

    exit: int | None = None
    signal: int | None = None
    timed_out: bool = False
    stopped: bool = False
    lost: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_kib: int = 0
    output: str = ""


@dataclass(slots=True)
class _Keeper:
    """A running keeper process as the controller sees it."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    layers: tuple[Layer, ...]
    words: IO[bytes] = field(repr=False)

    @property
    def alive(self) -> bool:
        """Whether it would answer: the process runs and its end of the connection is open."""
        if self.process.poll() is not None:
            return False
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | select.POLLRDHUP)
        return not poll.poll(0)

    def end(self) -> None:
        """End it and everything below it."""
        self.connection.close()  # asks it to go
        if self.process.poll() is None:
            end_descendants(self.process.pid)
            self.process.kill()
        self.process.wait()
        self.words.close()


class Worker:
    """Runs one job at a time in a fresh child of a keeper process; replaces the keeper when it is lost.

    Safe to use from several threads; jobs then wait for each other.

    Example::

        with Worker(["tunewright.runners.native"]) as worker:
            end = worker.run("tunewright.runners.native", arguments, limits=Limits(wall_s=1.0))
    """

    def __init__(self, jobs: Sequence[str], *, isolation: Isolation | None = None) -> None:
        """Args: jobs: modules, or .py files, with ``run(arguments, fds)``; isolation: None for all layers."""
        self._jobs = tuple(jobs)
        self._isolation = isolation or Isolation()
        self._keeper: _Keeper | None = None
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of isolation in use; starts the keeper.

        Raises:
            RunnerError: the keeper does not start.
        """
        with self._lock:
            return self._ready().layers

    def run(
        self,
        job: str,
        arguments: Mapping[str, object],
        fds: Sequence[int] = (),
        *,
        limits: Limits,
        folder: Path | None = None,
        attend: Callable[[float], None] | None = None,
    ) -> JobEnd:
        """Run one job to its end.

        Args:
            job: the job's module.
            arguments: for the job, JSON.
            fds: descriptors handed to the job.
            limits: what it may use.
            folder: its working directory.
            attend: called once, to talk to the job over descriptors of the caller's own; it gets the
                monotonic time at which to give up, and must return when the job's end closes them.

        Raises:
            RunnerError: no keeper can be started.
        """
        with self._lock:
            keeper = self._ready()
            request = {
                "job": job,
                "arguments": arguments,
                "limits": asdict(limits),
                "folder": str(folder) if folder else None,
            }
            last = time.monotonic() + limits.wall_s + _GRACE_S
            try:
                keeper.connection.settimeout(_GRACE_S)
                send(keeper.connection, request, fds)
                if attend is not None:
                    attend(last)
                keeper.connection.settimeout(max(last - time.monotonic(), 0.001))
                answer, stray = receive(keeper.connection)
                for fd in stray:
                    os.close(fd)
                return JobEnd(**answer)  # type: ignore[arg-type]
            except TimeoutError:
                self._drop()
                return JobEnd(timed_out=True, lost="the process that looks after the job did not answer")
            except (EOFError, OSError, ValueError, TypeError):
                self._drop()
                return JobEnd(lost=_ENDED_EARLY)
            except BaseException:
                self._drop()
                raise

    def close(self) -> None:
        """End the keeper and everything below it; calling it twice is allowed."""
        with self._lock:
            self._drop()
            self._closed = True

    def abort(self) -> None:
        """End the job that another thread is running, if any, and close."""
        keeper = self._keeper
        if keeper is not None and self._lock.locked():
            end_descendants(keeper.process.pid)
            with contextlib.suppress(ProcessLookupError):
                keeper.process.kill()
        self.close()

    def _drop(self) -> None:
        """End the present keeper; the next job gets a new one."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.end()

    def _ready(self) -> _Keeper:
        """The keeper, started or replaced as needed."""
        if self._closed:
            raise RunnerError("this worker is closed; make a new one")
        if self._keeper is not None and not self._keeper.alive:
            self._drop()
        if self._keeper is None:
            self._keeper = self._start()
        return self._keeper

    def _start(self) -> _Keeper:
        """Start a keeper and hear which layers it has."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the keeper
        switches = [str(int(self._isolation.namespace)), str(int(self._isolation.filter))]
        command = [sys.executable, "-I", "-S", "-c", _START, str(_PACKAGE), str(theirs.fileno())]
        try:
            process = subprocess.Popen(
                [*command, str(os.getpid()), *switches, *self._jobs],
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            words.close()
            raise RunnerError(f"cannot start {sys.executable!r} to isolate jobs: {error}") from error
        finally:
            theirs.close()
        keeper = _Keeper(process, ours, (), words)
        try:
            ours.settimeout(_START_S)
            hello, _ = receive(ours)
            notes = hello["layers"]
            if not isinstance(notes, dict):
                raise ValueError("no layers")
            keeper.layers = tuple(Layer(str(name), not note, str(note)) for name, note in notes.items())
        except (EOFError, OSError, ValueError, KeyError) as error:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGKILL)
            process.wait()
            words.seek(0)
            said = words.read(2000).decode(errors="replace").strip()
            keeper.end()
            raise RunnerError(f"the process that isolates jobs did not start: {said or error}") from error
        return keeper


def layers() -> tuple[Layer, ...]:
    """Which layers of isolation work on this machine; starts and ends a worker.

    Raises:
        RunnerError: none works: not even the worker starts.
    """
    with Worker([]) as worker:
        return worker.layers
