"""A bookie on strings, at the other end of a channel."""

from typing import Any

from twisted.internet import error as net_errors
from twisted.internet.defer import Deferred, succeed
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.twisted_driver import TwistedDriver

CONFIG = ClientConfig(read_timeout_s=5, add_timeout_s=2, reconnect_delay_s=1, unsent_bytes_max=1000)


class Handle:
    """The socket of a transport."""

    def setsockopt(self, *_: Any) -> None: ...


class Transport(StringTransport):
    aborted = False

    def setTcpNoDelay(self, enabled: bool) -> None: ...

    def getHandle(self) -> Handle:
        return Handle()

    def abortConnection(self) -> None:
        self.aborted = True


class Puppet:
    """A bookie on strings: takes or refuses connections, and answers with given bytes."""

    def __init__(self) -> None:
        self.reactor = MemoryReactorClock()
        self.channel = BookieChannel(TwistedDriver(self.reactor), self.resolve, CONFIG)
        self.resolved: list[Deferred[BookieServiceInfo]] = []
        self.done: list[tuple[str, Any, Any]] = []
        self.transport = Transport()
        self.protocol: Any = None

    def resolve(self) -> Deferred[BookieServiceInfo]:
        return succeed(BookieServiceInfo("127.0.0.1", 3181))

    def token(self, name: str) -> Any:
        return lambda error, value: self.done.append((name, error and type(error), value))

    @property
    def attempts(self) -> int:
        return len(self.reactor.tcpClients)

    def accept(self) -> None:
        factory = self.reactor.tcpClients[-1][2]
        self.protocol = factory.buildProtocol(None)
        self.transport = Transport()
        self.protocol.makeConnection(self.transport)
        self.reactor.advance(0)

    def refuse(self) -> None:
        factory = self.reactor.tcpClients[-1][2]
        factory.clientConnectionFailed(None, Failure(net_errors.ConnectionRefusedError()))
        self.reactor.advance(0)

    def lose(self) -> None:
        self.protocol.connectionLost(Failure(net_errors.ConnectionDone()))
        self.reactor.advance(0)

    def sent(self) -> bytes:
        self.reactor.advance(0)
        data = self.transport.value()
        self.transport.clear()
        return data

    def read(self, name: str, entry_id: int = 2) -> None:
        self.channel.read_entry(1, entry_id, self.token(name))
