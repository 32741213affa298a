"""The local consistency check: whether each entry of each index is in its entry log, as Java's check of this name."""

from collections.abc import Callable, Iterator

from attrs import define

from bookkeeper_tx.bookie.offline.records import one_line
from bookkeeper_tx.bookie.offline.stored_entries import BadIndex, Fault, Stored, stored_entries
from bookkeeper_tx.bookie.offline.stored_ledgers import StoredLedgers
from bookkeeper_tx.errors import StorageFailed


@define
class Checked:
    """How much was looked at."""

    ledgers: int = 0
    entries: int = 0
    faults: int = 0


def check(
    stored: StoredLedgers, checked: Checked, progress: Callable[[], None] = lambda: None
) -> Iterator[Fault | BadIndex]:
    """Give what is wrong, ledger by ledger, and count in ``checked``; ``progress`` is called as it goes on.

    The content of entries is not looked at: only their places and ids, and that they are whole.
    """
    for ledger_id in stored.ledger_ids():
        checked.ledgers += 1
        indexes = stored.find(ledger_id)
        assert indexes is not None
        try:
            indexes.read_header(ledger_id)
        except StorageFailed as error:
            checked.faults += 1
            yield BadIndex(ledger_id, one_line(error))
        for found in stored_entries(indexes, stored.logs_of(ledger_id), ledger_id):
            if isinstance(found, Stored):
                checked.entries += found.run.count
            else:
                checked.faults += 1
                yield found
            progress()
