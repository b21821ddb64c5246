"""The process that forks one child for each job and makes sure that nothing of a job is left behind.

Standard library only, and started with nothing else imported, so that it starts fast and forks cheaply.
It is the first process of its own process namespace where the system allows that: then one signal ends
whatever a job has started, and the keeper's own end ends everything. Elsewhere it adopts orphans and
searches /proc. A job is a module with a function ``run(arguments, fds)``, which runs in the child, and
perhaps ``prepare(arguments)``, which runs in the keeper before each fork: cheap and harmless.

The child for the next job is forked ahead, once the last job's remains are gone, with the last job's limits, and waits
for its orders: forking and setting up take longer than a small kernel.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, NoReturn

from tunewright.runners.isolation import (
    Limits,
    adopt_orphans,
    die_with_parent,
    end_descendants,
    enter_pid_namespace,
)
from tunewright.runners.seccomp import deny_reaching_out
from tunewright.runners.wire import receive, send

__all__ = ["KEEPERS", "OUTPUT_KEPT_BYTES", "SETUP_FAILED", "main"]

SETUP_FAILED = 120
"""Exit status of a child that failed before, or in, the job's own Python code."""

KEEPERS = 3
"""Processes of a worker between jobs, at most: its guard, the keeper proper and the child forked ahead."""

OUTPUT_KEPT_BYTES = 4096
"""How much of what a job printed is handed on."""

Job = Callable[[Mapping[str, object], Sequence[int]], None]


def main(arguments: Sequence[str]) -> NoReturn:
    """Run as the keeper's program: socket descriptor, the controller's pid, which layers, job modules."""
    fd, controller, namespace, filtered, *modules = arguments
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        connection = socket.socket(fileno=int(fd))
        status = _guard(connection, int(controller), modules, namespace == "1", filtered == "1")
    except BaseException as error:  # whatever it is, the process ends here
        _say(error)
    finally:
        os._exit(status)


def _guard(connection: socket.socket, controller: int, modules: Sequence[str], namespace: bool, filtered: bool) -> int:
    """Start the keeper proper below this process; clean up when it ends, and end it with the controller.

    The controller is watched as a process: a parent-death signal would come when the thread that started
    this process ends.
    """
    note = "switched off"
    if namespace:
        try:
            enter_pid_namespace()
            note = ""
        except OSError as error:
            note = str(error)
    adopt_orphans()
    me = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        try:
            die_with_parent(0 if not note else me)
            _Keeper(connection, modules, filtered=filtered, namespace_note=note).serve()
        except BaseException as error:  # as above
            _say(error)
        finally:
            os._exit(0)
    connection.close()
    poll = select.poll()
    poll.register(os.pidfd_open(keeper), select.POLLIN)
    with contextlib.suppress(ProcessLookupError):
        poll.register(os.pidfd_open(controller), select.POLLIN)
    if os.getppid() == controller:
        poll.poll()
    end_descendants(me)
    return 0


class _Terms(NamedTuple):
    """What is settled about a job before it gets its orders."""

    job: str
    limits: Limits
    folder: str

    @classmethod
    def of(cls, request: Mapping[str, object]) -> _Terms:
        """The terms of a request, which the controller built."""
        return cls(str(request["job"]), Limits(**request["limits"]), str(request.get("folder") or ""))  # type: ignore[arg-type]


@dataclass(slots=True)
class _Child:
    """A child that waits for its orders or carries them out; `output` is the file that it prints into."""

    terms: _Terms
    pid: int
    pidfd: int
    output: int
    orders: socket.socket

    def close(self) -> None:
        """Close this side's descriptors."""
        self.orders.close()
        os.close(self.pidfd)
        os.close(self.output)


