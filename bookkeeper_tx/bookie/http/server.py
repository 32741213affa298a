"""The HTTP server of a bookie: where it listens, how many visits it takes, and how long it waits in them."""

from typing import Any, Final

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone as CLOSED
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.server import Site

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.api import Api
from bookkeeper_tx.bookie.http.bounded_request import BoundedRequest
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart

CONNECTIONS_MAX: Final = 16
"""Connections at once."""

REQUEST_TIMEOUT_S: Final = 30.0
"""How long a client may take to send a whole request, after it has connected or got the answer to the one before."""


class Visit(ProtocolWrapper):
    """One connection; it is closed when the client lets it wait, for a request or until an answer is taken."""

    _deadline: IDelayedCall | None = None

    def makeConnection(self, transport: Any) -> None:
        self.wait_for_request()
        super().makeConnection(transport)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure = CLOSED) -> None:
        self.request_came()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def wait_for_request(self) -> None:
        """Wait for the next whole request."""
        self.request_came()
        self._deadline = self.factory.clock.callLater(REQUEST_TIMEOUT_S, self._late)

    def request_came(self) -> None:
        """Wait no more."""
        deadline, self._deadline = self._deadline, None
        if deadline is not None:
            deadline.cancel()

    def _late(self) -> None:
        self._deadline = None
        transport: Any = self.transport
        transport.abortConnection()


class FewConnections(WrappingFactory):
    """Closes connections at once while there are many: the descriptors of a bookie are for its clients and files."""

    noisy = False
    protocol = Visit

    def __init__(self, site: Site, clock: Any) -> None:
        super().__init__(site)  # type: ignore[no-untyped-call]
        self.clock = clock

    def buildProtocol(self, addr: Any) -> Any:
        return super().buildProtocol(addr) if len(self.protocols) < CONNECTIONS_MAX else None


class _QuietSite(Site):
    """Writes no access log: what only reads is not worth a line, and Api has one for the rest."""

    def log(self, request: Any) -> None: ...


def factory_of(bookie: Administered, clock: Any) -> FewConnections:
    """Return what serves the connections; ``clock`` is the reactor."""
    site = _QuietSite(Api(bookie, clock), BoundedRequest)  # type: ignore[no-untyped-call]
    site.noisy = False
    site.timeOut = None  # a visit has its own
    site.displayTracebacks = False
    return FewConnections(site, clock)


def listen(reactor: Any, config: BookieConfig, bookie: Administered) -> Any:
    """Listen at the address of ``config`` and return the port; raises RefusedToStart if that is not possible."""
    factory = factory_of(bookie, reactor)
    try:
        return reactor.listenTCP(config.http_server_port, factory, interface=config.http_server_host)
    except CannotListenError as error:
        where = f"{config.http_server_host}:{config.http_server_port}"
        raise RefusedToStart(
            f"cannot serve HTTP on {where}: {error.socketError}; give another httpServerPort or httpServerHost, "
            "or set httpServerEnabled to false"
        ) from None
