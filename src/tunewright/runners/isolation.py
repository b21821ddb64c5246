"""What the operating system offers to keep a job in bounds: namespaces, limits, and an end for all it starts.

Standard library only: this module is imported by the keeper process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tunewright.runners.seccomp import this_process

__all__ = [
    "Isolation",
    "Limits",
    "address_space_bytes",
    "adopt_orphans",
    "die_with_parent",
    "end_descendants",
    "enter_pid_namespace",
]

_CLONE_NEWPID, _CLONE_NEWUSER = 0x20000000, 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SWEEPS = 2000


@dataclass(frozen=True, slots=True)
class Isolation:
    """Which layers to use where the system has them.

    Attributes:
        namespace: a process namespace for the keeper; off: it adopts orphans and searches /proc for them.
        filter: the system call filter.
    """

    namespace: bool = True
    filter: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one job may use; None for no limit.

    Attributes:
        wall_s: seconds from the start of the job to its forced end.
        memory_bytes: address space beyond what the process has at its start.
        cpu_s: processor seconds, all threads together.
        output_bytes: size of any one file written, standard output included.
        files: open files.
    """

    wall_s: float
    memory_bytes: int | None = None
    cpu_s: int | None = None
    output_bytes: int | None = None
    files: int | None = 256

    def apply(self) -> None:
        """Set the limits that the kernel enforces on the calling process.

        Raises:
            OSError: a limit cannot be set.
        """
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        if soft == resource.RLIM_INFINITY or soft > 64 << 20:
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, hard))
        if self.memory_bytes is not None:
            _lower(resource.RLIMIT_AS, address_space_bytes() + self.memory_bytes)
        if self.cpu_s is not None:
            _lower(resource.RLIMIT_CPU, self.cpu_s)
        if self.output_bytes is not None:
            _lower(resource.RLIMIT_FSIZE, self.output_bytes)
        if self.files is not None:
            _lower(resource.RLIMIT_NOFILE, self.files)


def _lower(kind: int, value: int) -> None:
    """Set a limit, never above the one in force."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def address_space_bytes() -> int:
    """Address space of the calling process in bytes; 0 where /proc is missing."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()


def _prctl(option: int, value: int) -> None:
    """Call prctl(2), or raise OSError."""
    libc = this_process()
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def die_with_parent(parent: int) -> None:
    """End the calling process as soon as its parent does; ends it now when `parent` has already gone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make the calling process the parent of all its descendants whose own parents end."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def enter_pid_namespace() -> None:
    """Let the next child be the first process of a new process namespace.

    As root directly, else inside a user namespace in which the user keeps their own number.

    Raises:
        OSError: the system refuses.
    """
    libc = this_process()
    if libc.unshare(_CLONE_NEWPID) == 0:
        return
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID):
        raise OSError(ctypes.get_errno(), "a process namespace was refused")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with contextlib.suppress(OSError):  # without the maps the process runs as nobody, still isolated
            Path("/proc/self", name).write_text(text, "ascii")


def _parents() -> Iterator[tuple[int, int]]:
    """(process, parent) of everything in /proc."""
    try:
        entries = os.listdir("/proc")  # noqa: PTH208 - names, not paths
    except OSError:
        return
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # ended while we looked
        if fields and fields[0] not in (b"Z", b"X"):
            yield int(entry), int(fields[1])


def _descendants(root: int) -> list[int]:
    """Living processes below `root`, found through their parents."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found: list[int] = []
    stack = [root]
    while stack:
        below = children.get(stack.pop(), [])
        found += below
        stack += below
    return found


def end_descendants(root: int) -> bool:
    """Kill everything below `root`: all of it is stopped first, so that nothing can start more meanwhile.

    Returns:
        True when nothing is left but ended processes, which their parents have to collect.
    """
    for _ in range(_SWEEPS):
        found = _descendants(root)
        if not found:
            return True
        stopped: set[int] = set()
        while set(found) - stopped and len(stopped) < 1 << 20:
            for process in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGSTOP)
            stopped |= set(found)
            found = _descendants(root)
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.0005)
    return False
