"""A bookie's connection on Twisted."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import MIXED_READ_BYTES, REQUEST_BYTES, Continuation
from bookkeeper_tx.protocol.bookie.v2 import ReadRequests
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from bookkeeper_tx.transport.bookie_protocol import HELD_SIZE_MIN, BookieProtocol
from bookkeeper_tx.transport.bookie_security import Security
from bookkeeper_tx.transport.client_budget import ClientBudget, ClientLimits
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from tests.plain_auth import PlainBookie

READ = bytes.fromhex("000000140202000000000000000000010000000000000002")
UNKNOWN_OPERATION = bytes.fromhex("000000140209000000000000000000010000000000000002")
AUTH = bytes.fromhex("0000000e020300000a03666f6f1203616263")
ANY: Any = object()
"""A request that nobody observes."""


class Transport(StringTransport):
    """Remembers how the connection ended and whether reading is paused."""

    aborted = False
    closed = False

    def setTcpNoDelay(self, enabled: bool) -> None:
        assert enabled

    def abortConnection(self) -> None:
        self.aborted = True

    def loseConnection(self) -> None:
        assert self.producer is None, "TLS would wait for it"
        self.closed = True


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
    protocol.reply(request, statuses.ENOENTRY, request.replies([statuses.ENOENTRY], fields.NO_ENTRY))
    assert transport.value().hex() == "00000018020200000000000200000000000000010000000000000002"


def test_who_observes_a_request_is_shown_its_answer_once() -> None:
    served: list[Any] = []
    _, protocol, transport = connected(served)
    protocol.dataReceived(READ)
    protocol.dataReceived(READ[:15] + b"\2" + READ[16:])
    first, second = served
    seen: list[Any] = []
    protocol.observe(first, lambda *shown: seen.append(shown))
    protocol.observe(first, lambda *shown: seen.append(transport.value()))
    protocol.reply(second, statuses.EOK, [b"of another"])
    assert seen == []
    protocol.reply(first, statuses.EIO, [b"of", memoryview(b" it")])
    protocol.reply(first, statuses.EOK, [b" and more"])
    assert seen == [(first, statuses.EIO, 5), b"of another"]
    assert transport.value() == b"of anotherof it and more"


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
    protocol.reply(ANY, statuses.EOK, [b"late"])
    assert transport.value() == b""


def test_reading_stops_while_anybody_asks_for_it() -> None:
    _, protocol, transport = connected([])
    protocol.pause()
    protocol.stop_reading()
    protocol.pauseProducing()
    assert transport.producerState == "paused"
    protocol.resume()
    protocol.read_on()
    assert transport.producerState == "paused"
    protocol.resumeProducing()
    assert transport.producerState == "producing"


def test_what_was_read_is_served_while_nothing_more_is_read() -> None:
    served: list[object] = []
    _, protocol, transport = connected(served)
    protocol.stop_reading()
    protocol.dataReceived(READ)
    assert (len(served), transport.producerState) == (1, "paused")
    protocol.read_on()
    assert transport.producerState == "producing"


def test_rests_of_requests_are_served_in_their_order_when_the_client_takes_replies_and_before_later_requests() -> None:
    served: list[object] = []
    _, protocol, _ = connected(served)
    protocol.pauseProducing()
    protocol.dataReceived(READ)
    rests = [Continuation(lambda: None), Continuation(lambda: None)]
    for rest in rests:
        protocol.serve_next(rest)
    assert served == []
    protocol.resumeProducing()
    assert (served[:2], len(served)) == (rests, 3)


def test_requests_end_while_others_are_paused_but_not_before_the_client_takes_its_replies() -> None:
    protocol = BookieFactory(ServerConnection, lambda request, _: request.go_on()).buildProtocol(None)  # type: ignore
    protocol.makeConnection(Transport())
    ended: list[str] = []
    protocol.pause()
    protocol.end_next(lambda: ended.append("paused"))
    protocol.pauseProducing()
    protocol.end_next(lambda: ended.append("slow"))
    assert ended == ["paused"]
    protocol.resumeProducing()
    assert ended == ["paused", "slow"]


def test_requests_end_with_their_client() -> None:
    _, protocol, _ = connected([])
    ended: list[str] = []
    protocol.pauseProducing()
    protocol.end_next(lambda: bytes(-1) and None)
    protocol.end_next(lambda: ended.append("waiting"))
    assert ended == []
    protocol.connectionLost()
    protocol.end_next(lambda: ended.append("late"))
    assert ended == ["waiting", "late"]


def test_the_rest_of_a_request_is_dropped_with_its_client() -> None:
    served: list[object] = []
    _, protocol, _ = connected(served)
    protocol.pauseProducing()
    protocol.serve_next(Continuation(lambda: None))
    protocol.connectionLost()
    protocol.resumeProducing()
    protocol.serve_next(Continuation(lambda: None))
    assert served == []


def test_a_transport_that_asks_to_hold_replies_at_every_write_is_let_go_by_one_word() -> None:
    _, protocol, transport = connected([])
    for _ in range(3):
        protocol.pauseProducing()
    protocol.resumeProducing()
    assert transport.producerState == "producing"
    protocol.resumeProducing()
    protocol.pause()
    assert transport.producerState == "paused"


def test_a_client_that_comes_while_the_bookie_stops_is_paused() -> None:
    factory, _, _ = connected([])
    factory.pause()
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    assert transport.producerState == "paused"


def test_a_client_too_many_is_refused_until_another_has_gone() -> None:
    budget = ClientBudget(ClientLimits(connections_max=1))
    factory = BookieFactory(ServerConnection, lambda *_: None, budget=budget)
    first = factory.buildProtocol(None)
    first.makeConnection(Transport())
    assert factory.buildProtocol(None) is None
    first.connectionLost()
    assert factory.buildProtocol(None) is not None


def test_a_long_frame_waits_in_the_socket_until_there_is_room() -> None:
    budget = ClientBudget(ClientLimits(frames_bytes_max=1))
    factory = BookieFactory(ServerConnection, lambda *_: None, budget=budget)
    clients = [(factory.buildProtocol(None), Transport()) for _ in range(2)]
    for protocol, transport in clients:
        protocol.makeConnection(transport)
        protocol.dataReceived((1 << 20).to_bytes(4, "big") + READ[4:])
    assert [transport.producerState for _, transport in clients] == ["producing", "paused"]
    clients[0][0].connectionLost()
    assert clients[1][1].producerState == "producing"


def test_the_requests_of_a_slow_client_count_with_its_replies() -> None:
    budget = ClientBudget()
    protocol = BookieFactory(ServerConnection, lambda *_: None, budget=budget).buildProtocol(None)
    protocol.makeConnection(Transport())
    protocol.pause()
    protocol.dataReceived(AUTH * 3)
    protocol.pauseProducing()
    answers = ServerConnection().receive(AUTH * 3)
    assert budget.replies_bytes == 3 * REQUEST_BYTES + sum(len(each.reply) for each in answers)  # type: ignore[union-attr]
    protocol.resumeProducing()
    assert budget.replies_bytes == 0


MIXED_READS = b"".join(READ[:8] + i.to_bytes(8, "big") + READ[16:] for i in range(100))
"""Reads of a hundred ledgers, which are one request."""


def test_reads_of_many_ledgers_that_wait_for_a_slow_client_count_each() -> None:
    budget = ClientBudget()
    protocol = BookieFactory(ServerConnection, lambda *_: None, budget=budget).buildProtocol(None)
    protocol.makeConnection(Transport())
    protocol.pause()
    protocol.dataReceived(MIXED_READS)
    protocol.pauseProducing()
    assert budget.replies_bytes == REQUEST_BYTES + 100 * MIXED_READ_BYTES


def test_the_rest_of_the_request_that_makes_a_client_slow_counts_too() -> None:
    budget = ClientBudget()

    def serve(request: Any, protocol: BookieProtocol) -> None:
        protocol.pauseProducing()
        protocol.serve_next(request.rest(40))

    protocol = BookieFactory(ServerConnection, serve, budget=budget).buildProtocol(None)
    protocol.makeConnection(Transport())
    protocol.dataReceived(MIXED_READS)
    assert budget.replies_bytes == REQUEST_BYTES + 60 * MIXED_READ_BYTES


def test_a_client_that_does_not_complete_its_frame_is_closed_in_time() -> None:
    clock = Clock()
    factory = BookieFactory(ServerConnection, lambda *_: None, budget=ClientBudget(ClientLimits(timeout_s=8), clock))
    factory.startFactory()
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(READ)
    clock.pump([2] * 9)
    assert not transport.aborted
    protocol.dataReceived(READ[:10])
    clock.pump([2] * 6)
    assert transport.aborted
    protocol.connectionLost()
    factory.stopFactory()
    assert clock.getDelayedCalls() == []


def test_all_are_closed_once_their_replies_are_sent() -> None:
    factory, _, transport = connected([])
    factory.disconnect_all()
    assert (transport.closed, transport.aborted) == (True, False)


def test_a_lost_client_is_forgotten() -> None:
    factory, protocol, transport = connected([])
    protocol.connectionLost()
    factory.pause()
    protocol.reply(ANY, statuses.EOK, [b"late"])
    assert (transport.producerState, transport.value()) == ("producing", b"")


def test_requests_that_came_together_wait_while_reading_is_paused() -> None:
    served: list[object] = []

    def serve(request: object, protocol: BookieProtocol) -> None:
        served.append(request)
        protocol.pause()

    factory = BookieFactory(ServerConnection, serve)
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    other_ledger = READ[:7] + bytes([Flag.HIGH_PRIORITY]) + READ[8:15] + b"\2" + READ[16:]
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
    """Remembers the bytes that were written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        super().write(data)


