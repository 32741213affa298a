"""bookkeeper_tx.transport.eager_send: every byte once and in order, however much the socket takes."""

import fcntl
import sys
from typing import Any

import pytest
from twisted.internet import tcp
from twisted.internet.protocol import Protocol
from twisted.internet.testing import StringTransport

from bookkeeper_tx.transport.eager_send import EAGER_SIZE_MIN, PARTS_MAX, send, unsent_bytes, untaken_bytes


class Socket:
    """Takes ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = b""
        self.vectors: list[int] = []

    def setblocking(self, blocking: bool) -> None:
        assert not blocking

    def fileno(self) -> int:
        return -1

    def sendmsg(self, parts: Any) -> int:
        if not self.room:
            raise BlockingIOError
        data = b"".join(parts)[: self.room]
        self.taken += data
        self.room -= len(data)
        self.vectors.append(len(parts))
        return len(data)


class Reactor:
    def addWriter(self, writer: Any) -> None: ...


def connection(room: int) -> Any:
    socket: Any = Socket(room)
    made: Any = tcp.Connection(socket, Protocol(), Reactor())  # type: ignore[arg-type]
    made.connected = True
    return made


def waiting(transport: Any) -> bytes:
    return b"".join([transport.dataBuffer, *transport._tempDataBuffer])


LARGE = [bytes([i]) * EAGER_SIZE_MIN for i in range(3)]


@pytest.mark.parametrize("room", [0, 1, EAGER_SIZE_MIN, EAGER_SIZE_MIN + 1, 3 * EAGER_SIZE_MIN, 10**6])
def test_what_the_socket_does_not_take_waits(room: int) -> None:
    transport = connection(room)
    assert send(transport, LARGE) == 3 * EAGER_SIZE_MIN
    assert transport.socket.taken + waiting(transport) == b"".join(LARGE)
    assert unsent_bytes(transport) == untaken_bytes(transport) == len(waiting(transport))
    assert len(transport.socket.taken) == min(room, 3 * EAGER_SIZE_MIN)


def test_nothing_overtakes_what_waits() -> None:
    transport = connection(10**6)
    transport.write(b"first")
    send(transport, LARGE)
    assert transport.socket.taken == b""
    assert waiting(transport) == b"first" + b"".join(LARGE)


def test_small_replies_are_left_to_the_transport() -> None:
    transport = connection(10**6)
    send(transport, [b"small", b"er"])
    assert (transport.socket.taken, waiting(transport)) == (b"", b"smaller")


def test_many_parts_are_joined() -> None:
    transport = connection(10**6)
    send(transport, [bytes(1000)] * (PARTS_MAX + 1))
    send(transport, [bytes(1000)] * PARTS_MAX)
    assert transport.socket.vectors == [1, PARTS_MAX]


def test_other_transports_and_ending_ones_are_written_to() -> None:
    text = StringTransport()
    send(text, [*LARGE, memoryview(b"view")])
    assert text.value() == b"".join(LARGE) + b"view"
    ending = connection(10**6)
    ending.disconnecting = True
    send(ending, LARGE)
    assert ending.socket.taken == b""


@pytest.mark.parametrize("order", ["little", "big"])
def test_what_is_in_the_socket_is_not_taken_yet(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    transport = connection(0)
    send(transport, LARGE)
    monkeypatch.setattr(sys, "byteorder", order)
    monkeypatch.setattr(fcntl, "ioctl", lambda *_: (1000).to_bytes(4, order))  # type: ignore[arg-type]
    assert untaken_bytes(transport) == 3 * EAGER_SIZE_MIN + 1000
    assert untaken_bytes(object()) == 0
