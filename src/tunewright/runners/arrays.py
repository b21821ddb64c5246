"""A kernel's arguments as memory: sealed inputs, outputs, and the shim's table of both."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tunewright.errors import ConstraintError, SpecificationError
from tunewright.kernel.spec import DTYPES, Argument, Init, Role
from tunewright.runners.machine import memory_bytes
from tunewright.runners.native import Kind
from tunewright.space.expression import parse
from tunewright.space.scalar import OversizeError, scalar

__all__ = ["GUARD_BYTES", "POISONS", "Array", "Buffer", "Buffers", "evaluate", "load_array"]

GUARD_BYTES = 1 << 20
"""Inaccessible bytes on each side of an array."""

POISONS: Mapping[str, tuple[int, int]] = {"f": (0xFF, 0xFF), "i": (0xA5, 0x5A), "u": (0xA5, 0x5A)}
"""Bytes that fill out arrays before the verification and before each sample, by kind of number.

All ones are NaN. Integers have no such value; two patterns tell a value that is right from one left alone.
"""

_ALIGN = 4096
_MAX_ARGUMENTS = 64
_FORMATS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
            "uint64": "Q", "float32": "f", "float64": "d"}  # fmt: skip
_KINDS = {Role.IN: Kind.IN, Role.OUT: Kind.OUT, Role.INOUT: Kind.INOUT}

Array = npt.NDArray[np.generic]


def evaluate(expression: object, names: Mapping[str, object], key: str) -> int | float:
    """A number, or the value of an expression over `names`.

    Raises:
        SpecificationError: it is no finite number.
    """
    value = expression
    if isinstance(expression, str):
        try:
            value = scalar(parse(expression).node)(names)
        except (ConstraintError, OversizeError, ArithmeticError, TypeError, ValueError, LookupError) as error:
            known = ", ".join(names) or "none"
            raise SpecificationError(
                f"cannot evaluate {expression!r}: {error}; known names: {known}", key=key
            ) from error
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise SpecificationError(f"{expression!r} is {value!r}; a finite number is needed", key=key)
    return value


@dataclass(frozen=True, slots=True)
class Buffer:
    """One argument with everything evaluated.

    Attributes:
        argument: as specified.
        kind: scalar, or what the kernel does with the array.
        shape: extents; empty for a scalar.
        bytes: size of the array; 8 for a scalar.
        scalar: the value's bits as a 64-bit integer.
        source: offset in the inputs.
        target: offset in the outputs.
    """

    argument: Argument
    kind: Kind
    shape: tuple[int, ...]
    bytes: int
    scalar: int = 0
    source: int = 0
    target: int = 0

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Element type."""
        return np.dtype(self.argument.dtype)

    @property
    def row(self) -> list[int]:
        """The argument's row in the shim's table."""
        if self.kind is Kind.SCALAR:
            return [self.kind, self.scalar, 0, 0, 0, 0]
        return [self.kind, self.bytes, self.source, self.target, *POISONS[self.dtype.kind]]


