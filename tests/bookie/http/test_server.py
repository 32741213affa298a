"""bookkeeper_tx.bookie.http.server: where it listens, and what it bears of clients."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.testing import MemoryReactor
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.http import server
from bookkeeper_tx.bookie.http.api import ANSWER_TIMEOUT_S
from bookkeeper_tx.bookie.http.bounded_request import BODY_BYTES_MAX
from bookkeeper_tx.bookie.http.server import CONNECTIONS_MAX, REQUEST_TIMEOUT_S
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.http.asked import ADDRESS, Asked, reply_in

GONE = Failure(ConnectionDone())
HEARTBEAT = b"GET /heartbeat HTTP/1.1\r\nHost: localhost\r\n\r\n"


def config_of(**values: Any) -> BookieConfig:
    return BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **values)


@pytest.mark.parametrize("path", ["/", "/nothing", "/metrics2", "/api/v1/bookie", "/api/v1/autorecovery/status"])
def test_there_is_nothing_else(asked: Asked, path: str) -> None:
    assert asked.ask(path).status == 404


@pytest.mark.parametrize("method", ["PATCH", "HEAD", "OPTIONS"])
def test_other_methods_are_refused_with_those_that_there_are(asked: Asked, method: str) -> None:
    reply = asked.ask("/heartbeat", method)
    assert (reply.status, reply.headers["allow"]) == (405, "get,put,post,delete")


def test_a_slash_at_the_end_is_no_other_path(asked: Asked) -> None:
    assert asked.ask("/heartbeat/").status == 200


def test_no_answer_is_taken_for_a_page(asked: Asked) -> None:
    assert asked.ask("/heartbeat").headers["x-content-type-options"] == "nosniff"


def test_a_page_in_a_browser_changes_nothing(asked: Asked) -> None:
    origin = "Origin: http://example.org\r\n"
    refused = asked.ask("/api/v1/bookie/state/readonly", "PUT", b'{"readOnly": true}', origin)
    assert refused.status == 403
    assert not asked.bookie.availability.read_only
    assert asked.ask("/api/v1/bookie/state/readonly", headers=origin).status == 200


@pytest.mark.parametrize("header", ["Origin: http://example.org", "Sec-Fetch-Site: cross-site"])
def test_a_page_in_a_browser_writes_no_ledger_either(asked: Asked, header: str) -> None:
    for method in ("GET", "PUT"):
        assert asked.ask("/api/v1/bookie/sanity", method, headers=f"{header}\r\n").status == 403
    assert asked.ask("/api/v1/bookie/sanity", headers="Sec-Fetch-Site: none\r\n").status != 403


FOREIGN = [
    "example.org",
    "example.org:8080",
    "10.0.0.1",
    "[::2]:8080",
    "localhost.example.org",
    "",
    "127.0.0.1@a",
    "::",
]
OWN = ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "127.8.9.1", "[::1]", "[::1]:8080"]


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", ["/heartbeat", "/metrics", "/api/v1/ledger/list"])
def test_a_name_that_was_made_to_mean_this_machine_is_not_answered(asked: Asked, host: str, path: str) -> None:
    refused = asked.ask(path, host=host)
    assert (refused.status, refused.text.count("localhost")) == (403, 1)


@pytest.mark.parametrize("host", OWN)
def test_this_machine_may_be_called_by_any_of_its_names(asked: Asked, host: str) -> None:
    assert asked.ask("/heartbeat", host=host).status == 200


@pytest.mark.parametrize("host", OWN + FOREIGN)
def test_a_bookie_that_others_reach_may_be_called_by_any_name(tmp_path: Path, host: str) -> None:
    assert Asked(tmp_path, http_server_host="0.0.0.0").ask("/heartbeat", host=host).status == 200


def test_a_request_that_names_no_host_is_answered(asked: Asked) -> None:
    protocol, transport = asked.connect()
    protocol.dataReceived(b"GET /heartbeat HTTP/1.0\r\n\r\n")
    assert b"200 OK" in transport.value()
    protocol.connectionLost(GONE)


@pytest.mark.parametrize("sized", [True, False])
def test_a_large_body_is_refused_and_not_kept(asked: Asked, monkeypatch: pytest.MonkeyPatch, sized: bool) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    protocol, transport = asked.connect()
    size = BODY_BYTES_MAX + 1
    how = f"Content-Length: {size}" if sized else "Transfer-Encoding: chunked"
    protocol.dataReceived(f"PUT /api/v1/config/server_config HTTP/1.1\r\nHost: localhost\r\n{how}\r\n\r\n".encode())
    body = bytes(size) if sized else f"{size:x}\r\n".encode() + bytes(size) + b"\r\n0\r\n\r\n"
    for at in range(0, len(body), 10000):
        protocol.dataReceived(body[at : at + 10000])
    assert reply_in(transport.value()).status == 413
    protocol.connectionLost(GONE)


def test_connections_have_a_maximum(asked: Asked) -> None:
    clients = [asked.connect()[0] for _ in range(CONNECTIONS_MAX)]
    assert asked.factory.buildProtocol(ADDRESS) is None
    clients[0].connectionLost(GONE)
    clients[0] = asked.connect()[0]
    for client in clients:
        client.connectionLost(GONE)
    assert not asked.clock.getDelayedCalls()


def test_a_client_that_sends_its_request_slowly_is_closed(asked: Asked) -> None:
    protocol, transport = asked.connect()
    for byte in HEARTBEAT[:20]:
        protocol.dataReceived(bytes([byte]))
        asked.clock.advance(REQUEST_TIMEOUT_S / 19)
    assert transport.disconnected


def test_a_client_may_ask_again_and_again(asked: Asked) -> None:
    protocol, transport = asked.connect()
    for _ in range(3):
        asked.clock.advance(REQUEST_TIMEOUT_S - 1)
        protocol.dataReceived(HEARTBEAT)
    assert transport.value().count(b"200 OK") == 3
    assert not transport.disconnected
    asked.clock.advance(REQUEST_TIMEOUT_S)
    assert transport.disconnected


class Silent:
    """A store that answers only what the test answers."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.asked: list[Deferred[Any]] = []

    def __getattr__(self, name: str) -> Any:
        def cancel(_: object) -> None:
            self.cancelled += 1

        def ask(*_: object) -> Deferred[Any]:
            self.asked.append(Deferred(cancel))
            return self.asked[-1]

        return ask


