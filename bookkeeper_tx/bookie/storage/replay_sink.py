"""The sink of the journal's replay: the ledger storage, before it serves."""

import contextlib

from twisted.logger import Logger

from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.ledger_storage import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BadRequest, RefusedToStart, StorageFailed, Unauthorized
from bookkeeper_tx.model import ledger_name

log = Logger()


class ReplayTooLong(RefusedToStart):
    """The journal has more than the memory for it takes, and what was replayed cannot be flushed."""


class StorageSink:
    """Takes replayed records.

    ``flush_error`` says why nothing can be flushed; empty if it can.

    A ledger whose key was neither replayed before nor is in an index is a deleted one, and its records are skipped, as
    by Java's ``BookieImpl``; unless somebody has moved its index away (:attr:`passed_over`).  A replayed entry replaces
    the one in the index, which may point to bytes that a crash has kept from the disk; only locations written by this
    replay stay.  The index of each ledger in the journal is written once more: a kill may have prevented its sync, and
    the journal is given up when the replay has ended.
    """

    def __init__(self, storage: AnyStorage, flush_error: str = "") -> None:
        self._storage = storage
        self._flush_error = flush_error
        self._flush_failed = False
        """Whether a flush has left something that the next one begins with."""
        self.skipped = 0
        """Records of ledgers that are not here."""
        self.passed_over = LedgerIds()
        """The ledgers of entries among them, unless their deletion came behind these: the others were deleted without a
        word in the journal, as by Java, or have lost their index.  Java journals no key with a fence, so that a lone
        fence tells nothing."""

    def key(self, ledger_id: int, master_key: bytes) -> None:
        """Take a master key.  A key in an index wins: it was checked when it was stored.  One that none can hold is
        passed over: it was journaled for a ledger in limbo, and none of it would ever be flushed."""
        try:
            self._storage.open_for(ledger_id, master_key)
        except (Unauthorized, BadRequest) as error:
            name = ledger_name(ledger_id)
            log.warn("a key in the journal of ledger {ledger_id} is not its: {error}", ledger_id=name, error=error)
        self._known(ledger_id)

    def fence(self, ledger_id: int) -> None:
        """Take a fence."""
        ledger = self._known(ledger_id)
        if ledger is not None:
            self._storage.fence(ledger)

    def explicit_lac(self, ledger_id: int, body: bytes) -> None:
        """Take the body of a WRITE_LAC request."""
        ledger = self._known(ledger_id)
        if ledger is not None:
            self._storage.set_explicit_lac(ledger, body)

    def entries(self, run: EntryRun) -> None:
        """Take entries; blocks for a flush when the write cache is full.

        If that fails the replay goes on in memory, as far as a journal of ours needs it, so that its entries are served
        from a full disk as well.  Raises StorageFailed, ReplayTooLong.
        """
        ledger = self._known(run.ledger_id)
        if ledger is None:
            self.passed_over.add(run.ledger_id)
            return
        self._storage.replay(ledger, run)
        if self._storage.full and not self._flush_error:
            self._flush()
        if self._flush_error and self._storage.replayed.room_bytes <= 0:
            raise ReplayTooLong(f"the journal has more than the memory for its replay takes: {self._flush_error}")

    def _flush(self) -> None:
        try:
            self._storage.flush_now()
        except OSError as error:
            self._flush_failed = True
            self._flush_error = f"it cannot be flushed: {error}"
            log.error("{error}; the replay goes on in memory", error=self._flush_error)

    def deleted(self, ledger_id: int) -> None:
        """Take the deletion of a ledger: what was replayed of it until now is gone, and so is its index.

        One in limbo stays: it may have been put there after it was deleted, since its metadata name this bookie again.
        """
        self.passed_over.discard(ledger_id)
        if self._flush_failed or (self._flush_error and self._storage.collection.has_ledger(ledger_id)):
            return  # nothing can be removed; the next garbage collection finds it again
        ledger = None
        with contextlib.suppress(StorageFailed):  # a damaged index may go
            ledger = self._storage.ledger(ledger_id)
        if ledger is None or not ledger.limbo:
            self._storage.replayed.delete(ledger_id)

    def finish(self) -> None:
        """End the replay; the storage may serve."""
        self._storage.replayed.end()
        if self.skipped:
            log.info("passed over {count} journal records of ledgers that are not here", count=self.skipped)

    def _known(self, ledger_id: int) -> Ledger | None:
        ledger = self._storage.ledger(ledger_id)
        if ledger is None:
            self._storage.replayed.check_deleted(ledger_id)
            self.skipped += 1
        elif ledger.indexed:
            self._storage.replayed.doubt(ledger)
        return ledger