def answering(*replies: bytes) -> tuple[BookieProtocol, CountingTransport]:
    """Return a connection whose requests are answered with these, one after the other."""
    left = iter(replies)
    factory = BookieFactory(
        ServerConnection, lambda request, connection: connection.reply(request, statuses.EOK, [next(left)])
    )
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


# Security ------------------------------------------------------------------------------------------------------------

START_TLS = bytes.fromhex("0000000b0a06080310091807d20600")
TLS_STARTED = bytes.fromhex("0000000d0a060803100918071000d20600")


class TlsTransport(Transport):
    """Says that TLS is on, and encrypts nothing."""

    creator: object = None

    def startTLS(self, creator: object) -> None:
        self.creator = creator

    def getPeerCertificate(self) -> None:
        return None


def security(**fields: Any) -> Security:
    return Security(**{"clock": Clock(), **fields})


def secure(served: list[object], asked: Security) -> tuple[BookieProtocol, TlsTransport]:
    factory = BookieFactory(ServerConnection, lambda request, _: served.append(request), asked)
    protocol, transport = factory.buildProtocol(None), TlsTransport()
    protocol.makeConnection(transport)
    return protocol, transport


def test_the_reply_to_start_tls_goes_out_in_clear_and_others_wait_for_the_handshake() -> None:
    served: list[object] = []
    protocol, transport = secure(served, security(tls="the bookie's"))
    protocol.dataReceived(READ)
    assert len(served) == 1
    protocol.dataReceived(START_TLS)
    assert transport.aborted, "behind V2 it is too late"

    protocol, transport = secure(served, security(tls="the bookie's"))
    protocol.dataReceived(START_TLS)
    assert (transport.value(), transport.creator) == (TLS_STARTED, "the bookie's")
    protocol.reply(ANY, statuses.EOK, [b"answer to an earlier request"])
    assert transport.value() == TLS_STARTED
    protocol.handshakeCompleted()
    assert transport.value() == TLS_STARTED + b"answer to an earlier request"
    assert (protocol.peer.secure, protocol.peer.certificate) == (True, None)


