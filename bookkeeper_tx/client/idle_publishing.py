"""Publishing the last add confirmed as soon as a writer pauses (docs/protocol/last-add-confirmed.md).

For writers whose readers follow at once.  While appends follow each other each carries what is confirmed, and nothing
is published; of one append alone its readers hear at once.

    PATIENT --nothing on its way for a while: publish--> EAGER
    EAGER --nothing on its way: publish--> EAGER
    EAGER --the next append comes at once, or while that is published--> PATIENT

So who appends one by one, each when the one before is acknowledged, publishes once, and pays for no more.
"""

from typing import Any, Final
from weakref import WeakMethod

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.explicit_last_add_confirmed import ExplicitLastAddConfirmed, call_if_alive
from bookkeeper_tx.driver import Timer
from bookkeeper_tx.errors import BookKeeperError, ClientClosed
from protocol_specs import fields

AGAIN_S: Final = 1.0
"""When it is tried again if too few bookies have taken it."""


class IdlePublishing:
    """Publishes by ``explicit`` what ``adds`` have confirmed once none is on its way: at once, or after ``delay_s``."""

    def __init__(self, context: ClientContext, adds: Adds, explicit: ExplicitLastAddConfirmed, delay_s: float) -> None:
        self._context = context
        self._adds = adds
        self._explicit = explicit
        self._delay_s = delay_s
        self._publishing = self._stopped = False
        self._eager = True
        """Whether the last append was followed by a pause: then the next may be alone, too."""
        self._call: Timer | None = None
        self._is_retry = False
        """Whether that call is for what could not be published."""
        self._warned_of = fields.NO_ENTRY
        self._idle_since_s = 0.0
        adds.on_idle = self._wait

    def stop(self) -> None:
        """Publish nothing more."""
        self._stopped = True
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _wait(self) -> None:
        self._idle_since_s = self._context.clock.seconds()
        if self._call is not None and self._is_retry:
            self._call.cancel()
            self._call = None
        self._wait_for(0 if self._eager else self._delay_s)

    def _wait_for(self, delay_s: float, is_retry: bool = False) -> None:
        if self._call is None and not (self._publishing or self._stopped):
            self._is_retry = is_retry
            # The clock must not keep a writer that its program has dropped without closing it.
            self._call = self._context.clock.callLater(delay_s, call_if_alive, WeakMethod(self._due))

    def _due(self) -> None:
        self._call = None
        adds = self._adds
        if adds.error is not None or self._context.bookies.stopped:
            return
        if adds.last is not None:
            self._eager = False
            return  # what is on its way calls again at its end
        missing_s = 0 if self._eager else self._idle_since_s + self._delay_s - self._context.clock.seconds()
        if missing_s > 0:
            self._wait_for(missing_s)  # something was appended, and acknowledged, since this was called for
        elif adds.last_add_confirmed > self._explicit.published:
            self._eager = self._publishing = True
            self._context.driver.when_done(self._explicit.write(), self._ended)

    def _ended(self, error: Exception | None, last_add_confirmed: Any) -> None:
        self._publishing = False
        if error is None:
            came_meanwhile = self._adds.last_add_confirmed > last_add_confirmed
            self._eager = not came_meanwhile and self._adds.last is None
            if came_meanwhile:
                self._wait()
        elif isinstance(error, ClientClosed):
            return
        elif isinstance(error, BookKeeperError):
            self._warn(error)
            self._wait_for(AGAIN_S, is_retry=True)
        else:
            raise error

    def _warn(self, error: BookKeeperError) -> None:
        """Say it once of each last add confirmed, however often that is tried."""
        if self._adds.last_add_confirmed > self._warned_of:
            self._warned_of = self._adds.last_add_confirmed
            self._context.driver.warn(str(error))
