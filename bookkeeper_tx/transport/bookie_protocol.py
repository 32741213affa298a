"""A bookie's connection on Twisted: a short driver around a ``protocol.connection.ServerConnection``."""

from collections.abc import Callable, Sequence

from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_tx.errors import AuthenticationFailed
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import (
    Answered,
    Buffer,
    ConnectionBroken,
    ConnectionEvent,
    Replied,
    Request,
    StartTls,
)
from bookkeeper_tx.transport import eager_send
from bookkeeper_tx.transport.bookie_security import OPEN, Security
from bookkeeper_tx.transport.client_budget import ClientBudget
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE_MIN
from bookkeeper_tx.transport.request_turns import RequestTurns
from bookkeeper_tx.transport.secured_protocol import SecuredProtocol
from bookkeeper_tx.transport.sending_turn import SendingTurn
from protocol_specs.wire.status import Status

HELD_SIZE_MIN = 32 * 1024
"""Bytes of replies that are worth a system call of their own; a higher limit would delay the client's first replies."""

AT_ONCE = 1
"""Bytes of replies that are sent at once where no more follow in the same turn of the reactor."""

Serve = Callable[[Request, "BookieProtocol"], None]

_CONNECTION_EVENTS = (Answered, StartTls, ConnectionBroken)
"""The classes of :data:`ConnectionEvent` in a tuple: ``isinstance``, called for every request, is slower on a union."""


