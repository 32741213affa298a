"""What the client needs of the world that it runs in: timers, and results that come later.

The rules of the client are written once, for every such world.  They know no reactor and no event loop; a driver lends
them what its world has in their place.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any, Protocol, TypeVar

from bookkeeper_tx.security.tls_config import TlsConfig

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Promise(Protocol[T]):
    """A result that comes later: a Deferred of Twisted, or what another driver has in its place."""

    called: bool
    """Whether the result, or the error, is there."""

    def callback(self, result: T) -> None:
        """Bring the result."""

    def errback(self, error: BaseException) -> None:
        """Bring the error."""

    def cancel(self) -> None:
        """Give up waiting: whoever waits gets the error that their world has for it."""

    def __await__(self) -> Generator[Any, Any, T]: ...


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not make the call."""


class Clock(Protocol):
    """A clock, and calls that are due later."""

    def seconds(self) -> float:
        """Return seconds, from any start; a wall clock that is set does not change them."""

    def callLater(self, delay: float, function: Callable[..., object], *arguments: Any) -> Timer:
        """Call ``function(*arguments)`` in ``delay`` seconds, never before this has returned."""


class Driver(Protocol):
    """The world of one client.  Everything here is for its one thread."""

    @property
    def clock(self) -> Clock: ...

    def epoch_s(self) -> float:
        """Return the seconds since the epoch: what others are told, and never a deadline."""

    @property
    def promise(self) -> Callable[..., Any]:
        """Makes a :class:`Promise`."""

    def cancellable(self, canceller: Callable[[Any], object]) -> Any:
        """Return a promise; when it is cancelled, ``canceller`` is called with it first."""

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Promise[T]:
        """Run ``coroutine``; return a promise of its result, whose cancellation ends it."""

    def succeed(self, result: T) -> Promise[T]:
        """Return a promise that has its result."""

    def fail(self, error: BaseException) -> Promise[Any]:
        """Return a promise that has an error."""

    def connect(self, host: str, port: int, timeout_s: float, link: Any, tls: TlsConfig | None) -> Awaitable[object]:
        """Make a connection, and tell ``link``, a ``transport.client_link.ClientLink``, that it is connected.

        ``tls`` is for :meth:`Wire.start_tls`.  Fails with InvalidConfig for its files, or with an error that says why
        there is no connection.
        """

    def report(self, what: str) -> None:
        """Log that ``what`` failed with the exception that is being handled: a mistake, which nobody waits for."""

    def warn(self, text: str) -> None:
        """Log an error of others that nobody waits for."""

    def when_done(self, promise: Any, done: Callable[[Exception | None, Any], object]) -> None:
        """Call ``done(error, result)`` when ``promise`` has either; ClientClosed stands for its cancellation.

        Nobody else waits for ``promise``.
        """


def answer_all(promises: Iterable[Promise[None]], error: BaseException | None) -> None:
    """Bring the end of what all of ``promises`` wait for: nothing, or an error."""
    for promise in promises:
        if error is None:
            promise.callback(None)
        else:
            promise.errback(error)


def fire(promise: Promise[T], result: T) -> None:
    """Bring a result: for a timer, or who else calls later.

    A promise that is cancelled meanwhile drops it; with asyncio ``promise.callback``, looked up before, would not.
    """
    promise.callback(result)


async def all_of(promises: Iterable[Awaitable[object]]) -> None:
    """Return when all have their result; raises the first error in their order."""
    for promise in promises:
        await promise


async def pause(driver: Driver, pause_s: float) -> None:
    """Return in ``pause_s`` seconds."""
    over: Promise[None] = driver.promise()
    timer = driver.clock.callLater(pause_s, fire, over, None)
    try:
        await over
    except BaseException:
        timer.cancel()
        raise
