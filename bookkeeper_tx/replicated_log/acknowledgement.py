"""What stands between the appends to a ledger and the writes to a log: ids become positions, errors the log's."""

from typing import Any

from bookkeeper_tx.errors import BookKeeperError, LedgerClosed, LedgerFenced, LogFenced, NoSuchLedger, NoSuchLog
from bookkeeper_tx.replicated_log.dlsn import DLSN

_new = tuple.__new__


class Acknowledgement:
    """What an append fires in the place of the promise of a write.  One for each write: it does as little as it can."""

    __slots__ = ("log", "promise", "sequence_no")

    def __init__(self, log: str, sequence_no: int, promise: Any) -> None:
        self.log = log
        self.sequence_no = sequence_no
        self.promise = promise

    def callback(self, entry_id: int) -> None:
        """Bring the id of the entry."""
        self.promise.callback(_new(DLSN, (self.sequence_no, entry_id)))

    def errback(self, error: BaseException) -> None:
        """Bring the error of the append."""
        self.promise.errback(told(error, self.log))

    def many(self, error: Exception | None, entry_ids: Any) -> None:
        """Bring the ids of many entries, or their error."""
        if error is not None:
            self.errback(error)
        else:
            self.promise.callback([_new(DLSN, (self.sequence_no, entry_id)) for entry_id in entry_ids])


def told(error: BaseException, log: str) -> BaseException:
    """Return what a writer of ``log`` is told of an error of its ledger."""
    if isinstance(error, (LedgerFenced, LedgerClosed)):
        kind: type[BookKeeperError] = LogFenced
        text = "another writer has taken it; what was not acknowledged may be in the log or not"
    elif isinstance(error, NoSuchLedger):
        kind, text = NoSuchLog, "it was deleted, or the ledger that is written was"
    else:
        return error
    about = kind(f"log {log}: {text} ({error})")
    about.__cause__ = error
    return about