@implementer(IPushProducer)
class BookieProtocol(SecuredProtocol):
    """Hands the requests of one client to ``serve`` and sends the replies.

    Reading stops while the client does not take its replies, and while the bookie asks for it (:meth:`pause`).
    Requests that were already read wait, too: their replies may take thousands of times their own memory.
    """

    def __init__(
        self,
        connection: ServerConnection,
        serve: Serve,
        forget: Callable[["BookieProtocol"], None],
        security: Security = OPEN,
        budget: ClientBudget | None = None,
        sending: SendingTurn | None = None,
    ) -> None:
        super().__init__(connection, security)
        self._sending = sending or SendingTurn()
        self._serve = serve
        self._forget = forget
        self._account = (budget or ClientBudget()).open(self)
        self.sent_bytes = 0
        self._reading_stops = 0
        self._turns = RequestTurns()
        self._serving = False
        self._held: list[Buffer] = []
        """Replies to requests that were read together, to be sent together."""
        self._held_size = 0
        self._observers: dict[Request, list[Replied]] = {}
        """What is called when a request is answered; few requests have any."""
        self._when_lost: list[Callable[[], None]] | None = []
        """The functions to call when the connection is lost; None afterwards."""

    def connectionMade(self) -> None:
        self.connected_to_client = True
        try:
            self._secure()
        except Exception:
            self.log.failure("the plugin failed on a new client, closing the connection")
            self._abort()
            return
        self.transport.setTcpNoDelay(True)
        self._account.opened(self.transport)
        self.transport.registerProducer(self, streaming=True)  # type: ignore[attr-defined]
        if self._reading_stops:
            self.transport.pauseProducing()  # type: ignore[attr-defined]

    def dataReceived(self, data: bytes) -> None:
        if self.connected_to_client:
            self._turns.add(self._connection.receive(data))
            size = self._connection.frame[1]
            if size > RECEIVE_SIZE_MIN or self._account.wanted:
                self._account.wants(size)
            self._serve_waiting(AT_ONCE)

    @property
    def frame(self) -> tuple[int, int, int]:
        """The number of the frame that is not complete yet, its size, 0 if there is none, and how much has come."""
        return self._connection.frame

    @property
    def untaken_bytes(self) -> int:
        """Bytes of replies that the client has not taken, those in the socket included."""
        return eager_send.untaken_bytes(self.transport)

    def give_up(self, why: str) -> None:
        """Close the connection at once."""
        self.log.info("closing the connection from {peer}: {why}", peer=self.peer.address, why=why)
        self._held.clear()
        self._abort()

    def serve_next(self, request: Request) -> None:
        """Serve ``request``, the rest of one, once the client has taken its replies, and before all later requests.

        Nothing is served for a client that has gone.
        """
        if self.connected_to_client:
            self._turns.add_rest(request)
            self._serve_waiting()

    def end_next(self, end: Callable[[], None]) -> None:
        """Call ``end``, which ends a request, once the client has taken its replies; at once if it has gone."""
        if self.connected_to_client:
            self._turns.add_end(end)
            self._serve_waiting()
        else:
            end()

    def _drop_waiting(self) -> None:
        for end in self._turns.clear():
            try:
                end.go_on()
            except Exception:
                self.log.failure("a request of a lost client was not ended")

    def _serve_waiting(self, send_size_min: int = eager_send.EAGER_SIZE_MIN) -> None:
        if self._serving:
            return
        self._serving = True
        take = self._turns.take
        try:
            while (request := take()) is not None:
                if isinstance(request, _CONNECTION_EVENTS):
                    self._handle(request)
                else:
                    self._serve(request, self)
        except Exception:
            # Not raised: the caller may be the transport, or another request that resumes this connection.
            self.log.failure("a request was not served, closing the connection")
            self._abort()
        finally:
            self._serving = False
            self._send_held(send_size_min)
            if self._turns.slow and self.connected_to_client:
                self._count_waiting()  # a request that was being served when the client got slow may have left a rest

    def _handle(self, event: ConnectionEvent) -> None:
        if isinstance(event, Answered):
            self._hold([event.reply])
        elif isinstance(event, ConnectionBroken):
            self._break(event.error)
        elif isinstance(event, StartTls):
            self._start_tls(event)

    def _answered_later(self, event: ConnectionEvent) -> None:
        """Take the event of a provider that did not answer at once."""
        if self.connected_to_client:
            self._turns.add((event,))
            self._serve_waiting()

    def observe(self, request: Request, replied: Replied) -> None:
        """Call ``replied`` when ``request`` is answered."""
        self._observers.setdefault(request, []).append(replied)

    def reply(self, request: Request, status: Status, reply: Sequence[Buffer]) -> None:
        """Send the parts of the reply to ``request``; do nothing when the client has gone."""
        if self._observers:
            for replied in self._observers.pop(request, ()):
                replied(request, status, sum(map(len, reply)))
        if self._serving:
            self._hold(reply)
        elif self._sending.is_open:
            if not self._held:
                self._sending.at_end(self._send_rest)
            self._hold(reply)
        else:
            self._send(reply)

    def _hold(self, parts: Sequence[Buffer]) -> None:
        """Keep a reply until all requests that are being served are answered, or until there is enough to send."""
        self._held += parts
        self._held_size += sum(map(len, parts))
        if self._held_size >= HELD_SIZE_MIN:
            self._send_held()

    def _send_held(self, send_size_min: int = eager_send.EAGER_SIZE_MIN) -> None:
        held, self._held, self._held_size = self._held, [], 0
        if held:
            self._send(held, send_size_min)

    def _send_rest(self) -> None:
        """Send the replies of a turn of :class:`SendingTurn` that have not been sent."""
        if not self._serving:
            self._send_held(AT_ONCE)

    def _send(self, parts: Sequence[Buffer], size_min: int = eager_send.EAGER_SIZE_MIN) -> None:
        if self._securing:
            self._held += parts
        elif self.connected_to_client:
            self.sent_bytes += eager_send.send(self.transport, parts, size_min)

    def call_when_lost(self, function: Callable[[], None]) -> None:
        """Call ``function`` when the connection is lost; at once if it is lost already."""
        if self._when_lost is None:
            function()
        else:
            self._when_lost.append(function)

    def pause(self) -> None:
        """Stop reading and serving requests until :meth:`resume` is called as often as this method."""
        self._turns.pauses += 1
        self.stop_reading()

    def resume(self) -> None:
        self._turns.pauses -= 1
        if self.connected_to_client:
            self._serve_waiting()
        self.read_on()

    @property
    def is_reading(self) -> bool:
        """Whether requests are read at the moment."""
        return self._reading_stops == 0

    def stop_reading(self) -> None:
        """Read no more until :meth:`read_on` is called as often as this method; requests that were read are served."""
        self._reading_stops += 1
        if self._reading_stops == 1 and self.connected_to_client:
            self.transport.pauseProducing()  # type: ignore[attr-defined]

    def read_on(self) -> None:
        self._reading_stops -= 1
        if self._reading_stops == 0 and self.connected_to_client:
            self.transport.resumeProducing()  # type: ignore[attr-defined]

    def pauseProducing(self) -> None:
        """Stop taking requests, so that no replies come; the transport asks at every write until it has room."""
        self._count_waiting()
        if not self._turns.slow:
            self._turns.slow = True
            self.stop_reading()

    def _count_waiting(self) -> None:
        self._account.has_unsent(eager_send.unsent_bytes(self.transport) + self._turns.kept_bytes)

    def resumeProducing(self) -> None:
        """Go on: the client has taken its replies."""
        self._account.has_unsent(0)
        if self._turns.slow:
            self._turns.slow = False
            if self.connected_to_client:
                self._serve_waiting()
            self.read_on()

    def stopProducing(self) -> None:
        self.connected_to_client = False

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.connected_to_client = False
        self._drop_waiting()
        self._handshake_lost(reason)
        when_lost, self._when_lost = self._when_lost or [], None
        for function in when_lost:
            function()
        self._account.close()
        self._forget(self)
        if self._gate is not None:
            self._gate.close()

    def _break(self, error: Exception) -> None:
        self.log.info("closing the connection from {peer}: {error}", peer=self.peer.address, error=error)
        if isinstance(error, AuthenticationFailed) and not self._securing:
            self._close()
        else:
            self._abort()

    def _close(self) -> None:
        """Close the connection once the client has taken its last reply."""
        self._send_held()
        self.connected_to_client = False
        self._drop_waiting()
        self.disconnect()

    def disconnect(self) -> None:
        """Close the connection once its replies are sent."""
        self.transport.unregisterProducer()  # type: ignore[attr-defined]  # TLS would wait for it to be done
        self.transport.loseConnection()

    def _abort(self) -> None:
        self._send_held()
        self.connected_to_client = False
        self._drop_waiting()
        self.transport.abortConnection()
