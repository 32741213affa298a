"""What a replay of the journal finds out of ledgers, and does with them, besides adding their entries."""

from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.bookie.storage.unflushed import Unflushed
from bookkeeper_tx.bookie.storage.unremoved_indexes import UnremovedIndexes
from bookkeeper_tx.errors import RefusedToStart


class ReplayedLedgers:
    """The part of a storage that only the replay needs.  Its calls block."""

    def __init__(
        self,
        unflushed: Unflushed,
        ledgers: LedgerTable,
        pages: LedgerCache,
        indexes: Indexes,
        unremoved: UnremovedIndexes,
    ) -> None:
        self._unflushed = unflushed
        self._ledgers = ledgers
        self._pages = pages
        self._indexes = indexes
        self._unremoved = unremoved

    def check_deleted(self, ledger_id: int) -> None:
        """Raise RefusedToStart if an unknown ledger has an index file: it was not deleted, but the header is gone."""
        if self._ledgers.has_index(ledger_id):
            raise RefusedToStart(
                f"index {self._indexes.path(ledger_id)} has no header, and the journal has records of its ledger but "
                "not its key: bring back the file, or have bktx bookie regenerate-index make it anew"
            )

    def delete(self, ledger_id: int) -> None:
        """Delete a ledger whose deletion is in the journal."""
        self._unflushed.forget(ledger_id)
        has_index = self._ledgers.has_index(ledger_id)
        self._ledgers.forget(ledger_id)
        if has_index:
            self._pages.forget((ledger_id,))
            self._unremoved.remove((ledger_id,))

    def doubt(self, ledger: Ledger) -> None:
        """Let the next flush make the index of a ledger durable again, including the name of its file.

        A killed process may have left unsynced bytes in the page cache; they read as if they were on the disk.
        """
        self._unflushed.change(ledger, doubtful=True)

    def end(self) -> None:
        """End the replay: from now on a broken index is an error, not an unfinished file."""
        self._ledgers.replaying = False

    @property
    def room_bytes(self) -> int:
        """How much memory a replay that cannot flush may still take."""
        return self._unflushed.replayed_bytes_max - self._unflushed.size_bytes
