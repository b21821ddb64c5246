"""The job that runs one compiled kernel through the shim, and the page of numbers that it leaves behind.

Standard library only: the keeper process imports this module. The slot numbers are those of shim.c.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["COLUMNS", "Access", "Kind", "Page", "Stage", "page_bytes", "prepare", "run"]

COLUMNS = 6
_SLOTS, _TEXT_AT, _TEXT_BYTES, _SAMPLES_AT = 16, 512, 512, 1024


class Kind(enum.IntEnum):
    """What an argument is."""

    SCALAR = 0
    IN = 1
    OUT = 2
    INOUT = 3


class Stage(enum.IntEnum):
    """How far the job has come."""

    START = 0
    LOADING = 1
    PREPARING = 2
    VERIFYING = 3
    WAITING = 4
    WARMING = 5
    TIMING = 6
    COPYING = 7
    DONE = 8


class Access(enum.IntEnum):
    """What a faulting instruction tried to do."""

    UNKNOWN = 0
    READ = 1
    WRITE = 2


def page_bytes(samples: int) -> int:
    """Size of a status page with room for so many samples."""
    return (_SAMPLES_AT + 16 * samples + 4095) // 4096 * 4096


@dataclass(frozen=True, slots=True)
class Page:
    """The status page of a job, read after its end. The job could write it, so nothing in it is trusted.

    Attributes:
        stage: how far it came.
        signal, code: the fatal signal and its code, 0 where none was recorded.
        address, access: of a faulting memory access.
        array, side: argument number (from 0, None for none) whose surroundings were hit: -1 before its start,
            0 inside, 1 past its end.
        syscall: the forbidden system call.
        space_bytes: address space in use at the signal.
        stack: the fault was near the stack pointer.
        calls: calls in each sample.
        canary, canary_side: argument number beside which memory was overwritten without a fault.
        text: what the loader said, empty without an error.
        cut: sampling ended early because a call was clearly slow.
        wall_ns, cpu_ns: for each sample, of one call.
    """

    stage: Stage
    signal: int
    code: int
    address: int
    access: Access
    array: int | None
    side: int
    syscall: int
    space_bytes: int
    stack: bool
    calls: int
    canary: int | None
    canary_side: int
    text: str
    cut: bool
    wall_ns: tuple[float, ...]
    cpu_ns: tuple[float, ...]

    @classmethod
    def read(cls, raw: bytes, arguments: int, samples: int) -> Page:
        """Read a page with room for `samples`, of a job with that many arguments."""
        (stage, number, code, address, access, array, side, syscall, space, stack, taken, calls, canary,
         canary_side, error, cut) = struct.unpack_from(f"={_SLOTS}q", raw)  # fmt: skip
        taken = min(max(taken, 0), samples)
        text = raw[_TEXT_AT : _TEXT_AT + _TEXT_BYTES].partition(b"\0")[0].decode(errors="replace")
        return cls(
            stage=Stage(stage) if 0 <= stage <= max(Stage) else Stage.START,
            signal=number,
            code=code,
            address=address & (1 << 64) - 1,
            access=Access(access) if 0 <= access <= max(Access) else Access.UNKNOWN,
            array=array - 1 if 1 <= array <= arguments else None,
            side=side,
            syscall=syscall,
            space_bytes=space * os.sysconf("SC_PAGESIZE"),
            stack=bool(stack),
            calls=max(calls, 1),
            canary=canary - 1 if 1 <= canary <= arguments else None,
            canary_side=canary_side,
            text=text if error else "",
            cut=bool(cut),
            wall_ns=struct.unpack_from(f"={taken}d", raw, _SAMPLES_AT),
            cpu_ns=struct.unpack_from(f"={taken}d", raw, _SAMPLES_AT + 8 * samples),
        )


@functools.cache
def _shim(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def prepare(arguments: Mapping[str, object]) -> None:
    """Load the shim, our own code, once for all children; in the keeper."""
    _shim(str(arguments["shim"]))


def run(arguments: Mapping[str, object], fds: Sequence[int]) -> None:
    """Load the shim and let it run the kernel; in a child of the keeper.

    Args:
        arguments: ``shim``, ``library``, ``entry``; ``job`` and ``rows`` as in shim.c, without descriptors;
            ``cores`` to run on, or None; ``environment`` to add before the kernel is loaded.
        fds: inputs, outputs, status page, channel.
    """
    cores, environment, numbers, rows = (arguments[key] for key in ("cores", "environment", "job", "rows"))
    if cores:
        os.sched_setaffinity(0, cores)  # type: ignore[arg-type]  # the controller's own list
    os.environ.update(environment)  # type: ignore[call-overload]
    job = [int(number) for number in numbers]  # type: ignore[attr-defined]
    job[1:5] = fds
    flat = [int(number) for row in rows for number in row]  # type: ignore[attr-defined]
    status = _shim(str(arguments["shim"])).tw_run(
        (ctypes.c_int64 * len(job))(*job),
        (ctypes.c_int64 * max(len(flat), 1))(*flat),
        os.fsencode(str(arguments["library"])),
        str(arguments["entry"]).encode(),
    )
    if status:
        raise RuntimeError("the status page cannot be mapped")
