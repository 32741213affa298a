"""A client's connection to a bookie, in whatever world: requests go out by turns, overdue ones end."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise, Timer
from bookkeeper_tx.errors import (
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    ProtocolViolation,
    RequestTimedOut,
    TlsFailed,
)
from bookkeeper_tx.protocol.client.completion import Completion
from bookkeeper_tx.protocol.client.handshake import ClientHandshake, State
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.security.authentication import ClientAuthProviderFactory, ConnectionPeer
from bookkeeper_tx.transport.pace import Pace
from bookkeeper_tx.transport.progress import Progress
from bookkeeper_tx.transport.slow_reads import SlowReads

SWEEP_INTERVAL_S = 0.5
"""How often overdue requests are looked for.  A look that is later than as much again means that the program did not
come to it, or that the clock was set: the time in between does not count."""

Done: TypeAlias = Callable[[BookKeeperError | None, Any], None]


class Wire(Protocol):
    """The way of bytes to a bookie and back, as a driver makes it."""

    @property
    def address(self) -> str:
        """Host and port of the bookie, as far as they are known."""

    def send(self, data: bytes) -> None:
        """Send ``data``, at once if nothing waits before it."""

    def start_tls(self, host: str) -> None:
        """Begin TLS with the bookie at ``host``; then the link is told that it is :meth:`~ClientLink.secured`."""

    def abort(self) -> None:
        """End the connection; then the link is told that it is lost."""


class ClientLink:
    """Sends the requests made in one turn as one write, and calls each request's ``done``.

    Callers call :meth:`wake` unless the link is :attr:`awake`, then make their request on :attr:`connection`, with
    ``done`` as its token and :attr:`now` plus its time-out as its deadline.
    """

    wire: Wire

    def __init__(
        self,
        driver: Driver,
        connection: V2ClientConnection | V3ClientConnection,
        lost: Callable[["ClientLink", BookKeeperError], None],
        config: ClientConfig,
        pace: Pace,
    ) -> None:
        self.connection = connection
        self._slow_reads = SlowReads(driver, connection, pace, config.read_timeout_s)
        self._driver = driver
        self._clock = driver.clock
        self._lost = lost
        self._unsent_bytes_max = config.unsent_bytes_max
        self._progress = Progress(min(config.add_timeout_s, config.read_timeout_s) + SWEEP_INTERVAL_S)
        self._silence_max_s = max(config.add_timeout_s, config.read_timeout_s)
        self._unanswered_since: float | None = None
        """When something was sent for the first time since anything was received; None if nothing was."""
        self.awake = False
        """Whether a request made now will be sent and watched without a call of :meth:`wake`."""
        self.now = 0.0
        """The time that deadlines are made with, while awake: that of the clock, less ``_away_s``."""
        self._away_s = 0.0
        """The time in which the program did not look at its connections."""
        self.overfull = False
        """Whether the bookie takes nothing and more than ``unsent_bytes_max`` waits to be sent to it."""
        self._unsent_bytes = 0
        self.congested = False
        """Whether bytes wait to be sent, since the bookie does not take them."""
        self._flush_call: Timer | None = None
        self._sweep_call: Timer | None = None
        self._sweep_due = 0.0
        self._before_send: list[Callable[[], None]] = []
        self._overdue: list[Completion] = []
        """The completions that wait for the end of a connection that was given up with them."""
        self._given_up: BookKeeperError | None = None
        self.ended: BookKeeperError | None = None
        """Why the connection was lost, once it was."""
        self.peer = ConnectionPeer("")
        """The bookie's address and certificate, as far as they are known."""
        self._handshake: ClientHandshake | None = None
        """Set until the connection takes requests, if that needs TLS or authentication."""
        self._ready: Promise[ClientLink] | None = None
        self._handshake_timeout: Timer | None = None
        self._host = ""

    def connected(self, wire: Wire) -> None:
        """Begin: the connection is made."""
        self.wire = wire

    def wake(self) -> None:
        """Arrange for the requests made in this turn of the reactor to be sent at its end, and watched."""
        self._flush_call = self._clock.callLater(0, self._flush)
        self._watch()

    def before_send(self, call: Callable[[], None]) -> None:
        """Have ``call``, which makes requests, called once before the next bytes are sent, or when this is lost."""
        if not self.awake:
            self.wake()
        self._before_send.append(call)

    def end_turn(self) -> None:
        """Make the calls of :meth:`before_send` now, and those that they ask for."""
        while self._before_send:
            calls, self._before_send = self._before_send, []
            for call in calls:
                try:
                    call()
                except Exception:
                    self._driver.report("what was to be sent at the end of a turn was not sent")

    def _watch(self) -> None:
        self.awake = True
        now = self._clock.seconds()
        self.now = now - self._away_s
        if self._sweep_call is not None and now - self._sweep_due > SWEEP_INTERVAL_S:
            self.now -= now - self._sweep_due  # the next sweep counts it as time away
        if self._sweep_call is None:
            self._sweep_due = self._clock.seconds() + SWEEP_INTERVAL_S
            self._sweep_call = self._clock.callLater(SWEEP_INTERVAL_S, self._sweep)

    # TLS and authentication ------------------------------------------------------------------------------------------

    def secure(
        self, host: str, tls: bool, auth: ClientAuthProviderFactory | None, timeout_s: float
    ) -> Promise["ClientLink"]:
        """Ask the bookie at ``host`` for TLS if ``tls``; then authenticate.

        Fires with this link when requests may be made.  Fails with TlsFailed, with AuthenticationFailed when the bookie
        refuses our credentials, with AuthenticationUnanswered when it hangs or ends the connection instead, or with
        another error that ended the connection; the connection is dropped then.
        """
        self.peer.address = self.wire.address
        self._host = host
        v2 = isinstance(self.connection, V2ClientConnection)
        ready: Promise[ClientLink] = self._driver.promise()
        self._ready = ready
        self._handshake_timeout = self._clock.callLater(timeout_s, self._handshake_overdue)
        self._handshake = ClientHandshake(self, self.peer, tls, auth, v2)
        self._handshake.start()
        return ready

    def send_handshake(self, data: bytes) -> None:
        self.wire.send(data)

    def start_tls(self) -> None:
        self.wire.start_tls(self._host)

    def secured(self, certificate: bytes | None) -> None:
        """Go on inside TLS; the bookie has shown ``certificate`` (DER), which is for its host if it must be."""
        if self._handshake is not None:
            self._handshake.secured(certificate)

    def handshake_complete(self, rest: bytes) -> None:
        self._handshake = None
        self._settle(self)
        if rest:
            self.received(rest)

    def handshake_failed(self, error: BookKeeperError) -> None:
        self.drop(error)

    def _handshake_overdue(self) -> None:
        self._handshake_timeout = None
        assert self._handshake is not None
        if self._handshake.state is State.AUTHENTICATING:
            self.drop(AuthenticationUnanswered("the bookie left our credentials unanswered: they may be wrong"))
        else:
            self.drop(RequestTimedOut(f"the bookie did not answer in time while {self._handshake.state.value}"))

    def _settle(self, result: "ClientLink | BookKeeperError") -> None:
        """Fire the promise of :meth:`secure`, if it waits."""
        if self._handshake_timeout is not None:
            self._handshake_timeout.cancel()
            self._handshake_timeout = None
        ready, self._ready = self._ready, None
        if ready is None:
            return
        if isinstance(result, ClientLink):
            ready.callback(result)
        else:
            ready.errback(result)

    # Requests and replies --------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Take bytes that have come."""
        if self._handshake is not None:
            self._handshake.receive(data)
            return
        self._watch()
        self._unanswered_since = None
        try:
            completions = self.connection.receive(data)
        except ProtocolViolation as error:
            self.drop(error)
        else:
            if self.connection.answered is not None or self.connection.unfinished:
                self._progress.received(self.now, self.connection.answered)
                self._slow_reads.received(self.now)
            self._complete(completions)
        self._send()

    def drop(self, error: BookKeeperError) -> None:
        """Drop the connection, unless it is lost; requests that wait for a reply fail with ``error``."""
        if self.ended is None:
            self._given_up = error
            self.wire.abort()

    def lost(self, how: str, error: BookKeeperError | None = None) -> None:
        """End: the connection is lost, ``how`` says in what way, and ``error`` if that has a name."""
        self._slow_reads.stop()
        for call in (self._flush_call, self._sweep_call):
            if call is not None:
                call.cancel()
        self._flush_call = self._sweep_call = None
        error = self.ended = self._given_up or error or self._why_lost(how)
        self._lost(self, error)
        self.end_turn()
        self._settle(error)
        self._complete(self._overdue + self.connection.fail_all(error))
        if self._handshake is not None:
            self._handshake.close()

    def _why_lost(self, how: str) -> BookKeeperError:
        """Return the error for a connection that the other side has ended."""
        if self._handshake is not None:
            state = self._handshake.state
            if state is State.AUTHENTICATING:
                return AuthenticationUnanswered(
                    f"the bookie closed the connection on our credentials ({how}): they may be wrong"
                )
            return TlsFailed(f"the bookie closed the connection while {state.value}: {how}")
        return BookieUnavailable(f"connection lost: {how}")

    def takes_nothing(self) -> None:
        """Note that the bookie does not take our bytes."""
        self.congested = True

    def takes_again(self) -> None:
        """Note that the bookie has taken all our bytes."""
        self.congested = False
        self._unsent_bytes = 0
        self.overfull = False

    def _flush(self) -> None:
        self._flush_call = None
        self._send()

    def _send(self) -> None:
        self.end_turn()
        # A flush that was scheduled stays due: requests made until then go with it.
        self.awake = self._flush_call is not None
        data = self.connection.data_to_send()
        if data:
            if self._unanswered_since is None:
                self._unanswered_since = self.now
            if self.congested:
                self._unsent_bytes += len(data)
                self.overfull = self._unsent_bytes > self._unsent_bytes_max
            self.wire.send(data)
            if not self._slow_reads.watching:
                self._slow_reads.watch()

    def _sweep(self) -> None:
        now = self._clock.seconds()
        late_s = now - self._sweep_due
        if late_s > SWEEP_INTERVAL_S:
            self._away_s += late_s
            self._slow_reads.away_s = self._away_s
        self._sweep_due = now + SWEEP_INTERVAL_S
        # The reactor looks at the sockets next, and the answers may be there already.
        self._sweep_call = self._clock.callLater(0, self._judge, now - self._away_s)

    def _judge(self, now: float) -> None:
        """Fail the requests that are overdue at ``now``; give up a connection that has brought nothing instead."""
        self._sweep_call = None
        overdue = self.connection.expire(self._progress.overdue(now))
        since = self._unanswered_since
        if overdue and since is not None and now - since >= self._silence_max_s:
            # New requests go over a new connection only after this one is gone.
            self._overdue = overdue
            self.drop(BookieUnavailable("requests timed out and nothing came on the connection: it was given up"))
            return
        self._complete(overdue)
        if self._sweep_call is None and (self.connection.waiting or self._before_send):
            delay_s = max(0.0, self._sweep_due - self._clock.seconds())
            self._sweep_call = self._clock.callLater(delay_s, self._sweep)

    def _complete(self, completions: list[Completion]) -> None:
        for done, error, value in completions:
            try:
                done(error, value)
            except Exception:
                # One caller's mistake must not keep the others from their replies.
                self._driver.report("a completion callback failed")
