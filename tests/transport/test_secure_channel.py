"""A channel whose connections have to be secured or authenticated before they take requests."""

from pathlib import Path
from typing import Any

import pytest
from twisted.internet import error as net_errors
from twisted.internet.defer import Deferred, succeed
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    CannotConnect,
    ClientClosed,
    InvalidConfig,
    TlsFailed,
)
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.security.authentication import Completed, ConnectionPeer
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.wire import v3_pb2
from tests.certificates import Authority
from tests.plain_auth import PlainClient, PlainClientProvider
from tests.transport.puppet import Transport as PlainTransport

NO_SUCH_ENTRY = bytes.fromhex("00000018020200000000000200000000000000010000000000000002")
TLS_STARTED = bytes.fromhex("0000000d0a060803100918011000d20600")
TLS_REFUSED = bytes.fromhex("0000000b0a06080310091801109403")
V2_AUTH = 2 << 24 | 3 << 16


class Transport(PlainTransport):
    tls: Any = None

    def startTLS(self, creator: Any) -> None:
        self.tls = creator


class Puppet:
    """A bookie on strings, and a channel to it."""

    def __init__(self, **settings: Any) -> None:
        self.reactor = MemoryReactorClock()
        self.config = ClientConfig(reconnect_delay_s=1, connect_timeout_s=3, read_timeout_s=60, **settings)
        self.channel = BookieChannel(TwistedDriver(self.reactor), self.resolve, self.config)
        self.done: list[tuple[str, Any]] = []
        self.transport = Transport()
        self.protocol: Any = None

    def resolve(self) -> Deferred[BookieServiceInfo]:
        return succeed(BookieServiceInfo("127.0.0.1", 3181))

    def read(self, name: str) -> None:
        self.channel.read_entry(1, 2, lambda error, _: self.done.append((name, type(error))))

    @property
    def attempts(self) -> int:
        return len(self.reactor.tcpClients)

    def accept(self) -> None:
        self.protocol = self.reactor.tcpClients[-1][2].buildProtocol(None)
        self.transport = Transport()
        self.protocol.makeConnection(self.transport)
        self.reactor.advance(0)

    def sent(self) -> bytes:
        self.reactor.advance(0)
        data = self.transport.value()
        self.transport.clear()
        return data

    def say(self, data: bytes) -> None:
        self.protocol.dataReceived(data)
        self.reactor.advance(0)

    def lose(self, error: Exception | None = None) -> None:
        self.protocol.connectionLost(Failure(error or net_errors.ConnectionDone()))
        self.reactor.advance(0)


def welcome(plugin: str = "plain") -> bytes:
    return v2_auth_frame.encode(V2_AUTH, plugin, b"welcome")


@pytest.fixture
def puppet() -> Puppet:
    return Puppet(auth=PlainClient())


@pytest.fixture
def tls_puppet(tmp_path: Path) -> Puppet:
    return Puppet(tls=TlsConfig(trust_path=str(Authority(tmp_path).path)))


