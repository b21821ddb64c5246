"""Names the cause of a failed job in words that tell the user where to look."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from tunewright.kernel.spec import Measuring
from tunewright.measure import Status
from tunewright.runners.keeper import SETUP_FAILED
from tunewright.runners.native import Access, Page, Stage
from tunewright.runners.seccomp import syscall_name
from tunewright.runners.worker import JobEnd

__all__ = ["failure"]

_NULL_BYTES = 65_536
_MEMORY_NEAR = 0.9
_STAGES = {
    Stage.START: "before the kernel was loaded",
    Stage.LOADING: "while the library was loaded",
    Stage.PREPARING: "while the arrays were prepared",
    Stage.VERIFYING: "in the verification call",
    Stage.WAITING: "after the verification call",
    Stage.WARMING: "while warming up",
    Stage.TIMING: "while timing",
    Stage.COPYING: "after the call",
    Stage.DONE: "after its work was done",
}
_STARTS_PROCESSES = frozenset({"fork", "vfork", "clone", "execve", "execveat"})
_SENDS_SIGNALS = frozenset({"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"})
_NETWORK = frozenset({"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4"})
_DIVISIONS = {
    1: "integer division by zero",
    2: "integer overflow in a division",
    3: "floating-point division by zero",
}


def failure(
    end: JobEnd, page: Page, names: Sequence[str], measuring: Measuring, limit_bytes: int
) -> tuple[Status, str] | None:
    """Status and cause of a job that did not go to its end; None for one that did.

    Args:
        end: how the process ended.
        page: what it left on its status page.
        names: the arguments' names.
        measuring: the limits it had.
        limit_bytes: its limit of address space in addition to the arrays.
    """
    if end.lost:
        status, cause = Status.CRASH, end.lost
    elif end.timed_out or end.signal == signal.SIGXCPU:
        status, cause = Status.TIMEOUT, _deadline(end, page, measuring)
    elif page.text:
        status = Status.LAUNCH_ERROR if page.stage is Stage.LOADING else Status.CRASH
        cause = page.text
        if "undefined symbol" in cause:
            cause += ' (is the name right? in C++ the entry must be declared extern "C")'
    elif end.signal is not None:
        status, cause = Status.CRASH, _signal(end.signal, page, names, measuring, limit_bytes)
    elif page.canary is not None:
        where = "past the end" if page.canary_side > 0 else "before the start"
        return Status.CRASH, f"wrote {where} of {names[page.canary]}"
    elif end.exit == 0 and page.stage is Stage.DONE:
        return None
    elif end.exit == SETUP_FAILED and page.stage in (Stage.START, Stage.DONE):
        status, cause = Status.LAUNCH_ERROR, "the job could not be set up"
    else:
        status, cause = Status.CRASH, f"the kernel called exit({end.exit})"
    where = "" if end.timed_out or page.stage is Stage.LOADING else f" {_STAGES[page.stage]}"
    said = end.output.strip().splitlines()
    return status, f"{cause}{where}" + (f"; it printed: {said[-1][:200]}" if said else "")


def _deadline(end: JobEnd, page: Page, measuring: Measuring) -> str:
    """Words for a job that took too long."""
    if end.stopped:
        state = ", having stopped itself"
    elif end.cpu_s < 0.1 * end.wall_s:
        state = ", waiting rather than computing"
    else:
        state = ""
    return f"not done within {measuring.timeout_s:g} s {_STAGES[page.stage]}{state}"


def _signal(number: int, page: Page, names: Sequence[str], measuring: Measuring, limit_bytes: int) -> str:
    """Words for a fatal signal."""
    recorded = page.signal == number
    if number == signal.SIGXFSZ:
        return f"output limit: wrote more than {measuring.output_kib} KiB to standard output or a file"
    if number == signal.SIGSYS:
        return _forbidden(syscall_name(page.syscall)) if recorded else "made a forbidden system call"
    if recorded and _memory_is_full(page, limit_bytes):
        return f"out of memory: its limit of {measuring.memory_mib} MiB beside the arrays is used up"
    if number in (signal.SIGSEGV, signal.SIGBUS):
        return _fault(number, page, names) if recorded else "segmentation fault that left no record"
    if number == signal.SIGFPE:
        return _DIVISIONS.get(page.code, "arithmetic fault") if recorded else "arithmetic fault"
    if number == signal.SIGILL:
        return "illegal instruction (compiled for another processor, or a trap of the compiler)"
    if number == signal.SIGABRT:
        return "aborted itself"
    if number == signal.SIGKILL:
        return "killed from outside, perhaps because the machine ran out of memory"
    return f"ended by signal {number} ({signal.strsignal(number)})"


def _memory_is_full(page: Page, limit_bytes: int) -> bool:
    """Whether the failure looks like an allocation that was refused."""
    refused = page.signal in (signal.SIGABRT, signal.SIGBUS) or page.address < _NULL_BYTES
    return refused and page.space_bytes > _MEMORY_NEAR * limit_bytes > 0


def _forbidden(name: str) -> str:
    """Words for a call that the filter stopped."""
    if name in _STARTS_PROCESSES:
        return f"tried to start another process ({name})"
    if name in _SENDS_SIGNALS:
        return f"tried to send a signal to another process ({name})"
    if name in _NETWORK:
        return f"tried to use the network ({name})"
    return f"made a forbidden system call ({name})"


def _fault(number: int, page: Page, names: Sequence[str]) -> str:
    """Words for an access to memory that is not there or not to be written."""
    did = {Access.READ: "read", Access.WRITE: "wrote", Access.UNKNOWN: "reached"}[page.access]
    if page.array is not None:
        name = names[page.array]
        if page.side == 0:
            return f"wrote to input {name}" if page.access is not Access.READ else f"reading {name} failed"
        return f"{did} {'past the end' if page.side > 0 else 'before the start'} of {name}"
    if page.stack:
        return "stack overflow"
    if page.address < _NULL_BYTES and page.code in (1, 2):  # other codes come without an address
        return f"null pointer: {did} address {page.address:#x}"
    what = "bus error" if number == signal.SIGBUS else "segmentation fault"
    if page.code not in (1, 2):
        return f"{what} through a wild pointer"
    return f"{what}: {did} address {page.address:#x}, outside every array"