def test_a_client_whose_certificate_does_not_authorize_it_is_told_so() -> None:
    plugin = PlainBookie({}, role=b"another certificate")
    protocol, transport = secure([], security(auth=plugin, tls="the bookie's"))
    protocol.dataReceived(START_TLS)
    transport.clear()
    protocol.handshakeCompleted()
    reply = v3_pb2.Response.FromString(transport.value()[4:])
    assert (reply.header.operation, reply.status, reply.HasField("start_tls_response")) == (9, statuses.EIO.v3, False)
    assert not transport.aborted


def test_requests_are_served_once_the_client_has_authenticated() -> None:
    served: list[object] = []
    plugin = PlainBookie({"reader": "secret"})
    protocol, transport = secure(served, security(auth=plugin))
    protocol.dataReceived(READ + v2_auth_frame.encode(2 << 24 | 3 << 16, "plain", b"reader\0secret") + READ)
    assert (len(served), protocol.peer.principal) == (1, "reader")
    assert transport.value().startswith(bytes.fromhex("000000180202000000000066"))
    protocol.connectionLost()
    assert plugin.closed == 1


def test_a_provider_that_answers_later() -> None:
    served: list[object] = []
    jobs: list[Any] = []
    protocol, transport = secure(served, security(auth=PlainBookie({"reader": "secret"}, later=jobs.append)))
    protocol.dataReceived(v2_auth_frame.encode(2 << 24 | 3 << 16, "plain", b"reader\0wrong"))
    assert transport.value() == b""
    jobs.pop()()
    assert transport.closed


def status_of(reply: bytes) -> int:
    return int(v3_pb2.Response.FromString(reply[4:]).status)


def v3_auth(token: bytes) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=5, txn_id=1)
    message = v3_pb2.AuthMessage(auth_plugin_name="plain", payload=token)
    body = v3_pb2.Request(header=header, auth_request=message).SerializeToString()
    return len(body).to_bytes(4, "big") + body


def test_a_refused_client_gets_its_answer_before_the_end() -> None:
    served: list[object] = []
    clock = Clock()
    protocol, transport = secure(served, security(auth=PlainBookie({"reader": "secret"}), clock=clock))
    protocol.dataReceived(v3_auth(b"reader\0wrong"))
    assert status_of(transport.value()) == statuses.EUA.v3
    assert (transport.closed, transport.aborted) == (True, False)
    protocol.dataReceived(v3_auth(b"reader\0secret") + READ)
    assert (served, status_of(transport.value())) == ([], statuses.EUA.v3), "nothing is read any more"
    clock.advance(30)
    assert transport.aborted, "it did not take the answer"


