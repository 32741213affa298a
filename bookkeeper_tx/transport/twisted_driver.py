"""The client on a Twisted reactor."""

import os
import time
from collections.abc import Callable, Coroutine
from threading import get_ident
from typing import Any, TypeVar

from twisted.internet.abstract import isIPAddress
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python import threadable
from twisted.python.failure import Failure

from bookkeeper_tx.errors import ClientClosed, IllegalOperation, InvalidConfig
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport.client_link import ClientLink
from bookkeeper_tx.transport.client_protocol import ClientProtocol

T = TypeVar("T")


class MonotonicClock:
    """The timers of a reactor whose own time is the wall clock, and a time that nobody sets.

    Deadlines are made and judged with this time, so a timer that the wall clock has brought forward ends nothing too
    early.  One that was set before the wall clock was set back comes late all the same: the reactor holds it.
    """

    seconds = staticmethod(time.monotonic)

    def __init__(self, reactor: Any) -> None:
        self.callLater = reactor.callLater


class TwistedDriver:
    """Promises are Deferreds."""

    epoch_s = staticmethod(time.time)

    _log = Logger()

    def __init__(self, reactor: Any) -> None:
        # The reactor of a bookie, or of a test, has a time of its own.
        self.clock = MonotonicClock(reactor) if getattr(reactor, "seconds", None) is time.time else reactor
        self._reactor = reactor
        self._has_thread = IReactorFromThreads.providedBy(reactor)  # the clock of a test has none
        self._process = os.getpid()
        self._tls: tuple[TlsConfig, Any] | None = None

    def promise(self) -> Deferred[Any]:
        if threadable.ioThread != get_ident():
            self._require_here()
        return Deferred()

    def cancellable(self, canceller: Callable[[Any], object]) -> Deferred[Any]:
        self._require_here()
        return Deferred(canceller)  # type: ignore[arg-type]

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
        try:
            self._require_here()
        except IllegalOperation:
            coroutine.close()
            raise
        return Deferred.fromCoroutine(coroutine)

    def _require_here(self) -> None:
        """Raise IllegalOperation on another thread than the reactor's while it runs, or in another process."""
        if not self._has_thread:
            return
        if os.getpid() != self._process:
            raise IllegalOperation("this client belongs to the parent process: make one after the fork")
        if threadable.ioThread not in (None, get_ident()):
            raise IllegalOperation(
                "this client belongs to the reactor's thread: use reactor.callFromThread, "
                "twisted.internet.threads.blockingCallFromThread, or bookkeeper_tx.blocking"
            )

    def succeed(self, result: T) -> Deferred[T]:
        return succeed(result)

    def fail(self, error: BaseException) -> Deferred[Any]:
        return fail(error)

    def connect(self, host: str, port: int, timeout_s: float, link: ClientLink, tls: TlsConfig | None) -> Deferred[Any]:
        """Make a connection; fires when ``link`` is connected."""
        try:
            client_tls = None if tls is None else self._client_tls(tls)
        except InvalidConfig as error:
            return fail(error)
        # An address needs no resolver, which would cost a turn of a thread pool.
        kind = TCP4ClientEndpoint if isIPAddress(host) else HostnameEndpoint
        endpoint = kind(self._reactor, host, port, timeout=timeout_s)
        factory = Factory.forProtocol(lambda: ClientProtocol(link, client_tls))
        factory.noisy = False
        connecting: Deferred[Any] = endpoint.connect(factory)
        return connecting

    def report(self, what: str) -> None:
        self._log.failure(what)

    def warn(self, text: str) -> None:
        self._log.warn("{text}", text=text)

    def _client_tls(self, config: TlsConfig) -> Any:
        """Return the TLS of this configuration, which reads its files again when they change."""
        from bookkeeper_tx.transport.tls import ClientTls

        if self._tls is None or self._tls[0] is not config:
            self._tls = config, ClientTls(config, self._reactor)
        return self._tls[1]

    def when_done(self, promise: Deferred[T], done: Callable[[Exception | None, Any], object]) -> None:
        """Call ``done``; nobody else waits for ``promise``."""

        def failed(failure: Failure) -> None:
            if not isinstance(failure.value, Exception):
                failure.raiseException()
            cancelled = isinstance(failure.value, CancelledError)
            done(ClientClosed("what the client was doing was cancelled") if cancelled else failure.value, None)

        promise.addCallbacks(lambda result: done(None, result), failed)
