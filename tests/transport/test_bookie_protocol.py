"""A bookie's connection on Twisted."""

from twisted.internet.testing import StringTransport

from bookkeeper_tx.protocol.connection import ServerConnection
from bookkeeper_tx.protocol.v2 import ReadRequests
from bookkeeper_tx.transport.bookie_protocol import HELD_SIZE_MIN, BookieFactory, BookieProtocol
from protocol_specs import fields
from protocol_specs.wire import status as statuses

READ = bytes.fromhex("000000140202000000000000000000010000000000000002")
UNKNOWN_OPERATION = bytes.fromhex("000000140209000000000000000000010000000000000002")
AUTH = bytes.fromhex("0000000e020300000a03666f6f1203616263")


class Transport(StringTransport):
    """Remembers how the connection ended and whether reading is paused."""

    aborted = False

    def setTcpNoDelay(self, enabled: bool) -> None:
        assert enabled

    def abortConnection(self) -> None:
        self.aborted = True


def connected(served: list[object]) -> tuple[BookieFactory, BookieProtocol, Transport]:
    factory = BookieFactory(ServerConnection, lambda request, _: served.append(request))
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    return factory, protocol, transport


def test_requests_are_served_and_replies_sent() -> None:
    served: list[object] = []
    _, protocol, transport = connected(served)
    protocol.dataReceived(READ[:10])
    assert served == []
    protocol.dataReceived(READ[10:])
    (request,) = served
    assert isinstance(request, ReadRequests)
    protocol.send(request.replies([statuses.ENOENTRY], fields.NO_ENTRY))
    assert transport.value().hex() == "00000018020200000000000200000000000000010000000000000002"


def test_what_needs_no_bookie_is_answered_at_once() -> None:
    served: list[object] = []
    _, protocol, transport = connected(served)
    protocol.dataReceived(AUTH)
    assert (served, b"AuthDisabledPlugin" in transport.value()) == ([], True)


def test_a_broken_protocol_aborts_and_later_replies_are_dropped() -> None:
    served: list[object] = []
    _, protocol, transport = connected(served)
    protocol.dataReceived(READ + UNKNOWN_OPERATION + READ)
    assert (len(served), transport.aborted) == (1, True)
    protocol.send([b"late"])
    assert transport.value() == b""


def test_reading_stops_while_anybody_asks_for_it() -> None:
    factory, protocol, transport = connected([])
    factory.pause()
    factory.pause()
    protocol.pauseProducing()
    assert transport.producerState == "paused"
    factory.resume()
    assert transport.producerState == "paused"
    protocol.resumeProducing()
    assert transport.producerState == "producing"


def test_a_transport_that_asks_to_hold_replies_at_every_write_is_let_go_by_one_word() -> None:
    _, protocol, transport = connected([])
    for _ in range(3):
        protocol.pauseProducing()
    protocol.resumeProducing()
    assert transport.producerState == "producing"
    protocol.resumeProducing()
    protocol.pause()
    assert transport.producerState == "paused"


def test_a_client_that_comes_while_all_are_paused_is_paused() -> None:
    factory, _, _ = connected([])
    factory.pause()
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    assert transport.producerState == "paused"
    factory.resume()
    assert transport.producerState == "producing"


def test_a_lost_client_is_forgotten() -> None:
    factory, protocol, transport = connected([])
    protocol.connectionLost()
    factory.pause()
    protocol.send([b"late"])
    assert (transport.producerState, transport.value()) == ("producing", b"")


def test_requests_that_came_together_wait_while_reading_is_paused() -> None:
    served: list[object] = []

    def serve(request: object, protocol: BookieProtocol) -> None:
        served.append(request)
        protocol.pause()

    factory = BookieFactory(ServerConnection, serve)
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    other_ledger = READ[:15] + b"\2" + READ[16:]
    protocol.dataReceived(READ + other_ledger + AUTH)
    assert len(served) == 1
    protocol.serve_next(served[0])  # type: ignore[arg-type]
    protocol.resume()
    assert (len(served), transport.producerState) == (2, "paused")
    assert served[0] is served[1]
    protocol.resume()
    assert [request.ledger_id for request in served[1:]] == [1, 2]  # type: ignore[attr-defined]
    assert transport.value() == b""
    protocol.resume()
    assert (b"AuthDisabledPlugin" in transport.value(), transport.producerState) == (True, "producing")


def test_what_waits_for_a_lost_client_is_not_served() -> None:
    served: list[object] = []
    _, protocol, _ = connected(served)
    protocol.pause()
    protocol.dataReceived(READ)
    protocol.connectionLost()
    protocol.resume()
    assert served == []


def test_a_request_that_cannot_be_served_costs_its_own_connection() -> None:
    def serve(request: object, protocol: BookieProtocol) -> None:
        raise LookupError

    protocol, transport = BookieFactory(ServerConnection, serve).buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(READ)
    assert transport.aborted


class CountingTransport(Transport):
    """Remembers what was written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        super().write(data)


def answering(*replies: bytes) -> tuple[BookieProtocol, CountingTransport]:
    """Return a connection whose requests are answered with these, one after the other."""
    left = iter(replies)
    factory = BookieFactory(ServerConnection, lambda _, connection: connection.send([next(left)]))
    protocol, transport = factory.buildProtocol(None), CountingTransport()
    protocol.makeConnection(transport)
    return protocol, transport


def test_replies_to_what_came_together_leave_together() -> None:
    protocol, transport = answering(b"a", b"b", b"c")
    protocol.dataReceived(READ * 2)
    protocol.dataReceived(READ)
    assert transport.writes == [b"ab", b"c"]


def test_a_large_reply_does_not_wait_for_others() -> None:
    large = bytes(HELD_SIZE_MIN)
    protocol, transport = answering(b"a", large, b"b")
    protocol.dataReceived(READ * 3)
    assert transport.writes == [b"a" + large, b"b"]


def test_replies_leave_before_a_broken_protocol_ends_the_connection() -> None:
    protocol, transport = answering(b"a")
    protocol.dataReceived(READ + UNKNOWN_OPERATION)
    assert (transport.writes, transport.aborted) == ([b"a"], True)
