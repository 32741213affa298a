"""What each bookie can: whether it serves batch read, whether it knows ledger scopes (docs/protocol/batch-read.md).

A bookie that lacks something may say so by closing the connection, so the first such request to a bookie of unknown
capability is a probe, of which one at a time is under way; others wait for what it finds.  A bookie that publishes what
it can need not be probed.
"""

from collections.abc import Callable
from enum import Enum

from attrs import frozen
from twisted.internet.interfaces import IReactorTime

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError
from bookkeeper_tx.model import BookieId

WAITING_MAX = 50_000
"""Requests that may wait for one probe."""


class Capability(Enum):
    """What is known of a bookie."""

    UNKNOWN = "unknown"
    PROBED = "a probe is under way"
    SERVES = "serves"
    LACKS = "lacks"


@frozen
class _Knowledge:
    capability: Capability
    expires_s: float


class Capabilities:
    """Remembers of each bookie whether it can one thing, until that expires."""

    def __init__(self, clock: IReactorTime, expiry_s: float) -> None:
        self._clock = clock
        self._expiry_s = expiry_s
        self._known: dict[BookieId, _Knowledge] = {}
        self._waiting: dict[BookieId, list[Callable[[BookKeeperError | None], None]]] = {}
        self._interruptions: dict[BookieId, int] = {}
        """How many there were when the bookie was last looked up, if any."""
        self._ever_served: set[BookieId] = set()

    def of(self, bookie_id: BookieId, interruptions: int) -> Capability:
        """Return what is known of ``bookie_id`` now.

        ``interruptions`` is how often the connection to it was lost or could not be made: behind the next one may be
        another process, of an older release.
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

        Then "bad request" is about the request.
        """
        return bookie_id in self._ever_served

    def begin_probe(self, bookie_id: BookieId) -> None:
        """Say that a bookie of unknown capability is asked; one of the four below must follow."""
        self._waiting[bookie_id] = []

    def wait(self, bookie_id: BookieId, ended: Callable[[BookKeeperError | None], None]) -> None:
        """Call ``ended(None)`` when the probe under way has found out, ``ended(error)`` when it has not.

        With too many waiting already, that is at the next turn of the clock, with an error.
        """
        waiting = self._waiting[bookie_id]
        if len(waiting) < WAITING_MAX:
            waiting.append(ended)
        else:
            error = BookieUnavailable(f"{WAITING_MAX} requests wait to know what bookie {bookie_id} can")
            self._clock.callLater(0, ended, error)

    def advertised(self, bookie_id: BookieId) -> None:
        """The bookie has published that it can."""
        self._learn(bookie_id, Capability.SERVES)

    def serves(self, bookie_id: BookieId) -> None:
        """The bookie has answered such a request."""
        self._ever_served.add(bookie_id)
        self._learn(bookie_id, Capability.SERVES)

    def lacks(self, bookie_id: BookieId) -> None:
        """The bookie has said in one way or another that it cannot."""
        self._learn(bookie_id, Capability.LACKS)

    def unknown(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Nothing was learnt, because of ``error``; what was known holds no more."""
        self._known.pop(bookie_id, None)
        for ended in self._waiting.pop(bookie_id, ()):
            ended(error)

    def _learn(self, bookie_id: BookieId, capability: Capability) -> None:
        self._known[bookie_id] = _Knowledge(capability, self._clock.seconds() + self._expiry_s)
        for ended in self._waiting.pop(bookie_id, ()):
            ended(None)
