"""Makes a connection object for every client of a bookie, and pauses or closes them all."""

from collections.abc import Callable

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory

from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol, Serve
from bookkeeper_tx.transport.bookie_security import OPEN, Security
from bookkeeper_tx.transport.client_budget import ClientBudget
from bookkeeper_tx.transport.sending_turn import SendingTurn


class BookieFactory(Factory):
    """Makes a :class:`BookieProtocol` for every client, and pauses them all."""

    noisy = False

    def __init__(
        self,
        make_connection: Callable[[], ServerConnection],
        serve: Serve,
        security: Security = OPEN,
        budget: ClientBudget | None = None,
    ) -> None:
        self._make_connection = make_connection
        self._serve = serve
        self._security = security
        self._budget = budget or ClientBudget()
        self.sending = SendingTurn()
        """To be entered where many requests are answered at once."""
        self._protocols: dict[BookieProtocol, None] = {}
        """In the order in which they came, in which they are paused and closed."""
        self._paused = False

    def startFactory(self) -> None:
        """Begin to look for clients that take too long."""
        self._budget.start()

    def stopFactory(self) -> None:
        self._budget.stop()

    def buildProtocol(self, addr: IAddress | None) -> BookieProtocol | None:
        """Return the protocol of a new client; None, which closes the connection, if there are too many."""
        host = getattr(addr, "host", "")
        if not self._budget.admit(host):
            return None

        def forget(protocol: BookieProtocol) -> None:
            self._protocols.pop(protocol, None)
            self._budget.left(host)

        connection = self._make_connection()
        protocol = BookieProtocol(connection, self._serve, forget, self._security, self._budget, self.sending)
        protocol.factory = self
        self._protocols[protocol] = None
        if self._paused:
            protocol.pause()
        return protocol

    def pause(self) -> None:
        """Serve no more requests: the bookie stops."""
        if not self._paused:
            self._paused = True
            for protocol in self._protocols:
                protocol.pause()

    def disconnect_all(self) -> None:
        """Close every connection once its replies are sent."""
        for protocol in list(self._protocols):
            protocol.disconnect()
