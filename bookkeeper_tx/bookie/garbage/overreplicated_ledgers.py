"""Ledgers of which this bookie has a copy that nobody asks for: it is in none of their ensembles (any more).

Such a copy is left when entries were re-replicated elsewhere while this bookie was away.  A worker that is about to
re-replicate to this bookie copies first and changes the metadata then, so the copy is deleted under the worker's lock.
"""

from collections.abc import Sequence
from itertools import islice

from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.garbage.garbage_ledgers import LOOKED_UP_AT_ONCE
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.threads.worker import Threads


class OverReplicatedLedgers:
    """Finds such ledgers in ``storage``, and deletes them; ``worker`` sorts what is here."""

    def __init__(
        self, store: MetadataStore, storage: Collected, worker: Threads, bookie_id: BookieId, pace: Pace
    ) -> None:
        self._store = store
        self._storage = storage
        self._worker = worker
        self._bookie_id = bookie_id
        self._pace = pace

    async def collect(self) -> int:
        """Delete the copies that nobody asks for; return how many there were.

        Raises MetadataError when the store does not tell, OSError, StorageFailed.
        """
        here = self._storage.ledger_ids()
        count = 0
        while some := await self._worker.run(list, islice(here, LOOKED_UP_AT_ONCE)):
            for ledger_id, is_elsewhere in await at_once(self._is_elsewhere, some):
                if is_elsewhere:
                    count += len(await self._delete(ledger_id))
            await self._pace.spend(len(some))
        return count

    async def _delete(self, ledger_id: int) -> Sequence[int]:
        if not await self._store.lock_replication(ledger_id, self._bookie_id):
            return ()
        try:
            deleted = await self._storage.delete_ledgers([ledger_id] if await self._is_elsewhere(ledger_id) else [])
        except Exception:  # no `finally`: it would run, and wait for the store, when the process ends in the middle
            await self._store.unlock_replication(ledger_id)
            raise
        await self._store.unlock_replication(ledger_id)
        return deleted

    async def _is_elsewhere(self, ledger_id: int) -> bool:
        try:
            stored = await self._store.read_ledger(ledger_id)
        except (NoSuchLedger, MetadataCorrupt):
            return False
        return is_elsewhere(stored.metadata, self._bookie_id)


def is_elsewhere(metadata: LedgerMetadata, bookie_id: BookieId) -> bool:
    """Tell whether nobody will ask this bookie for entries of a ledger."""
    return metadata.closed and not any(bookie_id in fragment.ensemble for fragment in metadata.fragments)
