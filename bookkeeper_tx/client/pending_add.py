"""An entry that waits for its ack quorum, and the places of the ensemble that it is sent to."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId


class Slot:
    """One place of the ensemble and the bookie that fills it now.

    A new bookie gets a new slot.  So a later reply of the replaced bookie is recognised, and has no effect.
    """

    __slots__ = ("bit", "bookie_id", "broken", "channel", "error", "index", "replaced", "retry_generation", "retry_s")

    def __init__(self, index: int, bookie_id: BookieId, channel: Channel) -> None:
        self.index = index
        self.bit = 1 << index
        self.bookie_id = bookie_id
        self.channel = channel
        self.replaced = False
        self.broken = False
        """Whether the bookie has failed.  If no other can take its place, the replacement is tried again after the set
        of bookies is no longer that of ``retry_generation``, or after ``retry_s``."""
        self.retry_generation = 0
        self.retry_s = 0.0
        self.error: BookKeeperError | None = None
        """Its last error."""


class PendingAdd:
    """One entry on its way."""

    __slots__ = ("acknowledged", "deferred", "entry", "entry_id", "length", "missing", "refused", "result")

    def __init__(
        self, entry_id: int, entry: bytes, length: int, missing: int, deferred: Deferred[Any] | None, result: Any
    ) -> None:
        self.entry_id = entry_id
        self.entry = entry
        self.length = length
        self.missing = missing
        """Acknowledgements still missing; negative when more than the ack quorum have come."""
        self.acknowledged = 0
        self.refused = 0
        self.deferred = deferred
        self.result = result