class Buffers:
    """All arguments of a kernel in shared memory; made once for a task.

    Raises:
        SpecificationError: an argument that makes no sense, or more memory than the machine has.
    """

    def __init__(self, arguments: Sequence[Argument], problem: Mapping[str, object]) -> None:
        """Evaluate shapes and values; memory is taken when it is first needed."""
        if len(arguments) > _MAX_ARGUMENTS:
            raise SpecificationError(
                f"{len(arguments)} arguments; at most {_MAX_ARGUMENTS} are supported", key="arguments"
            )
        self.source_bytes = self.target_bytes = self.array_bytes = 0
        self.items = tuple(self._place(n, argument, problem) for n, argument in enumerate(arguments))
        self._fds: list[int] = []
        needed, present = self.array_bytes + self.source_bytes + self.target_bytes, memory_bytes()
        if present and needed > present:
            raise SpecificationError(
                f"the arrays need {needed >> 20} MiB with their copies, the machine has {present >> 20} MiB; "
                "use a smaller problem",
                key="arguments",
            )

    def _place(self, position: int, argument: Argument, problem: Mapping[str, object]) -> Buffer:
        """Evaluate one argument and give it its places."""
        key = f"arguments[{position}] ({argument.name})"
        if argument.dtype not in DTYPES:
            raise SpecificationError(f"unknown dtype {argument.dtype!r}; choose one of {', '.join(DTYPES)}", key=key)
        if not argument.shape:
            if argument.role is not Role.IN:
                raise SpecificationError(f"a scalar cannot be {argument.role}; give it a shape", key=key)
            if argument.value is None:
                raise SpecificationError("a scalar needs a value, an array needs a shape", key=key)
            return Buffer(argument, Kind.SCALAR, (), 8, _bits(argument, problem, key))
        shape = tuple(_extent(extent, problem, key) for extent in argument.shape)
        size = math.prod(shape) * np.dtype(argument.dtype).itemsize
        padded = -(-size // _ALIGN) * _ALIGN
        buffer = Buffer(argument, _KINDS[argument.role], shape, size, 0, self.source_bytes, self.target_bytes)
        self.array_bytes += padded + 2 * GUARD_BYTES
        if buffer.kind in (Kind.IN, Kind.INOUT):
            self.source_bytes += padded
        if buffer.kind in (Kind.OUT, Kind.INOUT):
            self.target_bytes += padded
        return buffer

    @property
    def rows(self) -> list[list[int]]:
        """The shim's table."""
        return [buffer.row for buffer in self.items]

    @property
    def results(self) -> tuple[int, ...]:
        """Numbers of the arguments that the kernel writes."""
        return tuple(n for n, b in enumerate(self.items) if b.kind in (Kind.OUT, Kind.INOUT))

    @property
    def longest(self) -> int:
        """The longest extent of any array."""
        return max((extent for buffer in self.items for extent in buffer.shape), default=1)

    @cached_property
    def source_fd(self) -> int:
        """Descriptor of the inputs; sealed, so that no process can change them."""
        fd = os.memfd_create("inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._fds.append(fd)
        os.ftruncate(fd, self.source_bytes)
        for position, buffer in enumerate(self.items):
            if buffer.kind in (Kind.IN, Kind.INOUT):
                _write(fd, _filled(position, buffer), buffer.source)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        return fd

    @cached_property
    def target_fd(self) -> int:
        """Descriptor of the outputs."""
        fd = os.memfd_create("outputs", os.MFD_CLOEXEC)
        self._fds.append(fd)
        os.ftruncate(fd, self.target_bytes)
        return fd

    @cached_property
    def _targets(self) -> mmap.mmap:
        return mmap.mmap(self.target_fd, self.target_bytes, prot=mmap.PROT_READ)

    def result(self, number: int) -> Array:
        """What the kernel left in an argument: a view that the next run changes."""
        buffer = self.items[number]
        count = math.prod(buffer.shape)
        view: Array = np.frombuffer(self._targets, buffer.dtype, count, buffer.target)
        return view.reshape(buffer.shape)

    def close(self) -> None:
        """Give the memory back."""
        self.__dict__.pop("_targets", None)
        while self._fds:
            os.close(self._fds.pop())


def _extent(expression: int | str, problem: Mapping[str, object], key: str) -> int:
    """One extent of an array."""
    value = evaluate(expression, problem, key)
    if value < 1 or value != int(value):
        raise SpecificationError(f"extent {expression!r} is {value}; it must be a whole number above 0", key=key)
    return int(value)


def _bits(argument: Argument, problem: Mapping[str, object], key: str) -> int:
    """A scalar's value as the C type stores it, padded to 64 bits."""
    value = evaluate(argument.value, problem, key)
    code = _FORMATS[argument.dtype]
    if code not in "fd":
        if value != int(value):
            raise SpecificationError(f"{argument.value!r} is {value}, no whole number for {argument.dtype}", key=key)
        value = int(value)
    try:
        raw = struct.pack(f"={code}", value)
    except (struct.error, OverflowError) as error:
        raise SpecificationError(f"{argument.value!r} does not fit into {argument.dtype}", key=key) from error
    return int.from_bytes(raw.ljust(8, b"\0"), "little", signed=True)


def _filled(position: int, buffer: Buffer) -> Array:
    """The initial content of an in or inout array."""
    argument, dtype, shape = buffer.argument, buffer.dtype, buffer.shape
    if argument.init is Init.FILE:
        return _loaded(position, buffer)
    if argument.init is Init.ZEROS:
        return np.zeros(shape, dtype)
    if argument.init is Init.CONSTANT:
        return np.full(shape, argument.fill, dtype)
    if argument.init is Init.ONES:
        return np.ones(shape, dtype)
    if argument.init is Init.RANGE:
        return np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    random = np.random.default_rng(position if argument.seed is None else argument.seed)
    if dtype == np.float32:
        return random.random(shape, np.float32)
    if dtype.kind == "f":
        return random.random(shape).astype(dtype)
    return random.integers(0, 128, shape).astype(dtype)


def _loaded(position: int, buffer: Buffer) -> Array:
    """An array from a .npy file."""
    argument, key = buffer.argument, f"arguments[{position}] ({buffer.argument.name})"
    if argument.file is None:
        raise SpecificationError("init is 'file' but no file is named", key=key)
    return load_array(argument.file, buffer, key)


def load_array(path: os.PathLike[str], buffer: Buffer, key: str) -> Array:
    """Read an argument's content from a .npy file.

    Raises:
        SpecificationError: it cannot be read, or has another shape or dtype.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise SpecificationError(f"cannot read an array from {os.fspath(path)!r}: {error}", key=key) from error
    if isinstance(array, np.ndarray) and array.dtype.kind == buffer.dtype.kind == "f":
        array = array.astype(buffer.dtype)  # of the wider type only the narrower's digits can be compared
    if not isinstance(array, np.ndarray) or array.shape != buffer.shape or array.dtype != buffer.dtype:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else "no array"
        raise SpecificationError(f"{os.fspath(path)!r} holds {found}; {buffer.dtype} {buffer.shape} is needed", key=key)
    return np.ascontiguousarray(array)


def _write(fd: int, array: Array, offset: int) -> None:
    """Write an array's bytes at an offset."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    done = 0
    while done < len(raw):
        done += os.pwrite(fd, raw[done : done + (1 << 30)], offset + done)
