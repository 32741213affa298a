"""The client on an asyncio event loop; no Twisted is loaded."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bookkeeper_tx.errors import BookKeeperError, CannotConnect, ClientClosed, IllegalOperation
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport.aio_wire import AioWire
from bookkeeper_tx.transport.client_link import ClientLink

T = TypeVar("T")

log = logging.getLogger("bookkeeper_tx")


class AioPromise(asyncio.Future[Any]):
    """A Future as the client's rules want it.  A result that comes after a cancellation is dropped."""

    # No methods of ours: each append fires one.
    callback = asyncio.Future.set_result
    errback = asyncio.Future.set_exception
    called = property(asyncio.Future.done)
    canceller: Callable[[Any], object] | None = None

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        if self.canceller is not None:
            self.canceller(self)
        self.callback = self.errback = _drop  # type: ignore[method-assign]
        return super().cancel(msg)


def _drop(_: object) -> None:
    """Drop what comes too late."""


class AioClock:
    """The clock of an event loop, for the thread that made this."""

    seconds = staticmethod(time.monotonic)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._process = os.getpid()

    def callLater(self, delay: float, function: Callable[..., object], *arguments: Any) -> asyncio.TimerHandle:
        """Call ``function(*arguments)`` in ``delay`` seconds.  Raises as :meth:`require_here`."""
        self.require_here()
        # Never call_soon: what is due at once must come after the bytes that have arrived.
        return self._loop.call_later(delay, function, *arguments)

    def require_here(self) -> None:
        """Raise unless what is called now may use the loop.

        IllegalOperation on another thread, on another loop or in another process, ClientClosed if the loop has ended.
        """
        running = asyncio._get_running_loop()
        if running is self._loop:
            return
        if os.getpid() != self._process:
            raise IllegalOperation("this client belongs to the parent process: make one after the fork")
        if threading.get_ident() != self._thread:
            raise IllegalOperation(
                "this client belongs to the thread of its event loop: use asyncio.run_coroutine_threadsafe, or "
                "bookkeeper_tx.blocking"
            )
        if self._loop.is_closed():
            raise ClientClosed("the event loop of this client has ended")
        if running is not None:
            raise IllegalOperation("this client belongs to another event loop: make one on the loop that runs")


class AioDriver:
    """Promises are Futures, coroutines are Tasks."""

    epoch_s = staticmethod(time.time)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = AioClock(loop)
        self._tasks: set[asyncio.Task[Any]] = set()
        """Those that run: the loop itself holds them weakly."""
        self._tls: tuple[TlsConfig, Any] | None = None

    def promise(self) -> AioPromise:
        self.clock.require_here()
        return AioPromise(loop=self.loop)

    def cancellable(self, canceller: Callable[[Any], object]) -> AioPromise:
        promise = self.promise()
        promise.canceller = canceller
        return promise

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Any:
        try:
            self.clock.require_here()
        except BookKeeperError:
            coroutine.close()
            raise
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def succeed(self, result: Any) -> Any:
        promise = self.promise()
        promise.set_result(result)
        return promise

    def fail(self, error: BaseException) -> Any:
        promise = self.promise()
        promise.set_exception(error)
        return promise

    async def connect(self, host: str, port: int, timeout_s: float, link: ClientLink, tls: TlsConfig | None) -> None:
        """Make a connection, and tell ``link``."""
        context = None if tls is None else client_context(tls)
        connecting = self.loop.create_connection(lambda: AioWire(link, context), host, port)
        try:
            await asyncio.wait_for(connecting, timeout_s)
        except TimeoutError as error:
            if error.errno is not None:
                raise CannotConnect(f"{host}:{port}: {error.strerror}") from error  # the system's own
            raise CannotConnect(f"{host}:{port} did not answer within {timeout_s:g} s") from None
        except OSError as error:
            raise CannotConnect(f"{host}:{port}: {error.strerror or error}") from error

    def report(self, what: str) -> None:
        log.exception(what)

    def warn(self, text: str) -> None:
        log.warning("%s", text)

    def when_done(self, promise: Any, done: Callable[[Exception | None, Any], object]) -> None:
        def ended(future: asyncio.Future[Any]) -> None:
            if future.cancelled():
                done(ClientClosed("what the client was doing was cancelled, as at the end of its event loop"), None)
                return
            error = future.exception()
            if error is None:
                done(None, future.result())
            elif isinstance(error, Exception):
                done(error, None)
            else:
                raise error

        promise.add_done_callback(ended)
