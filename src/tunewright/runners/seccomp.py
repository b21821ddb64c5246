"""A seccomp filter that lets a process compute and use threads, and nothing that reaches beyond itself.

Standard library only: this module is imported by the keeper process. A forbidden call raises SIGSYS, so that
a handler can record which call it was; without a handler the process ends.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["FORBIDDEN", "deny_reaching_out", "filter_program", "syscall_name", "this_process"]


class _Machine(NamedTuple):
    """What differs between processors: the audit number, the seccomp call and the column in the table."""

    audit: int
    seccomp: int
    column: int


_MACHINES: Mapping[str, _Machine] = MappingProxyType(
    {"x86_64": _Machine(0xC000003E, 317, 0), "aarch64": _Machine(0xC00000B7, 277, 1)}
)

# name: (number on x86-64, number on aarch64), None where the processor has no such call
_PROCESSES: Mapping[str, tuple[int | None, int]] = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "unshare": (272, 97),
    "setns": (308, 268),
    "setrlimit": (160, 164),
}
_FORKS: Mapping[str, int] = {"fork": 57, "vfork": 58}  # x86-64 only
_NETWORK: Mapping[str, tuple[int | None, int]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}
_MACHINE_WIDE: Mapping[str, tuple[int | None, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
}
# calls that are decided by an argument
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_TO_ITSELF: Mapping[str, tuple[int, int]] = {"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)}
_PRLIMIT = (302, 261)

_CLONE_THREAD = 0x10000
_X32 = 0x40000000

_INSTRUCTION = struct.Struct("=HBBI")
_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _TRAP, _KILL, _ERRNO = 0x7FFF0000, 0x00030000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_2 = 0, 4, 16, 32

_SET_MODE_FILTER, _SPEC_ALLOW = 1, 4
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def _by_number() -> Mapping[int, str]:
    """The names of all calls that the filter can stop, by number on this machine."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return MappingProxyType({})
    names: dict[int, str] = {}
    for table in (_PROCESSES, _NETWORK, _MACHINE_WIDE, _TO_ITSELF):
        for name, numbers in table.items():
            number = numbers[machine.column]
            if number is not None:
                names[number] = name
    if machine.column == 0:
        names.update({number: name for name, number in _FORKS.items()})
    names[_CLONE[machine.column]] = "clone"
    names[_PRLIMIT[machine.column]] = "prlimit64"
    return MappingProxyType(names)


FORBIDDEN: Mapping[int, str] = _by_number()
"""Number to name of every system call that the filter stops, always or depending on its arguments."""


@functools.cache
def this_process() -> ctypes.CDLL:
    """The C library that this process runs on."""
    return ctypes.CDLL(None, use_errno=True)


def syscall_name(number: int) -> str:
    """The name of a stopped system call, for messages."""
    return FORBIDDEN.get(number, f"system call {number}")


def filter_program(pid: int) -> bytes:
    """The filter as classic BPF, for a process that knows itself as `pid`.

    Raises:
        OSError: ENOSYS: there is no filter for this processor.
    """
    return b"".join(
        _INSTRUCTION.pack(*instruction[:3], pid) if instruction[3] < 0 else _INSTRUCTION.pack(*instruction)
        for instruction in _instructions()
    )


@functools.cache
def _instructions() -> tuple[tuple[int, int, int, int], ...]:
    """The filter; -1 stands for the process's own number."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no system call filter for {platform.machine()}")
    column = machine.column
    special = {_CLONE[column], _PRLIMIT[column], *(numbers[column] for numbers in _TO_ITSELF.values())}
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JEQ, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        code += [(_JGE, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for number in sorted(set(FORBIDDEN) - special):
        code += [(_JEQ, 0, 1, number), (_RETURN, 0, 0, _TRAP)]
    # libc asks for clone3 first and falls back to clone, whose flags a filter can read
    code += [(_JEQ, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [
        (_JEQ, 0, 4, _CLONE[column]),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_JSET, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _TRAP),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for numbers in _TO_ITSELF.values():
        code += [
            (_JEQ, 0, 4, numbers[column]),
            (_LOAD, 0, 0, _ARGUMENT_0),
            (_JEQ, 1, 0, -1),
            (_RETURN, 0, 0, _TRAP),
            (_RETURN, 0, 0, _ALLOW),
        ]
    # reading a limit is allowed, changing one is not: argument 2 is the pointer to the new limit
    code += [
        (_JEQ, 0, 6, _PRLIMIT[column]),
        (_LOAD, 0, 0, _ARGUMENT_2),
        (_JEQ, 0, 3, 0),
        (_LOAD, 0, 0, _ARGUMENT_2 + 4),
        (_JEQ, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _TRAP),
    ]
    code.append((_RETURN, 0, 0, _ALLOW))
    return tuple(code)


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def deny_reaching_out() -> None:
    """Install the filter for the calling process and everything it starts; it cannot be taken off again.

    Speculation stays as it is: otherwise older kernels slow a filtered process down, and timings with it.

    Raises:
        OSError: the kernel refuses.
    """
    program = filter_program(os.getpid())
    code = ctypes.create_string_buffer(program, len(program))
    argument = _Program(len(program) // 8, ctypes.addressof(code))
    libc = this_process()
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    call = ctypes.c_long(_MACHINES[platform.machine()].seccomp)
    for flags in (_SPEC_ALLOW, 0):
        if libc.syscall(call, _SET_MODE_FILTER, flags, ctypes.byref(argument)) == 0:
            return
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(argument), 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter was refused")
