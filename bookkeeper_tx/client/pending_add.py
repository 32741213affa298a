"""An entry that waits for its ack quorum, and the places of the ensemble that it is sent to."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.entry.entry_format import V1
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


class PendingRun:
    """Consecutive entries on their way to every bookie of an ensemble that is not striped: one object for all.

    They are confirmed together, when the ack quorum has acknowledged all of them.  A run of which an add fails, or
    whose ensemble changes, is split into its entries.
    """

    __slots__ = (
        "acknowledged",
        "deferred",
        "entries",
        "entry_id",
        "first",
        "length",
        "missing",
        "parts",
        "refused",
        "result",
    )

    def __init__(
        self,
        first: int,
        entries: Sequence[bytes],
        length: int,
        missing: int,
        deferred: Deferred[Any] | None,
        result: Any,
    ) -> None:
        self.first = first
        self.entries = entries
        self.entry_id = first + len(entries) - 1
        """Id of the last entry."""
        self.length = length
        """Payload bytes of the ledger up to the last entry."""
        self.missing = missing
        """Bookies that have not acknowledged all entries yet, up to the ack quorum."""
        self.acknowledged = 0
        self.refused = 0
        self.deferred = deferred
        self.result = result
        self.parts: tuple[PendingAdd, ...] = ()
        """The entries, each by itself, after the run was split."""

    @property
    def entry(self) -> bytes:
        """The last entry."""
        return self.entries[-1]

    def split(self) -> Sequence[PendingAdd]:
        """Return the entries, each by itself; the last one has the Deferred."""
        adds: list[PendingAdd] = []
        for entry_id, entry in enumerate(self.entries, self.first):
            length = V1.metadata.unpack_fixed(entry)[-1]
            ends = (self.deferred, self.result) if entry_id == self.entry_id else (None, None)
            add = PendingAdd(entry_id, entry, length, self.missing, *ends)
            add.acknowledged = self.acknowledged
            adds.append(add)
        self.deferred = None
        self.parts = tuple(adds)
        return self.parts


Pending: TypeAlias = PendingAdd | PendingRun
