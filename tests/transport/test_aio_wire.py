"""bookkeeper_tx.transport.aio_wire: bytes to and from a link, without a socket."""

import socket
import ssl
from typing import Any

import pytest

from bookkeeper_tx.errors import BookKeeperError, TlsFailed
from bookkeeper_tx.transport.aio_wire import AioWire


class Transport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.ended: str | None = None
        self.handle: socket.socket | None = None

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("127.0.0.1", 3181), "socket": self.handle}.get(name)

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.ended = "aborted"

    def close(self) -> None:
        self.ended = "closed"


class Link:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.wire: Any = None
        self.told: list[Any] = []

    def connected(self, wire: Any) -> None:
        self.wire = wire

    def received(self, data: bytes) -> None:
        self.told.append(data)

    def lost(self, how: str, error: BookKeeperError | None = None) -> None:
        self.told.append(how)

    def takes_nothing(self) -> None:
        self.told.append("takes nothing")

    def takes_again(self) -> None:
        self.told.append("takes again")

    def secured(self, certificate: bytes | None) -> None:
        self.told.append(("secured", certificate))

    def drop(self, error: BookKeeperError) -> None:
        self.told.append(error)


@pytest.fixture
def ends() -> tuple[Link, AioWire, Transport]:
    link, transport = Link(), Transport()
    wire = AioWire(link, ssl.create_default_context())  # type: ignore[arg-type]
    wire.connection_made(transport)
    return link, wire, transport


def test_bytes_pass_in_clear(ends: tuple[Link, AioWire, Transport]) -> None:
    link, wire, transport = ends
    assert (link.wire, wire.address) == (wire, "127.0.0.1:3181")
    wire.send(b"request")
    wire.data_received(b"reply")
    assert (transport.written, link.told) == (b"request", [b"reply"])


def test_the_link_learns_whether_the_bookie_takes_bytes(ends: tuple[Link, AioWire, Transport]) -> None:
    link, wire, _ = ends
    wire.pause_writing()
    wire.resume_writing()
    assert link.told == ["takes nothing", "takes again"]


def test_the_link_learns_how_the_connection_was_lost(ends: tuple[Link, AioWire, Transport]) -> None:
    link, wire, transport = ends
    wire.abort()
    wire.connection_lost(None)
    wire.connection_lost(ConnectionResetError("reset by peer"))
    assert transport.ended == "aborted"
    assert link.told == ["Connection was closed cleanly.", "Connection was lost: reset by peer."]


def test_what_is_no_tls_ends_the_connection_with_a_name(ends: tuple[Link, AioWire, Transport]) -> None:
    link, wire, transport = ends
    wire.start_tls("localhost")
    assert transport.written[:1] == b"\x16", "a handshake record"
    wire.data_received(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    [error] = link.told
    assert isinstance(error, TlsFailed)
    assert "127.0.0.1:3181" in str(error)


def test_a_host_that_is_no_name_is_refused(ends: tuple[Link, AioWire, Transport]) -> None:
    link, wire, transport = ends
    wire.start_tls("")
    assert transport.written == b""
    assert [type(each) for each in link.told] == [TlsFailed]


def test_the_system_is_asked_to_look_for_a_bookie_that_vanishes() -> None:
    transport, link = Transport(), Link()
    wire: Any = AioWire(link)  # type: ignore[arg-type]
    with socket.socket() as transport.handle:
        wire.connection_made(transport)
        assert transport.handle.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
