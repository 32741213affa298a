"""bookkeeper_tx.transport.sending_turn: the replies of a turn, each client's in one piece."""

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.testing import StringTransport
from twisted.logger import globalLogPublisher

from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Continuation
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from bookkeeper_tx.transport.bookie_protocol import HELD_SIZE_MIN
from bookkeeper_tx.transport.sending_turn import SendingTurn
from protocol_specs.wire import status as statuses

ANY: Any = object()
"""A request that nobody observes."""


class Transport(StringTransport):
    """Keeps what is written piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def setTcpNoDelay(self, enabled: bool) -> None: ...

    def write(self, data: bytes) -> None:
        self.pieces.append(data)


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """What is logged meanwhile."""
    events: list[Any] = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)


def clients(count: int) -> tuple[BookieFactory, list[tuple[Any, Transport]]]:
    factory = BookieFactory(ServerConnection, lambda request, client: request.go_on())  # type: ignore[union-attr]
    made = []
    for _ in range(count):
        client, transport = factory.buildProtocol(None), Transport()
        assert client is not None
        client.makeConnection(transport)
        made.append((client, transport))
    return factory, made


def test_each_client_gets_all_its_replies_at_once() -> None:
    factory, ((one, to_one), (other, to_other)) = clients(2)
    with factory.sending:
        for part in b"a", b"b":
            one.reply(ANY, statuses.EOK, [part])
            other.reply(ANY, statuses.EOK, [part.upper()])
        assert to_one.pieces == to_other.pieces == []
    assert (to_one.pieces, to_other.pieces) == ([b"ab"], [b"AB"])
    one.reply(ANY, statuses.EOK, [b"c"])
    assert to_one.pieces == [b"ab", b"c"]


def test_many_bytes_do_not_wait_for_the_end() -> None:
    factory, [(client, transport)] = clients(1)
    with factory.sending:
        client.reply(ANY, statuses.EOK, [bytes(HELD_SIZE_MIN)])
        client.reply(ANY, statuses.EOK, [b"rest"])
        assert transport.pieces == [bytes(HELD_SIZE_MIN)]
    assert transport.pieces[1:] == [b"rest"]


def test_a_client_that_is_lost_meanwhile_gets_nothing() -> None:
    factory, [(client, transport)] = clients(1)
    with factory.sending:
        client.reply(ANY, statuses.EOK, [b"late"])
        client.connectionLost()
    assert transport.pieces == []


def test_replies_leave_in_their_order_when_requests_are_served_within_the_turn() -> None:
    factory, [(client, transport)] = clients(1)
    client.pause()
    client.serve_next(Continuation(lambda: client.reply(ANY, statuses.EOK, [b"second"])))
    with factory.sending:
        client.reply(ANY, statuses.EOK, [b"first"])
        client.resume()
        client.reply(ANY, statuses.EOK, [b"third"])
    assert b"".join(transport.pieces) == b"firstsecondthird"


def test_one_that_cannot_send_does_not_keep_the_others_from_it(logged: list[Any]) -> None:
    turn, sent = SendingTurn(), list[str]()

    def fail() -> None:
        raise ValueError("broken")

    with turn:
        turn.at_end(fail)
        turn.at_end(lambda: sent.append("other"))
    assert (sent, [event["log_failure"].type for event in logged]) == (["other"], [ValueError])
    with turn:
        assert turn.is_open
    assert (sent, turn.is_open) == (["other"], False)
