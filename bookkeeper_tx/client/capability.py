"""The capabilities of each bookie: batch read and ledger scopes (docs/protocol/batch-read.md).

A bookie that lacks a capability may say so by closing the connection.  So the first such request to a bookie of unknown
capability is a probe: one at a time is under way, and other requests wait for its result.  A bookie that publishes its
capabilities is not probed.
"""

from collections.abc import Callable
from enum import Enum

from attrs import frozen

from bookkeeper_tx.driver import Clock
from bookkeeper_tx.errors import (
    NO_ANSWER,
    NOT_UNDERSTOOD,
    AuthenticationFailed,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    LocalError,
    TlsFailed,
)
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.protocol.client.slow_requests import tell_slow

WAITING_MAX = 50_000
"""Requests that may wait for one probe."""


UNANSWERED = (*NO_ANSWER, LocalError, TlsFailed, AuthenticationFailed)
"""Errors after which the bookie has not answered the request: of this side, or of a connection that was not made."""


class Capability(Enum):
    """What is known of one capability of one bookie."""

    UNKNOWN = "unknown"
    PROBED = "a probe is under way"
    SERVES = "serves"
    LACKS = "lacks"


def told_by_batch_probe(error: BookKeeperError | None, ever_served: bool = False) -> Capability:
    """Return what the outcome of a first batch read tells of the bookie (docs/protocol/batch-read.md).

    After BookieUnavailable a plain read must follow, see :func:`told_by_plain_read`: the bookie may be old, or down.
    """
    if isinstance(error, NOT_UNDERSTOOD) and not ever_served:
        return Capability.LACKS
    return Capability.UNKNOWN if isinstance(error, UNANSWERED) else Capability.SERVES


def told_by_plain_read(lost: BookieUnavailable, error: BookKeeperError | None) -> Capability:
    """Return what a plain read tells, made after the connection of a probe was ``lost``.

    A bookie that still answers plain reads lacks batch read, unless that connection was never made.
    """
    unknown = isinstance(lost, CannotConnect) or isinstance(error, UNANSWERED)
    return Capability.UNKNOWN if unknown else Capability.LACKS


@frozen
class _Knowledge:
    capability: Capability
    expires_s: float


class Capabilities:
    """Remembers for each bookie whether it has one capability, such as batch read; forgets it after ``expiry_s``."""

    def __init__(self, clock: Clock, expiry_s: float) -> None:
        self._clock = clock
        self._expiry_s = expiry_s
        self._known: dict[BookieId, _Knowledge] = {}
        self._waiting: dict[BookieId, list[Callable[[BookKeeperError | None], None]]] = {}
        self._interruptions: dict[BookieId, int] = {}
        """The number of interruptions at the last call of :meth:`of`; absent if it was 0 so far."""
        self._ever_served: set[BookieId] = set()
        self._slow: set[BookieId] = set()
        """Bookies whose last probe takes long, or took."""

    def of(self, bookie_id: BookieId, interruptions: int) -> Capability:
        """Return what is known of ``bookie_id`` now.

        ``interruptions`` is how often the connection to it was lost or could not be made.  The next connection may lead
        to another process, of an older release.
        """
        known = self._known.get(bookie_id)
        if interruptions != self._interruptions.get(bookie_id, 0):
            self._interruptions[bookie_id] = interruptions
            self._ever_served.discard(bookie_id)
            if known is not None and known.capability is Capability.SERVES:
                del self._known[bookie_id]
                known = None
        if known is not None:
            if known.expires_s > self._clock.seconds():
                return known.capability
            del self._known[bookie_id]
        return Capability.PROBED if bookie_id in self._waiting else Capability.UNKNOWN

    def ever_served(self, bookie_id: BookieId) -> bool:
        """Return whether the bookie has answered such a request, and there was no interruption since.

        If so, "bad request" is about the request and not about the capability.
        """
        return bookie_id in self._ever_served

    def begin_probe(self, bookie_id: BookieId) -> None:
        """Note that a probe of the bookie begins; a call of one of the four methods below must follow."""
        self._waiting[bookie_id] = []
        self._slow.discard(bookie_id)

    def wait(self, bookie_id: BookieId, ended: Callable[[BookKeeperError | None], None]) -> None:
        """Call ``ended(None)`` when the probe under way has a result, ``ended(error)`` when it has failed.

        If too many requests wait already, ``ended`` gets an error at the next turn of the clock.
        """
        waiting = self._waiting[bookie_id]
        if len(waiting) < WAITING_MAX:
            waiting.append(ended)
            if bookie_id in self._slow:
                self._clock.callLater(0, tell_slow, ended)
        else:
            error = BookieUnavailable(f"{WAITING_MAX} requests wait to know what bookie {bookie_id} can")
            self._clock.callLater(0, ended, error)

    def slow(self, bookie_id: BookieId) -> None:
        """The probe under way takes long: tell those that wait for it, and those that come to wait."""
        self._slow.add(bookie_id)
        for ended in list(self._waiting.get(bookie_id, ())):
            tell_slow(ended)

    def advertised(self, bookie_id: BookieId) -> None:
        """The bookie has published that it has the capability."""
        self._learn(bookie_id, Capability.SERVES)

    def serves(self, bookie_id: BookieId) -> None:
        """The bookie has answered such a request."""
        self._ever_served.add(bookie_id)
        self._learn(bookie_id, Capability.SERVES)

    def lacks(self, bookie_id: BookieId) -> None:
        """The bookie has shown, in one way or another, that it lacks the capability."""
        self._learn(bookie_id, Capability.LACKS)

    def unknown(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """``error`` leaves the capability unknown: earlier knowledge is dropped, and waiting requests get the error."""
        self._known.pop(bookie_id, None)
        for ended in self._waiting.pop(bookie_id, ()):
            ended(error)

    def _learn(self, bookie_id: BookieId, capability: Capability) -> None:
        self._known[bookie_id] = _Knowledge(capability, self._clock.seconds() + self._expiry_s)
        for ended in self._waiting.pop(bookie_id, ()):
            ended(None)
