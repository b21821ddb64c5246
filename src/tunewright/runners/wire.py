"""Messages between the controller and a keeper: JSON with its length in front, descriptors beside it.

Standard library only: this module is imported by the keeper process.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence

__all__ = ["MAX_FDS", "MAX_MESSAGE_BYTES", "receive", "send"]

MAX_MESSAGE_BYTES = 1 << 20
MAX_FDS = 16

_LENGTH = struct.Struct("=I")


def send(connection: socket.socket, message: Mapping[str, object], fds: Sequence[int] = ()) -> None:
    """Send one message; the descriptors stay open on this side.

    Raises:
        OSError: the other side has gone.
        ValueError: the message is too large.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > MAX_MESSAGE_BYTES or len(fds) > MAX_FDS:
        raise ValueError(f"a message of {len(body)} bytes with {len(fds)} descriptors is too large")
    head = _LENGTH.pack(len(body))
    beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    if connection.sendmsg([head], beside) != len(head):
        raise OSError("the head of a message was cut")
    connection.sendall(body)


def receive(connection: socket.socket) -> tuple[dict[str, object], list[int]]:
    """Wait for one message.

    Returns:
        The message and the descriptors that came with it; they belong to the caller.

    Raises:
        EOFError: the other side has gone.
        OSError: the connection is broken, or a time-out set on it has passed.
        ValueError: not a message.
    """
    fds: list[int] = []
    try:
        head, beside, _, _ = connection.recvmsg(_LENGTH.size, socket.CMSG_SPACE(MAX_FDS * 4))
        for level, kind, data in beside:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
                fds += numbers
        head += _exactly(connection, _LENGTH.size - len(head)) if head else b""
        if not head:
            raise EOFError("the connection was closed")
        (length,) = _LENGTH.unpack(head)
        if length > MAX_MESSAGE_BYTES:
            raise ValueError(f"a message of {length} bytes is too large")
        message = json.loads(_exactly(connection, length))
        if not isinstance(message, dict):
            raise ValueError("a message must be an object")
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    return message, fds


def _exactly(connection: socket.socket, count: int) -> bytes:
    """Exactly `count` bytes, or EOFError."""
    parts: list[bytes] = []
    while count:
        part = connection.recv(count)
        if not part:
            raise EOFError("the connection was closed in the middle of a message")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