class _Keeper:
    """Serves one controller, one job at a time."""

    def __init__(
        self, connection: socket.socket, modules: Sequence[str], *, filtered: bool, namespace_note: str
    ) -> None:
        """Load the job modules and find out which layers work."""
        self._connection = connection
        self._modules = {name: _load(name) for name in modules}
        self._first = not namespace_note
        if not self._first:
            adopt_orphans()
        with contextlib.suppress(OSError):  # children inherit it: when memory runs out, the largest of them goes first
            Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
        layers = {
            "process namespace": namespace_note,
            "orphan adoption": "" if not self._first else "not needed beside the process namespace",
            "resource limits": "",
            "system call filter": self._filter_note() if filtered else "switched off",
        }
        self._filtered = not layers["system call filter"]
        self._spare: _Child | None = None
        gc.collect()
        gc.freeze()  # children then copy fewer pages
        send(connection, {"layers": layers})

    @staticmethod
    def _filter_note() -> str:
        """Try the system call filter in a child; empty when it works, else why not."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                try:
                    deny_reaching_out()
                except OSError as error:
                    os.write(write, str(error).encode()[:512])
            finally:
                os._exit(0)
        os.close(write)
        note = os.read(read, 512).decode(errors="replace")
        os.close(read)
        _, status = os.waitpid(pid, 0)
        return note or ("" if status == 0 else "a process with the filter does not run")

    def serve(self) -> None:
        """Answer requests until the controller goes."""
        while True:
            try:
                request, fds = receive(self._connection)
            except (EOFError, OSError, ValueError):
                return
            terms = _Terms.of(request)
            try:
                answer = self._run(terms, request["arguments"], fds)
            except OSError as error:
                answer = {"lost": f"no process could be started: {error}"}
            finally:
                for fd in fds:
                    os.close(fd)
            send(self._connection, answer)
            with contextlib.suppress(OSError):  # the next job will say so
                self._spare = self._fork(terms)

    def _run(self, terms: _Terms, arguments: object, fds: Sequence[int]) -> dict[str, object]:
        """Let a child do the job, wait for its end or for the deadline, and clean up."""
        with contextlib.suppress(Exception):  # a failure shows again in the child
            self._modules[terms.job].prepare(arguments)
        started = time.monotonic()
        child = self._ordered(terms, arguments, fds)
        try:
            timed_out, stopped = self._wait(child, started + terms.limits.wall_s)
            if timed_out:
                os.kill(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            self._clean()
            return {
                "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "timed_out": timed_out,
                "stopped": stopped,
                "wall_s": time.monotonic() - started,
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_kib": usage.ru_maxrss,
                "output": os.pread(child.output, OUTPUT_KEPT_BYTES, 0).decode(errors="replace"),
            }
        finally:
            child.close()

    def _ordered(self, terms: _Terms, arguments: object, fds: Sequence[int]) -> _Child:
        """A child that has got its orders: the spare one, or a new one if that has other terms or has been killed."""
        orders = {"arguments": arguments}
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError):
                if spare.terms == terms:
                    send(spare.orders, orders, fds)
                    return spare
            self._clean()
            spare.close()
        child = self._fork(terms)
        send(child.orders, orders, fds)
        return child

    def _fork(self, terms: _Terms) -> _Child:
        """Fork a child that waits for its orders."""
        ours, theirs = socket.socketpair()
        output = os.memfd_create("output", os.MFD_CLOEXEC)
        keeper = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._connection.close()
                ours.close()
                self._become_job(terms, keeper, theirs, output)
            except BaseException as error:
                _say(error)
            finally:
                os._exit(SETUP_FAILED)
        theirs.close()
        return _Child(terms, pid, os.pidfd_open(pid), output, ours)

    def _become_job(self, terms: _Terms, keeper: int, orders: socket.socket, output: int) -> None:
        """Wait for the orders and carry them out; returns or raises only before the caller's os._exit."""
        if not self._first:
            die_with_parent(keeper)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        if terms.folder:
            os.chdir(terms.folder)
        terms.limits.apply()
        if self._filtered:
            deny_reaching_out()
        try:
            request, fds = receive(orders)
        except EOFError:
            os._exit(0)  # the keeper has gone
        orders.close()
        job: Job = self._modules[terms.job].run
        job(request["arguments"], fds)  # type: ignore[arg-type]
        os._exit(0)

    def _wait(self, child: _Child, deadline: float) -> tuple[bool, bool]:
        """Wait for the child's end.

        Returns:
            Whether the deadline passed first, and whether the child was then in a stopped state.
        """
        poll = select.poll()
        poll.register(child.pidfd, select.POLLIN)
        poll.register(self._connection, select.POLLHUP | select.POLLRDHUP)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                found = os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
                return True, found is not None
            for fd, _ in poll.poll(min(left, 3600.0) * 1000):
                if fd == child.pidfd:
                    return False, False
                self._clean()
                os._exit(0)  # the controller has gone

    def _clean(self) -> None:
        """End and collect everything the job has left."""
        if self._first and os.getpid() == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            end_descendants(os.getpid())
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, _ = os.waitpid(-1, 0 if self._first else os.WNOHANG)
                if pid == 0:
                    return


def _say(error: BaseException) -> None:
    """Leave the error's words on standard error, without anything that could fail in turn."""
    with contextlib.suppress(OSError):
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace")[:OUTPUT_KEPT_BYTES])


def _load(name: str) -> ModuleType:
    """A job: a module of this package, or a file that needs the standard library only."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    found = importlib.util.spec_from_file_location("job", name)
    if found is None or found.loader is None:
        raise ImportError(f"{name!r} cannot be loaded")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
