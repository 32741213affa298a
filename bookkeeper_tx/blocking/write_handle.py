"""The handle of a ledger's only writer for callers that wait, as far as it does not matter who gives the ids."""

from typing import TypeVar

from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.blocking.waiting import Waiting, waits
from bookkeeper_tx.client import write_handle
from bookkeeper_tx.client.ledger_handle import LedgerHandle
from bookkeeper_tx.model import BookieId, LedgerMetadata

Writer = TypeVar("Writer", bound=write_handle.WriteHandle)


class WriteHandle(LedgerHandle, Waiting[Writer]):
    """Closes the ledger that a subclass appends to, makes it durable, and publishes what is confirmed."""

    def __init__(self, thread: LoopThread, writer: Writer) -> None:
        super().__init__(thread, writer)
        self.ledger_id = writer.ledger_id
        """The whole id; see :class:`~bookkeeper_tx.LedgerId`."""

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that is acknowledged together with all entries before it; -1 at first."""
        return self._inner.last_add_confirmed

    @property
    def length(self) -> int:
        """Payload bytes up to the last add confirmed."""
        return self._inner.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this writer last knew it."""
        return self._inner.metadata

    @property
    def under_replicated(self) -> frozenset[BookieId]:
        """Bookies that lack entries: they failed, there was no other, and the others are an ack quorum."""
        return self._inner.under_replicated

    force = waits(write_handle.WriteHandle.force)
    write_last_add_confirmed = waits(write_handle.WriteHandle.write_last_add_confirmed)
    close = waits(write_handle.WriteHandle.close)