def test_an_answer_that_takes_too_long_is_given_up(asked: Asked) -> None:
    silent: Any = Silent()
    asked.bookie.store = silent
    protocol, transport = asked.connect()
    protocol.dataReceived(b"GET /api/v1/ledger/metadata?ledger_id=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert transport.value() == b""
    asked.clock.advance(ANSWER_TIMEOUT_S)
    assert (reply_in(transport.value()).status, silent.cancelled) == (503, 1)
    protocol.connectionLost(GONE)


def test_a_request_that_came_with_the_one_before_has_all_its_time(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_TIMEOUT_S", ANSWER_TIMEOUT_S / 2)
    silent: Any = Silent()
    asked.bookie.store = silent
    protocol, transport = asked.connect()
    protocol.dataReceived(2 * b"GET /api/v1/ledger/list HTTP/1.1\r\nHost: localhost\r\n\r\n")
    silent.asked[0].callback([])
    assert transport.value().count(b" 200 ") == 1
    asked.clock.advance(ANSWER_TIMEOUT_S)
    assert transport.value().count(b" 503 ") == 1
    assert not transport.disconnected
    asked.clock.advance(REQUEST_TIMEOUT_S)
    assert transport.disconnected


def test_nobody_works_for_a_client_that_has_gone(asked: Asked) -> None:
    silent: Any = Silent()
    asked.bookie.store = silent
    protocol, transport = asked.connect()
    protocol.dataReceived(b"GET /api/v1/ledger/list HTTP/1.1\r\nHost: localhost\r\n\r\n")
    protocol.connectionLost(GONE)
    assert (transport.value(), silent.cancelled) == (b"", 1)
    assert not asked.clock.getDelayedCalls()
    asked.bookie.store = asked.store
    assert asked.ask("/api/v1/ledger/list").json == {}


def test_it_listens_where_it_is_told_and_on_this_machine_only_by_default(asked: Asked) -> None:
    reactor: Any = MemoryReactor()
    server.listen(reactor, config_of(http_server_port=0), asked.bookie)
    server.listen(reactor, config_of(http_server_port=9000, http_server_host="::1"), asked.bookie)
    assert [(each[0], each[3]) for each in reactor.tcpServers] == [(0, "127.0.0.1"), (9000, "::1")]
    assert not config_of().http_server_enabled


def test_a_port_that_is_taken_is_named(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    reactor: Any = MemoryReactor()

    def taken(*args: Any, **kwargs: Any) -> None:
        raise CannotListenError("127.0.0.1", 8080, OSError("in use"))

    monkeypatch.setattr(reactor, "listenTCP", taken)
    with pytest.raises(RefusedToStart, match=r"127\.0\.0\.1:8080.*in use.*httpServerPort"):
        server.listen(reactor, config_of(), asked.bookie)
