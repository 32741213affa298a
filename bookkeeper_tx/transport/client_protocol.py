"""A client's connection on Twisted: a short driver around a client connection of either dialect."""

from collections.abc import Callable
from typing import Any, TypeAlias

from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, ProtocolViolation
from bookkeeper_tx.protocol.completion import Completion
from bookkeeper_tx.protocol.v2_client import V2ClientConnection
from bookkeeper_tx.protocol.v3_client import V3ClientConnection
from bookkeeper_tx.transport.eager_send import send

RECEIVE_SIZE = 256 * 1024
"""Bytes asked of the socket at once; several frames a system call make runs."""

SWEEP_INTERVAL_S = 0.5
"""How often overdue requests are looked for; a request times out at most this late."""

Done: TypeAlias = Callable[[BookKeeperError | None, Any], None]


@implementer(IPushProducer)
class ClientProtocol(Protocol):
    """Sends the requests made in one turn of the reactor as one write, and calls each request's ``done``.

    Callers call :meth:`wake` unless the protocol is :attr:`awake`, then make their request on :attr:`connection`, with
    ``done`` as its token and :attr:`now` plus its time-out as its deadline.
    """

    log = Logger()
    transport: ITCPTransport

    def __init__(
        self,
        clock: IReactorTime,
        connection: V2ClientConnection | V3ClientConnection,
        lost: Callable[["ClientProtocol", BookKeeperError], None],
        unsent_bytes_max: int,
    ) -> None:
        self.connection = connection
        self._clock = clock
        self._lost = lost
        self._unsent_bytes_max = unsent_bytes_max
        self.awake = False
        """Whether what is requested now will be sent and watched without further ado."""
        self.now = 0.0
        """The time, while awake."""
        self.overfull = False
        """Whether the bookie takes nothing and enough waits to be sent to it."""
        self._unsent_bytes = 0
        self._congested = False
        self._flush_call: IDelayedCall | None = None
        self._sweep_call: IDelayedCall | None = None
        self._given_up: BookKeeperError | None = None

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.transport.bufferSize = RECEIVE_SIZE  # type: ignore[attr-defined]
        self.transport.registerProducer(self, streaming=True)  # type: ignore[attr-defined]

    def wake(self) -> None:
        """See to it that the requests made in this turn of the reactor are sent at its end, and watched."""
        self._flush_call = self._clock.callLater(0, self._flush)
        self._watch()

    def _watch(self) -> None:
        self.awake = True
        self.now = self._clock.seconds()
        if self._sweep_call is None:
            self._sweep_call = self._clock.callLater(SWEEP_INTERVAL_S, self._sweep)

    def dataReceived(self, data: bytes) -> None:
        self._watch()
        try:
            self._complete(self.connection.receive(data))
        except ProtocolViolation as error:
            self.drop(error)
        self._send()

    def drop(self, error: BookKeeperError) -> None:
        """Drop the connection; what waits for a reply fails with ``error``."""
        self._given_up = error
        self.transport.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        for call in (self._flush_call, self._sweep_call):
            if call is not None and call.active():
                call.cancel()
        error = self._given_up or BookieUnavailable(f"connection lost: {reason.getErrorMessage()}")
        self._lost(self, error)
        self._complete(self.connection.fail_all(error))

    # IPushProducer: what the transport tells us when the bookie does not take what we send.

    def pauseProducing(self) -> None:
        self._congested = True

    def resumeProducing(self) -> None:
        self._congested = False
        self._unsent_bytes = 0
        self.overfull = False

    def stopProducing(self) -> None:
        self._congested = True

    def _flush(self) -> None:
        self._flush_call = None
        self._send()

    def _send(self) -> None:
        # A flush that was called for stays due: what is requested until then goes with it.
        self.awake = self._flush_call is not None
        data = self.connection.data_to_send()
        if data:
            if self._congested:
                self._unsent_bytes += len(data)
                self.overfull = self._unsent_bytes > self._unsent_bytes_max
            send(self.transport, (data,), size_min=0)

    def _sweep(self) -> None:
        self._sweep_call = None
        self._complete(self.connection.expire(self._clock.seconds()))
        if self.connection.waiting:
            self._sweep_call = self._clock.callLater(SWEEP_INTERVAL_S, self._sweep)

    def _complete(self, completions: list[Completion]) -> None:
        for done, error, value in completions:
            try:
                done(error, value)
            except Exception:
                # One caller's mistake must not keep the others from their replies.
                self.log.failure("a completion callback failed")
