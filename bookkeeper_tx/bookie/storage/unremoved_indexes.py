"""The indexes of deleted ledgers that could not be removed: the disk is broken, or too full for RocksDB to delete.

Their ledgers are gone all the same, and so are logs that only they had entries in.  What is left must not be found
again: if a ledger comes back it goes before the new index is written, and until then the journal tells of the deletion
behind every mark, so that the replay of a start removes it.
"""

from collections.abc import Iterable, Sequence

from twisted.logger import Logger

from bookkeeper_tx.bookie.storage.indexes import WritesIndexes

log = Logger()


class UnremovedIndexes:
    """Removes indexes with ``writer``, and knows those that stay.  Calls come from one thread at a time."""

    def __init__(self, writer: WritesIndexes) -> None:
        self._writer = writer
        self._ledger_ids: set[int] = set()

    def ledger_ids(self) -> list[int]:
        """Return the ledgers of those that stay, ascending."""
        return sorted(self._ledger_ids)

    def remove(self, ledger_ids: Sequence[int]) -> None:
        """Remove the indexes of deleted ledgers, durably, or know that they stay.  Blocks."""
        try:
            left = self._writer.delete(ledger_ids)
        except OSError as error:
            log.error("the indexes of {count} ledgers stay for now: {error}", count=len(ledger_ids), error=error)
            left = ledger_ids
        self._ledger_ids.difference_update(ledger_ids)
        self._ledger_ids.update(left)

    def make_way(self, ledger_ids: Iterable[int]) -> None:
        """Remove what is left of ledgers that are here again, before their new indexes are written.

        Blocks.  Raises OSError.  A file that stays is replaced by the new one.
        """
        again = [each for each in ledger_ids if each in self._ledger_ids]
        if again:
            self._writer.delete(again)
            self._ledger_ids.difference_update(again)
