"""Which ledgers of this bookie are garbage: those of which the metadata store knows nothing, and knows that for sure.

The order makes it safe: first what is here, then what the store lists, and each ledger that it does not list is asked
for once more.  A client makes a ledger's metadata before it sends an entry, so what is here is listed, or deleted.
"""

from collections.abc import Iterator, Sequence

from twisted.logger import Logger

from bookkeeper_tx.bookie.cluster import require_cluster
from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.threads.worker import Threads

LOOKED_UP_AT_ONCE = 64
"""Ledgers that the metadata store is asked for together."""

DELETED_AT_ONCE = 1024
"""Ledgers that are deleted together: enough for few syncs, and few enough for the flushes that wait meanwhile."""

log = Logger()


class GarbageLedgers:
    """Finds garbage among the ledgers of ``storage``, and deletes it.

    ``instance_id`` is that of the cluster to which the bookie belongs; ``worker`` compares long lists.
    """

    def __init__(
        self,
        store: MetadataStore,
        storage: Collected,
        worker: Threads,
        bookie_id: BookieId,
        instance_id: str | None,
        pace: Pace,
    ) -> None:
        self._store = store
        self._storage = storage
        self._worker = worker
        self._bookie_id = bookie_id
        self._instance_id = instance_id
        self._pace = pace

    async def collect(self) -> int:
        """Delete what is garbage; return how many ledgers were.

        Raises MetadataError when the store does not tell; then nothing more is deleted.  Raises OSError, StorageFailed.
        """
        here = self._storage.ledger_ids()
        listed = await self._store.list_ledgers(None)
        await require_cluster(self._store, self._bookie_id, self._instance_id)
        unlisted = await self._worker.run(_unlisted, here, listed)
        del listed
        count = 0
        gone: list[int] = []
        for first in range(0, len(unlisted), LOOKED_UP_AT_ONCE):
            some = unlisted[first : first + LOOKED_UP_AT_ONCE]
            gone += [each for each, is_gone in await at_once(self._is_gone, some) if is_gone]
            await self._pace.spend(len(some))
            if len(gone) >= DELETED_AT_ONCE or first + LOOKED_UP_AT_ONCE >= len(unlisted):
                count += len(await self._storage.delete_ledgers(gone))
                gone = []
        return count

    async def _is_gone(self, ledger_id: int) -> bool:
        try:
            await self._store.read_ledger(ledger_id)
        except NoSuchLedger:
            return True
        except MetadataCorrupt as error:
            name = ledger_name(ledger_id)
            log.warn("ledger {ledger_id} stays: its metadata cannot be read: {error}", ledger_id=name, error=error)
        return False


def _unlisted(here: Iterator[int], listed: Sequence[int]) -> list[int]:
    """Return the ledgers of ``here`` that are not in ``listed``; both ascend."""
    found: list[int] = []
    remaining = iter(listed)
    next_listed = next(remaining, None)
    for ledger_id in here:
        while next_listed is not None and next_listed < ledger_id:
            next_listed = next(remaining, None)
        if next_listed != ledger_id:
            found.append(ledger_id)
    return found
