"""Messages arrive as they were sent, and what is no message is refused."""

import os
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright.runners.wire import MAX_MESSAGE_BYTES, receive, send

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture
def pair():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@given(st.dictionaries(st.text(max_size=10), VALUES, max_size=5))
def test_a_message_arrives_as_it_was_sent(message):
    one, other = socket.socketpair()
    with one, other:
        send(one, message)
        assert receive(other) == (message, [])


def test_descriptors_travel_beside_a_message(pair):
    fd = os.memfd_create("data")
    os.pwrite(fd, b"hello", 0)
    send(pair[0], {"n": 1}, [fd])
    os.close(fd)
    message, [received] = receive(pair[1])
    assert (message, os.pread(received, 10, 0)) == ({"n": 1}, b"hello")
    os.close(received)


def test_two_messages_do_not_run_together(pair):
    send(pair[0], {"n": 1})
    send(pair[0], {"n": 2})
    assert [receive(pair[1])[0]["n"] for _ in range(2)] == [1, 2]


def test_an_end_without_a_message_is_an_end(pair):
    pair[0].close()
    with pytest.raises(EOFError):
        receive(pair[1])


@pytest.mark.parametrize("raw", [b"\x05", struct.pack("=I", 10) + b"{}"])
def test_an_end_within_a_message_is_an_end(pair, raw):
    pair[0].sendall(raw)
    pair[0].close()
    with pytest.raises(EOFError):
        receive(pair[1])


@pytest.mark.parametrize("body", [b"[]", b"nonsense", b"\xff\xfe"])
def test_what_is_no_object_is_refused(pair, body):
    pair[0].sendall(struct.pack("=I", len(body)) + body)
    with pytest.raises(ValueError, match=r".+"):
        receive(pair[1])


def test_sizes_beyond_the_limit_are_refused_on_both_sides(pair):
    with pytest.raises(ValueError, match="too large"):
        send(pair[0], {"text": "x" * MAX_MESSAGE_BYTES})
    pair[0].sendall(struct.pack("=I", MAX_MESSAGE_BYTES + 1))
    with pytest.raises(ValueError, match="too large"):
        receive(pair[1])
