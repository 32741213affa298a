"""What the garbage collector asks of a storage engine that has its entries in entry logs."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName
from bookkeeper_tx.bookie.storage.entry_mover import Moved


class Collected(Protocol):
    """Entry logs, in whichever directory each is, and the index of their entries.

    Deferreds fail with OSError, or StorageFailed; then nothing is lost, and the call can be made again.  Between two
    calls a flush may come, whatever the collector has in hand.
    """

    def directory_of(self, name: LogName) -> str:
        """Return where an entry log is; may be called from any thread."""

    @property
    def ledger_count(self) -> int:
        """How many ledgers are here."""

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that are here at this moment, ascending; they are on the disk."""

    def has_ledger(self, ledger_id: int) -> bool:
        """Tell whether a ledger has an index, so that entries in finished logs may be its; from any thread."""

    def has_deleted(self, ledger_id: int) -> bool:
        """Tell whether a ledger was deleted since the start; may be called from any thread."""

    def delete_ledgers(self, ledger_ids: Sequence[int]) -> Deferred[list[int]]:
        """Delete ledgers, durably; fires with those that are gone.

        One that has changes which are not flushed stays.  Ordinary adds to one that was fenced stay refused.  An index
        that cannot be removed is tried again with each :meth:`finished_logs`; its ledger is gone all the same.
        """

    def finished_logs(self) -> Deferred[list[LogName]]:
        """Fire with the logs to which nothing is added any more, and whose entries are all in the index."""

    def move(self, found: Sequence[PlacedRun]) -> Deferred[Moved]:
        """Copy those of these entries, of finished logs, that the index has there to another log, and have it say so.

        Fires when that is durable.
        """

    def last_in_log(self, ledger_id: int, page: int, name: LogName) -> tuple[int, int | None]:
        """Return where the last record in a log begins to which a page of the index of a ledger points, or 0.

        The page is the next one from ``page`` on; what comes with it is the page to go on with, None at the end.
        Blocks; may be called from any thread.  Raises StorageFailed.
        """

    def cut_log(self, name: LogName, offset: int) -> Deferred[None]:
        """Cut off a finished log behind the last record in it that the index points to."""

    def delete_log(self, name: LogName) -> Deferred[None]:
        """Remove a finished log in which the index has no entry of a ledger that is here."""
