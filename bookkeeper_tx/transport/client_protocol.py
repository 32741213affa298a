"""A client's connection on Twisted: the wire of a :class:`~bookkeeper_tx.transport.client_link.ClientLink`."""

from typing import Any

from twisted.internet.interfaces import IHandshakeListener, IPushProducer, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_tx.errors import TlsFailed
from bookkeeper_tx.security.tls_reasons import reason_of
from bookkeeper_tx.transport.client_link import ClientLink
from bookkeeper_tx.transport.eager_send import send
from bookkeeper_tx.transport.keepalive import OF_CLIENTS
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE


@implementer(IPushProducer, IHandshakeListener)
class ClientProtocol(Protocol):
    """Carries the bytes of ``link``; ``tls`` is a ``transport.tls.ClientTls``, None without TLS."""

    transport: ITCPTransport

    def __init__(self, link: ClientLink, tls: Any = None) -> None:
        self.link = link
        self._tls = tls
        self._host = ""

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        OF_CLIENTS.switch_on(self.transport.getHandle())  # type: ignore[attr-defined]
        self.transport.bufferSize = RECEIVE_SIZE  # type: ignore[attr-defined]
        self.transport.registerProducer(self, streaming=True)  # type: ignore[attr-defined]
        self.dataReceived = self.link.received  # type: ignore[method-assign]
        self.link.connected(self)

    def dataReceived(self, data: bytes) -> None:
        self.link.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.link.lost(reason.getErrorMessage(), self._tls_error(reason))

    # The wire --------------------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        peer: Any = self.transport.getPeer()
        return f"{getattr(peer, 'host', '')}:{getattr(peer, 'port', '')}"

    def send(self, data: bytes) -> None:
        send(self.transport, (data,), size_min=0)

    def start_tls(self, host: str) -> None:
        self._host = host
        self.transport.startTLS(self._tls.creator(host))  # type: ignore[attr-defined]

    def abort(self) -> None:
        self.transport.abortConnection()

    # TLS -------------------------------------------------------------------------------------------------------------

    def handshakeCompleted(self) -> None:
        """Go on inside TLS, if the bookie's certificate is for the host that we connected to."""
        from bookkeeper_tx.transport.tls import peer_certificate

        try:
            self._tls.verify(self.transport.getHandle(), self._host)  # type: ignore[attr-defined]
        except TlsFailed as error:
            self.link.drop(error)
        else:
            self.link.secured(peer_certificate(self.transport))

    def _tls_error(self, reason: Failure) -> TlsFailed | None:
        """Return the error if TLS has ended the connection.

        In TLS 1.3 a bookie refuses our certificate only after our side of the handshake is over.
        """
        if self._tls is None:
            return None
        from bookkeeper_tx.transport.tls import is_tls_error

        if not is_tls_error(reason.value):
            return None
        assert reason.value is not None
        return TlsFailed(f"TLS with {self._host} failed: {reason_of(reason.value)}")

    # IPushProducer: the transport calls these when the bookie does not take our bytes, or takes them again -----------

    def pauseProducing(self) -> None:
        self.link.takes_nothing()

    def resumeProducing(self) -> None:
        self.link.takes_again()

    def stopProducing(self) -> None:
        self.link.takes_nothing()
