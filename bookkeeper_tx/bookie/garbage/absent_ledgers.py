"""Ledgers that have entries in logs, but no index here: deleted ones, or such whose index somebody has lost.

Of the latter the entry logs are all that is left, and an index can be made anew from them.  So a ledger is gone only if
it was deleted here since the start, or the metadata store says so, as of garbage that has an index.  Unlike that it was
not listed before, so no server of the store may answer that is behind the others.
"""

from collections.abc import Awaitable, Callable, Sequence

from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.garbage.garbage_ledgers import LOOKED_UP_AT_ONCE
from bookkeeper_tx.bookie.garbage.overreplicated_ledgers import is_elsewhere
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.errors import MetadataCorrupt, MetadataError, NoSuchLedger
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId


class AbsentLedgers:
    """Tells which ledgers without an index in ``storage`` are gone.

    ``check_cluster`` raises MetadataError unless ``store`` is the one in which the bookie is registered.
    """

    def __init__(
        self,
        store: MetadataStore,
        storage: Collected,
        bookie_id: BookieId,
        pace: Pace,
        check_cluster: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._storage = storage
        self._bookie_id = bookie_id
        self._pace = pace
        self._check_cluster = check_cluster
        self._gone = LedgerIds()
        self._wanted = LedgerIds()
        """Those that were looked up in this collection, and are not gone."""
        self.error: MetadataError | None = None
        """Why nothing more is looked up in this collection."""

    def begin(self) -> None:
        """Begin a collection: what was not gone may be gone now."""
        self._wanted, self.error = LedgerIds(), None

    def is_absent(self, ledger_id: int) -> bool:
        """Tell whether a ledger has no index, and is not known to be gone; may be called from any thread."""
        storage = self._storage
        return not (storage.has_ledger(ledger_id) or storage.has_deleted(ledger_id) or ledger_id in self._gone)

    def is_here(self, ledger_id: int) -> bool:
        """Tell whether entries of a ledger have to stay; may be called from any thread."""
        return self._storage.has_ledger(ledger_id) or self.is_absent(ledger_id)

    async def look_up(self, ledger_ids: Sequence[int]) -> None:
        """Ask the store for those of these ledgers that it was not asked for in this collection.  Raises Stopped."""
        unknown = [each for each in ledger_ids if each not in self._wanted]
        for first in range(0, len(unknown), LOOKED_UP_AT_ONCE):
            if self.error is not None:
                return
            some = unknown[first : first + LOOKED_UP_AT_ONCE]
            try:
                answers = await at_once(self._is_gone, some)
                await self._check_cluster()
            except MetadataError as error:
                self.error = error
                return
            for ledger_id, is_gone in answers:
                (self._gone if is_gone else self._wanted).add(ledger_id)
            await self._pace.spend(len(some))

    async def _is_gone(self, ledger_id: int) -> bool:
        try:
            stored = await self._store.read_latest_ledger(ledger_id)
        except NoSuchLedger:
            return True
        except MetadataCorrupt:
            return False
        return is_elsewhere(stored.metadata, self._bookie_id)