class Failing:
    """A plugin that fails in the method that the test names."""

    plugin_name = "failing"

    def __init__(self, where: str) -> None:
        self.where = where

    def new_provider(self, peer: Any, completed: Any) -> "Failing":
        self.called("new_provider")
        return self

    def called(self, name: str) -> None:
        if self.where == name:
            raise RuntimeError("a mistake in the plugin")

    def process(self, token: bytes, answer: Any) -> None:
        answer(None, b"before the mistake")
        self.called("process")

    def secured(self) -> None:
        self.called("secured")

    def close(self) -> None:
        self.called("close")


def test_nobody_is_served_when_the_plugin_fails_on_a_new_client() -> None:
    served: list[object] = []
    protocol, transport = secure(served, security(auth=Failing("new_provider")))
    assert transport.aborted
    protocol.dataReceived(READ)
    assert served == []
    protocol.connectionLost()


def test_a_connection_whose_plugin_failed_reads_nothing() -> None:
    connection = ServerConnection()
    with pytest.raises(RuntimeError):
        connection.require_authentication(Failing("new_provider"), ConnectionPeer(""), [].append)
    assert connection.receive(READ) == []


def test_a_plugin_that_fails_once_it_is_inside_tls_lets_nobody_in() -> None:
    served: list[object] = []
    protocol, transport = secure(served, security(auth=Failing("secured"), tls="the bookie's"))
    protocol.dataReceived(START_TLS)
    transport.clear()
    protocol.handshakeCompleted()
    assert status_of(transport.value()) == statuses.EIO.v3
    protocol.dataReceived(READ)
    assert served == []


def test_a_plugin_that_fails_at_the_end_leaves_nothing_behind() -> None:
    factory = BookieFactory(ServerConnection, lambda *_: None, security(auth=Failing("close")))
    protocol = factory.buildProtocol(None)
    protocol.makeConnection(Transport())
    lost: list[str] = []
    protocol.call_when_lost(lambda: lost.append("told"))
    with pytest.raises(RuntimeError):
        protocol.connectionLost()
    assert (lost, list(factory._protocols)) == (["told"], [])


@pytest.mark.parametrize("sent", [b"", READ, v3_auth(b"not yet")[:-1]])
def test_a_client_that_does_not_authenticate_in_time_is_closed(sent: bytes) -> None:
    clock = Clock()
    protocol, transport = secure([], security(auth=PlainBookie({}, rounds=9), clock=clock, timeout_s=10))
    protocol.dataReceived(sent)
    clock.advance(9)
    assert not transport.aborted
    clock.advance(1)
    assert transport.aborted


def test_a_client_that_does_not_end_its_tls_handshake_is_closed() -> None:
    clock = Clock()
    protocol, transport = secure([], security(tls="the bookie's", clock=clock))
    clock.advance(1000)
    protocol.dataReceived(START_TLS)
    clock.advance(29)
    assert not transport.aborted
    clock.advance(1)
    assert transport.aborted


def test_no_time_runs_for_a_client_that_is_through() -> None:
    clock = Clock()
    protocol, transport = secure([], security(auth=PlainBookie({"reader": "secret"}), tls="the bookie's", clock=clock))
    protocol.dataReceived(START_TLS)
    protocol.handshakeCompleted()
    protocol.dataReceived(v3_auth(b"reader\0secret"))
    clock.advance(1000)
    assert not transport.aborted


def test_no_call_is_left_when_a_client_goes() -> None:
    clock = Clock()
    protocol, _ = secure([], security(auth=PlainBookie({}), clock=clock))
    protocol.connectionLost()
    assert clock.getDelayedCalls() == []


def _paused_by_the_bookie(protocol: BookieProtocol) -> None:
    protocol.pause()


def _held_back(protocol: BookieProtocol) -> None:
    protocol.stop_reading()


def _slow(protocol: BookieProtocol) -> None:
    protocol.pauseProducing()


@pytest.mark.parametrize("stop", [_paused_by_the_bookie, _held_back, _slow])
def test_a_frame_cannot_become_complete_while_nobody_reads_it(stop: Callable[[BookieProtocol], None]) -> None:
    clock = Clock()
    factory = BookieFactory(
        ServerConnection, lambda request, _: None, budget=ClientBudget(ClientLimits(timeout_s=30), clock)
    )
    factory.startFactory()
    protocol, transport = factory.buildProtocol(None), Transport()
    protocol.makeConnection(transport)
    protocol.dataReceived(READ + (3_000_000).to_bytes(4, "big") + b"\2\1\0\0" + bytes(2000))
    stop(protocol)
    for _ in range(60):
        protocol.sent_bytes += 1000  # it takes replies all the time
        clock.advance(1)
    assert not transport.aborted
