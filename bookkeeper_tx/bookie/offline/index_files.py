"""The index files of a bookie, in whichever index directory each lies."""

from collections.abc import Iterator
from typing import Final

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes

OPEN_FILES_MAX: Final = 64


class IndexFiles:
    """Finds the index of a ledger.  Calls block."""

    def __init__(self, disk: Disk, index_currents: list[str]) -> None:
        self._disk = disk
        self.directories = [LedgerIndexes(disk, current, OPEN_FILES_MAX) for current in index_currents]

    def find(self, ledger_id: int) -> LedgerIndexes | None:
        """Return the directory that has the index file of a ledger; None if none has."""
        return next((each for each in self.directories if self._disk.exists(each.path(ledger_id))), None)

    def ledger_ids(self) -> Iterator[int]:
        """Give the ledgers that have an index file, in no order.  Raises OSError."""
        for each in self.directories:
            yield from each.ledger_ids()

    def close(self) -> None:
        """Close the files."""
        for each in self.directories:
            each.close()