def test_requests_wait_for_the_bookies_welcome(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.read("b")
    assert v2_auth_frame.decode(sent := puppet.sent(), 0, len(sent))[1].payload == b"reader\0secret"
    puppet.say(welcome())
    assert len(puppet.sent()) == 2 * 24
    puppet.say(NO_SUCH_ENTRY)
    assert [name for name, _ in puppet.done] == ["a"]


def test_replies_behind_the_welcome_are_read(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.say(welcome() + NO_SUCH_ENTRY)
    puppet.say(NO_SUCH_ENTRY)
    assert len(puppet.done) == 1


def test_in_v3_for_what_v2_lacks(puppet: Puppet) -> None:
    puppet.channel.send(ReadBookieInfo(), lambda error, value: puppet.done.append(("info", value)))
    puppet.accept()
    request = v3_pb2.Request.FromString(puppet.sent()[4:])
    assert request.auth_request.payload == b"reader\0secret"


def test_refused_credentials_fail_what_waits_and_rest(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.say(welcome("another"))
    assert puppet.transport.aborted
    puppet.lose(net_errors.ConnectionAborted())
    assert puppet.done == [("a", AuthenticationFailed)]
    puppet.read("b")
    puppet.reactor.advance(0)
    assert (puppet.done[1:], puppet.attempts) == ([("b", AuthenticationFailed)], 1)
    puppet.reactor.advance(1)
    puppet.read("c")
    assert puppet.attempts == 2


def test_a_bookie_that_closes_the_connection_may_have_failed_or_refused(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.lose()
    assert puppet.done == [("a", AuthenticationUnanswered)]


def test_a_bookie_that_says_nothing_is_given_up(puppet: Puppet) -> None:
    """As Java's bookie when it rejects a SASL response."""
    puppet.read("a")
    puppet.accept()
    puppet.reactor.advance(2.9)
    assert not puppet.transport.aborted
    puppet.reactor.advance(0.2)
    assert puppet.transport.aborted
    puppet.lose(net_errors.ConnectionAborted())
    assert puppet.done == [("a", AuthenticationUnanswered)]


def test_no_time_runs_once_it_is_welcome(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    puppet.say(welcome())
    puppet.reactor.advance(10)
    assert not puppet.transport.aborted


def test_a_channel_that_is_closed_meanwhile(puppet: Puppet) -> None:
    puppet.read("a")
    puppet.accept()
    closed = puppet.channel.close()
    assert puppet.transport.aborted
    puppet.lose(net_errors.ConnectionAborted())
    assert puppet.done == [("a", ClientClosed)]
    assert closed.called
    assert [call for call in puppet.reactor.getDelayedCalls() if call.active()] == []


class Failing(PlainClient):
    """A plugin that fails in the method that the test names."""

    where = ""

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> PlainClientProvider:
        if self.where == "new_provider":
            raise RuntimeError("a mistake in the plugin")
        return FailingProvider(self, completed) if self.where == "close" else super().new_provider(peer, completed)


class FailingProvider(PlainClientProvider):
    def close(self) -> None:
        raise RuntimeError("a mistake in the plugin")


def failing(where: str) -> Failing:
    plugin = Failing()
    plugin.where = where
    return plugin


def test_a_plugin_that_fails_drops_the_connection() -> None:
    puppet = Puppet(auth=failing("new_provider"))
    puppet.read("a")
    puppet.accept()
    assert (puppet.transport.aborted, puppet.sent()) == (True, b"")
    puppet.lose(net_errors.ConnectionAborted())
    assert puppet.done == [("a", AuthenticationFailed)]


def test_a_plugin_that_fails_at_the_end_keeps_nobody_waiting() -> None:
    puppet = Puppet(auth=failing("close"))
    puppet.read("a")
    puppet.accept()
    with pytest.raises(RuntimeError):
        puppet.lose()
    puppet.reactor.advance(0)
    assert puppet.done == [("a", AuthenticationUnanswered)]


def test_files_that_cannot_be_used_cost_no_connection(tmp_path: Path) -> None:
    puppet = Puppet(tls=TlsConfig(trust_path=str(tmp_path / "missing")))
    puppet.read("a")
    puppet.reactor.advance(0)
    assert (puppet.done, puppet.attempts) == ([("a", InvalidConfig)], 0)


def test_tls_is_asked_for_in_v3_and_started(tls_puppet: Puppet) -> None:
    tls_puppet.read("a")
    tls_puppet.accept()
    assert v3_pb2.Request.FromString(tls_puppet.sent()[4:]).header.operation == 9
    tls_puppet.say(TLS_STARTED)
    assert tls_puppet.transport.tls is not None
    assert tls_puppet.sent() == b"", "nothing but TLS from now on"
    tls_puppet.reactor.advance(4)
    tls_puppet.lose(net_errors.ConnectionAborted())
    assert tls_puppet.done == [("a", CannotConnect)]


def test_a_bookie_without_tls_fails_what_waits(tls_puppet: Puppet) -> None:
    tls_puppet.read("a")
    tls_puppet.accept()
    tls_puppet.say(TLS_REFUSED)
    tls_puppet.lose(net_errors.ConnectionAborted())
    assert (tls_puppet.done, tls_puppet.transport.aborted) == ([("a", TlsFailed)], True)


def test_a_handshake_that_fails_says_so(tls_puppet: Puppet) -> None:
    from OpenSSL import SSL

    tls_puppet.read("a")
    tls_puppet.accept()
    tls_puppet.say(TLS_STARTED)
    tls_puppet.lose(SSL.Error([("SSL routines", "", "certificate verify failed")]))
    assert tls_puppet.done == [("a", TlsFailed)]
