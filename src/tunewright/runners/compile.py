"""A pool of compiler processes that works ahead, can be asked for one result first, and can be paused."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from tunewright.budget import NEVER, Deadline
from tunewright.errors import RunnerError
from tunewright.runners.toolchain import ENVIRONMENT, Recipe
from tunewright.runners.worker import clean_environment

__all__ = ["CompileLimits", "CompilePool", "Library"]

_LOG_BYTES = 16_384
_MESSAGE_LINES = 12
_FILE_BYTES = 256 << 20
_KEPT = 1024
_LOOK_S = 3600.0  # a wait is limited by what poll(2) takes
_OUT_OF_MEMORY = ("out of memory", "memory exhausted", "cannot allocate memory", "std::bad_alloc")


@dataclass(frozen=True, slots=True)
class CompileLimits:
    """What one compiler call may use: wall seconds, and bytes of address space for each of its processes."""

    wall_s: float
    memory_bytes: int

    @property
    def script(self) -> str:
        """Shell words that set the limits and become the compiler.

        Limits set from outside would come too late for what the compiler starts at once; the limit of
        processor time ends it even if nobody is left to do so.
        """
        limits = {"v": self.memory_bytes >> 10, "f": _FILE_BYTES >> 9, "t": int(self.wall_s * 4) + 60, "c": 0}
        words = "; ".join(f"ulimit -{name} {value} 2>/dev/null" for name, value in limits.items())
        return f'{words}; exec "$@"'


@dataclass(frozen=True, slots=True)
class Library:
    """What became of one command.

    Attributes:
        path: the shared library; None after a failure.
        cpu_s: processor seconds of the compiler with all its processes.
        detail: cause, command and first messages of a failure.
    """

    path: Path | None
    cpu_s: float
    detail: str = ""


@dataclass(slots=True)
class _Running:
    """A compiler at work; times are monotonic seconds."""

    group: int
    yields: bool
    started: float
    paused_at: float | None = None
    paused_s: float = 0.0

    def active_s(self, now: float) -> float:
        """Wall seconds so far, pauses left out."""
        pause = now - self.paused_at if self.paused_at is not None else 0.0
        return now - self.started - self.paused_s - pause


class CompilePool:
    """Makes libraries by their recipes, each distinct one once, several at a time.

    One slot uses all cores and stands still while anything is timed; the others keep off the timing core and
    stand still only in `quiet`. A paused compiler's deadline moves, and its time is counted as processor
    seconds, so that pausing does not show in any figure.
    """

    def __init__(
        self,
        working: Path,
        limits: CompileLimits,
        *,
        jobs: int,
        cores: Set[int],
        kept_free: Set[int],
    ) -> None:
        """Args: working: the compilers' directory; cores: for them; kept_free: of these, the timing cores."""
        self._working, self._limits = working, limits
        self._apart = set(cores) - kept_free
        self._cores = cores
        self._changed = threading.Condition()
        self._waiting: deque[Recipe] = deque()
        self._pending: set[Recipe] = set()  # waiting or at work
        self._done: dict[Recipe, Library] = {}
        self._used: OrderedDict[Recipe, None] = OrderedDict()
        self._running: list[_Running] = []
        self._pinned: frozenset[Recipe] = frozenset()
        self._quiet = self._timed = 0
        self._closed = False
        self._failure: BaseException | None = None
        yielding = [True] + [False] * (jobs - 1) if self._apart else [True] * jobs
        self._threads = [
            threading.Thread(target=self._work, args=(yields,), name="tunewright-compile", daemon=True)
            for yields in yielding
        ]
        for thread in self._threads:
            thread.start()

    def request(self, recipes: Sequence[Recipe]) -> None:
        """Queue recipes behind what is already waiting."""
        with self._changed:
            for recipe in recipes:
                if recipe not in self._pending and recipe not in self._done:
                    self._pending.add(recipe)
                    self._waiting.append(recipe)
            self._changed.notify_all()

    def get(self, recipe: Recipe, deadline: Deadline = NEVER) -> Library:
        """Wait for one recipe's result, but not beyond a deadline; it is compiled next.

        Raises:
            RunnerError: the pool is closed, or no compiler can be started.
            DeadlineError: the deadline came first.
        """
        with self._changed:
            if recipe in self._pending:
                with contextlib.suppress(ValueError):  # at work already
                    self._waiting.remove(recipe)
                    self._waiting.appendleft(recipe)
            elif recipe not in self._done:
                self._pending.add(recipe)
                self._waiting.appendleft(recipe)
            self._changed.notify_all()
            while recipe not in self._done:
                if self._failure is not None:
                    raise RunnerError(f"cannot start the compiler: {self._failure}") from self._failure
                if self._closed:
                    raise RunnerError("this runner is closed; make a new one")
                deadline.check()
                self._changed.wait(min(deadline.left_s, _LOOK_S))
            library = self._done[recipe]
            self._forget_old(recipe)
            return library

    def _forget_old(self, recipe: Recipe) -> None:
        """Delete libraries that were used long ago; they are compiled anew if they are asked for again."""
        self._used[recipe] = None
        self._used.move_to_end(recipe)
        for oldest in list(self._used)[: max(0, len(self._used) - _KEPT)]:
            if oldest in self._pinned:
                continue
            del self._used[oldest]
            old = self._done.pop(oldest, None)
            if old is not None and old.path is not None:
                old.path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def keeping(self, recipes: Sequence[Recipe], deadline: Deadline = NEVER) -> Iterator[None]:
        """Compile these, until a deadline, and do not forget their libraries meanwhile.

        Raises:
            RunnerError, DeadlineError: as for `get`.
        """
        self._pinned = frozenset(recipes)
        try:
            self.request(recipes)
            for recipe in recipes:
                self.get(recipe, deadline)
            yield
        finally:
            self._pinned = frozenset()

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Keep the timing core free meanwhile."""
        with self._changed:
            self._timed += 1
            self._pause_and_resume()
        try:
            yield
        finally:
            with self._changed:
                self._timed -= 1
                self._pause_and_resume()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Let no compiler run meanwhile."""
        with self._changed:
            self._quiet += 1
            self._pause_and_resume()
        try:
            yield
        finally:
            with self._changed:
                self._quiet -= 1
                self._pause_and_resume()

    def _held(self, yields: bool) -> bool:
        return self._quiet > 0 or (yields and self._timed > 0)

    def _pause_and_resume(self) -> None:
        """Bring every running compiler into the state it should be in; the lock is held."""
        now = time.monotonic()
        for running in self._running:
            held = self._held(running.yields)
            if held and running.paused_at is None:
                running.paused_at = now
                _signal_group(running.group, signal.SIGSTOP)
            elif not held and running.paused_at is not None:
                running.paused_s += now - running.paused_at
                running.paused_at = None
                _signal_group(running.group, signal.SIGCONT)
        self._changed.notify_all()

    def close(self) -> None:
        """End all compilers and threads; calling it twice is allowed."""
        with self._changed:
            self._closed = True
            for running in self._running:
                _signal_group(running.group, signal.SIGKILL)
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self, yields: bool) -> None:
        """One slot's thread: takes commands until the pool is closed."""
        with contextlib.suppress(OSError):  # children inherit it from the thread that starts them
            os.sched_setaffinity(0, self._cores if yields else self._apart)
        while True:
            with self._changed:
                while not self._closed and (not self._waiting or self._held(yields)):
                    self._changed.wait()
                if self._closed:
                    return
                recipe = self._waiting.popleft()
                try:
                    process, running = self._start(recipe, yields)
                    library = None
                except ValueError as error:
                    library = Library(None, 0.0, f"the compiler cannot be called like this: {error}")
                except OSError as error:
                    if error.errno != errno.E2BIG:
                        self._give_up(error)
                        return
                    library = Library(None, 0.0, "the compiler cannot be called: its arguments are too long")
            if library is None:
                try:
                    library = self._finish(recipe, process, running)
                except OSError as error:
                    with self._changed:
                        self._give_up(error)
                    return
            with self._changed:
                self._pending.discard(recipe)
                self._done[recipe] = library
                self._changed.notify_all()

    def _give_up(self, error: OSError) -> None:
        """No compiler can be run: whoever waits is told; the lock is held."""
        self._failure = error
        self._changed.notify_all()

    def _start(self, recipe: Recipe, yields: bool) -> tuple[subprocess.Popen[bytes], _Running]:
        """Start one compiler; the lock is held, so that no pause is missed."""
        with recipe.output.with_suffix(".log").open("wb") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self._limits.script, "sh", *recipe.command],
                cwd=self._working,
                env={**clean_environment(ENVIRONMENT), "TMPDIR": str(recipe.output.parent)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        running = _Running(process.pid, yields, time.monotonic())
        self._running.append(running)
        return process, running

    def _finish(self, recipe: Recipe, process: subprocess.Popen[bytes], running: _Running) -> Library:
        """Wait for a compiler, or end it at its deadline."""
        output = recipe.output
        timed_out = self._wait(process.pid, running)
        with self._changed:
            _signal_group(running.group, signal.SIGKILL)  # itself at its deadline, or what it has left behind
            _, status, usage = os.wait4(process.pid, 0)
            self._running.remove(running)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        log = output.with_suffix(".log")
        text = _beginning(log)
        log.unlink(missing_ok=True)
        if not timed_out and process.returncode == 0 and output.exists():
            return Library(output, cpu_s)
        output.unlink(missing_ok=True)
        cause = self._cause(timed_out, process.returncode, text)
        messages = "\n".join(text.splitlines()[:_MESSAGE_LINES])
        parts = (cause, shlex.join(recipe.command), messages)
        return Library(None, cpu_s, "\n".join(part for part in parts if part))

    def _wait(self, pid: int, running: _Running) -> bool:
        """Wait until a process ends; True when its deadline came first."""
        pidfd = os.pidfd_open(pid)
        try:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            while True:
                with self._changed:
                    left = self._limits.wall_s - running.active_s(time.monotonic())
                if left <= 0:
                    return True
                if poll.poll(min(max(left, 0.01), _LOOK_S) * 1000):
                    return False
        finally:
            os.close(pidfd)

    def _cause(self, timed_out: bool, code: int, text: str) -> str:
        """Why a compiler failed, in one line."""
        if timed_out:
            return f"the compiler did not finish within {self._limits.wall_s:g} s"
        if any(words in text.lower() for words in _OUT_OF_MEMORY):
            return f"the compiler needed more than {self._limits.memory_bytes >> 20} MiB of memory"
        if code < 0:
            return f"the compiler was ended by signal {-code} ({signal.strsignal(-code)})"
        return f"the compiler reports errors (exit status {code})"


def _signal_group(group: int, number: int) -> None:
    """Signal a process group that may have gone."""
    try:
        os.killpg(group, number)
    except OSError as error:
        if error.errno not in (errno.ESRCH, errno.EPERM):
            raise


def _beginning(log: Path) -> str:
    """The start of a log file."""
    try:
        with log.open("rb") as stream:
            return stream.read(_LOG_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""
