"""Opening ledgers for a change: the key check, and the key record that has to be in the journal before the change.

At replay a record of a ledger whose key is neither in the journal before it nor in the index is skipped as one of a
deleted ledger (docs/formats/journal.md).  So a change is journaled together with the key record until a group that
holds the key record is known to be synced; a key record that is there twice does no harm.
"""

from collections.abc import Iterable

from bookkeeper_tx.bookie.disk import Buffer
from bookkeeper_tx.bookie.journal import records as journal_records
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage


class LedgerKeys:
    """Knows which ledgers have no durable key record yet."""

    def __init__(self, storage: AnyStorage) -> None:
        self._storage = storage
        self.unrecorded: set[int] = set()
        """Ledgers whose changes must bring the key record."""

    def open(self, ledger_id: int, master_key: bytes, ordinary: bool = False) -> tuple[Ledger, list[Buffer]]:
        """Return the ledger, made if need be, and the records that must be journaled before those of the change.

        ``ordinary``: it is an add of another than a recovering client.  Raises Unauthorized if the ledger has another
        key, LedgerFenced for an ordinary add to one that was fenced when it was deleted here, StorageFailed if its
        header cannot be read.
        """
        records: list[Buffer] = []
        return self.open_into(records, ledger_id, master_key, ordinary), records

    def open_into(self, records: list[Buffer], ledger_id: int, master_key: bytes, ordinary: bool) -> Ledger:
        """Return the ledger as :meth:`open` does, and append to ``records`` what must be journaled before the change.

        Raises as :meth:`open`; then nothing is appended.
        """
        ledger, created = self._storage.open_for(ledger_id, master_key, ordinary)
        if created:
            self.unrecorded.add(ledger_id)
        if self.unrecorded and ledger_id in self.unrecorded:
            records.append(journal_records.key_record(ledger_id, master_key))
        return ledger

    def recorded(self, ledger_id: int) -> None:
        """Note that a group with a record of this ledger was synced.

        The first such group since the ledger was made holds its key record, because every change until now brought one.
        """
        self.unrecorded.discard(ledger_id)

    def all_recorded(self, ledger_ids: Iterable[int]) -> None:
        """Note the same as :meth:`recorded` of several ledgers."""
        if self.unrecorded:
            self.unrecorded.difference_update(ledger_ids)
