"""bookkeeper_tx.bookie.http_admin: the metrics in Prometheus' format, and nothing else."""

import tempfile
from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.testing import MemoryReactor, StringTransport
from twisted.python.failure import Failure

from bookkeeper_tx.bookie import http_admin
from bookkeeper_tx.bookie.metrics import BATCH_READ_REQUEST, Metrics
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart


def config_of(**values: Any) -> BookieConfig:
    return BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **values)


def answer_to(request_line: bytes) -> bytes:
    metrics = Metrics(lambda: 0.0)
    metrics.replied(0.0, 100)
    site, transport = http_admin.site(metrics.registry), StringTransport()
    protocol: Any = site.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
    protocol.makeConnection(transport)
    protocol.dataReceived(request_line + b" HTTP/1.0\r\n\r\n")
    protocol.connectionLost(Failure(ConnectionDone()))
    return bytes(transport.value())


def test_metrics_are_text_that_prometheus_reads() -> None:
    head, _, text = answer_to(b"GET /metrics").partition(b"\r\n\r\n")
    assert b" 200 " in head
    assert b"text/plain; version=" in head
    assert f'{BATCH_READ_REQUEST}_bucket{{le="5.0"}} 1.0'.encode() in text


@pytest.mark.parametrize("line", [b"GET /", b"GET /nothing", b"GET /metrics2"])
def test_there_is_nothing_else(line: bytes) -> None:
    assert b" 404 " in answer_to(line).partition(b"\r\n")[0]


@pytest.mark.parametrize(("method", "status"), [(b"POST", b" 405 "), (b"DELETE", b" 501 ")])
def test_metrics_are_only_read(method: bytes, status: bytes) -> None:
    assert status in answer_to(method + b" /metrics").partition(b"\r\n")[0]


def test_a_body_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    for length in (b"Content-Length: 100000000", b"Transfer-Encoding: chunked"):
        transport = StringTransport()
        protocol: Any = http_admin.site(Metrics(lambda: 0.0).registry).buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        protocol.makeConnection(transport)
        protocol.dataReceived(b"POST /metrics HTTP/1.1\r\nHost: a\r\n" + length + b"\r\n\r\nffff\r\n" + bytes(65535))
        (request,) = protocol._channel.requests
        assert request.content.getvalue() == b""
        protocol.connectionLost(Failure(ConnectionDone()))


def test_connections_have_a_maximum() -> None:
    factory = http_admin.FewConnections(http_admin.site(Metrics(lambda: 0.0).registry))
    address = IPv4Address("TCP", "127.0.0.1", 1)
    clients: list[Any] = []
    for _ in range(http_admin.CONNECTIONS_MAX):
        clients.append(factory.buildProtocol(address))
        clients[-1].makeConnection(StringTransport())
    assert factory.buildProtocol(address) is None
    clients[0].connectionLost(Failure(ConnectionDone()))
    assert factory.buildProtocol(address) is not None
    for client in clients[1:]:
        client.connectionLost(Failure(ConnectionDone()))


def test_it_listens_where_it_is_told_and_on_this_machine_only_by_default() -> None:
    reactor = MemoryReactor()
    registry = Metrics(lambda: 0.0).registry
    http_admin.listen(reactor, config_of(http_server_port=0), registry)
    http_admin.listen(reactor, config_of(http_server_port=9000, http_server_host="::1"), registry)
    assert [(server[0], server[3]) for server in reactor.tcpServers] == [(0, "127.0.0.1"), (9000, "::1")]
    assert not config_of().http_server_enabled


def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reactor = MemoryReactor()

    def taken(*args: Any, **kwargs: Any) -> None:
        raise CannotListenError("127.0.0.1", 8080, OSError("in use"))

    monkeypatch.setattr(reactor, "listenTCP", taken)
    with pytest.raises(RefusedToStart, match=r"127\.0\.0\.1:8080.*in use.*httpServerPort"):
        http_admin.listen(reactor, config_of(), Metrics(lambda: 0.0).registry)
