"""What a writer of a log is told of the appends to its ledger: ids become positions, errors the log's."""

from collections.abc import Iterator
from itertools import count, repeat

from bookkeeper_tx.errors import BookKeeperError, LedgerClosed, LedgerFenced, LogFenced, NoSuchLedger, NoSuchLog
from bookkeeper_tx.replicated_log.dlsn import DLSN

TAKEN = "another writer has taken it; what was not acknowledged may be in the log or not"


class Acknowledgements:
    """What the appends to one ledger of a log fire with."""

    def __init__(self, sequence_no: int) -> None:
        self._sequence_no = sequence_no

    def one(self, entry_id: int) -> DLSN:
        """Return the position of an entry."""
        return DLSN(self._sequence_no, entry_id)

    def following(self, entry_id: int) -> Iterator[DLSN]:
        """Return the positions from that of an entry on.  Each write takes one: all this is done by Python itself."""
        pairs = zip(repeat(self._sequence_no), count(entry_id), strict=False)
        return map(tuple.__new__, repeat(DLSN), pairs)

    def many(self, entry_ids: range) -> list[DLSN]:
        """Return the positions of these entries."""
        return [DLSN(self._sequence_no, entry_id) for entry_id in entry_ids]


def told(error: BookKeeperError, log: str) -> BookKeeperError:
    """Return what a writer of ``log`` is told of an error of its ledger."""
    if isinstance(error, (LedgerFenced, LedgerClosed)):
        kind: type[BookKeeperError] = LogFenced
        text = TAKEN
    elif isinstance(error, NoSuchLedger):
        kind, text = NoSuchLog, "it was deleted, or the ledger that is written was"
    else:
        return error
    about = kind(f"log {log}: {text} ({error})")
    about.__cause__ = error
    return about
