"""What a class of ledger storage consists of: where the states of ledgers are kept, and the locations of entries.

All else (write cache, entry logs, read-ahead, handles of ledgers) is the same in each: :class:`LedgerStorage` stands on
these two.  Calls block and may come from any thread, those of :class:`WritesIndexes` from one at a time.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, Page
from bookkeeper_tx.bookie.storage.placed_locations import WrittenLocations


class Indexes(Protocol):
    """Reads the indexes of all ledgers of a directory."""

    def open(self) -> None:
        """Get ready; nothing else is called before.  Raises OSError, RefusedToStart."""

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that have an index.  Raises OSError."""

    def estimated_entry_count(self) -> int | None:
        """Return how many entries have a location, more or less; does not wait for the disk.

        None where only a look at each index would tell, and while a database is not open.
        """

    @property
    def needs_integrity_check(self) -> bool:
        """Whether entries may be missing here, so that every ledger has to be compared with its metadata."""

    def path(self, ledger_id: int) -> str:
        """Return where the index of a ledger is, for messages."""

    def read_header(self, ledger_id: int, *, replaying: bool = False) -> IndexHeader | None:
        """Return the state of a ledger, None if it has no index; raises StorageFailed.

        ``replaying``: what a crash has left unfinished counts as missing, since the journal still has its contents.
        """

    def read_page(self, ledger_id: int, number: int, count: int = ..., first: int = 0) -> Page:
        """Return ``count`` locations of a page from its slot ``first`` on, 0 for entries without one.

        Those at the end that are 0 may be left out.  Raises StorageFailed.
        """

    def read_page_at_once(self, ledger_id: int, number: int, count: int) -> "Page | None":
        """Return the result of :meth:`read_page` if it need not wait, else None."""

    def ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        """Return the ids of the entries that have a location in these pages, ascending; raises StorageFailed."""

    def next_page(self, ledger_id: int, number: int) -> int | None:
        """Return the first page from this one on that may have locations; raises StorageFailed."""

    def last_entry(self, ledger_id: int) -> tuple[int, int]:
        """Return the highest entry id that has a location, and that location; raises StorageFailed."""

    def close(self) -> None:
        """Close all files.  Later calls fail."""


class WritesIndexes(Protocol):
    """Writes them."""

    def write(self, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        """Make ``changes``, of one ledger each, durable.  After an OSError the same ones can be written again."""

    def set_needs_integrity_check(self, needed: bool) -> None:
        """Note, durably, whether entries may be missing here.  Raises OSError."""

    def write_again(self, pages: Sequence[tuple[int, int]]) -> None:
        """Make pages durable as they are read, each told by its ledger and number.  Raises OSError, StorageFailed.

        A write that failed may be read, and still not be on the disk.
        """

    def erase(self, ledger_id: int, stretches: Sequence[range]) -> None:
        """Have these entries of a ledger, ascending, no location any more, durably.  Raises OSError, StorageFailed."""

    def delete(self, ledger_ids: Sequence[int]) -> Sequence[int]:
        """Delete the indexes of ledgers, durably; return those that cannot be deleted now.

        After an OSError some may be there, and can be deleted again.
        """
