"""One ledger of a bookie that may have lost entries: recovered if its end is open, then compared with its metadata."""

from typing import Any, Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.integrity.copying import Copying, LedgerGone
from bookkeeper_tx.bookie.integrity.shares import Share, is_in, shares
from bookkeeper_tx.bookie.storage.ledger import Ledger, while_held
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.deferred_handles import LedgerReader
from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.model import BookieId, LedgerMetadata, ledger_name
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.ledger_index import PAGE_COUNT

STRETCH: Final = 64 * PAGE_COUNT
"""Entries of which it is looked together which are missing."""

log = Logger()


class LedgerRepair:
    """Brings ledgers of ``storage`` to what their metadata say; ``pace``, if there is one, is told what is copied.

    ``reads`` are the threads that look into indexes.
    """

    def __init__(
        self,
        clock: Any,
        client: BookKeeper,
        storage: AnyStorage,
        reads: Threads,
        bookie_id: BookieId,
        pace: Pace | None,
    ) -> None:
        self._clock = clock
        self._client = client
        self._storage = storage
        self._reads = reads
        self._bookie_id = bookie_id
        self._pace = pace
        self.copied = 0
        """Entries that were copied so far."""

    async def is_marked(self, ledger_id: int) -> bool:
        """Tell whether a ledger is in limbo.  Raises StorageFailed."""
        held = await self._storage.loader.load(ledger_id)
        ledger = self._storage.ledger(ledger_id)
        del held
        return ledger is not None and ledger.limbo

    async def recover(self, ledger_id: int) -> None:
        """Close a ledger if its last entries may be lost here, and fences with them.  One without a state is not lost.

        Nor one that is other bookies' now.
        This bookie takes part: it says that it does not know, and takes what is written back.  Raises LedgerGone,
        BookKeeperError.
        """
        metadata = await self._metadata(ledger_id)
        ledger = await self._loaded(ledger_id)
        if ledger.limbo and ledger.fenced and not metadata.closed and is_in(metadata, self._bookie_id):
            reader = await self._client.open_ledger(ledger_id, metadata.password or b"", metadata.digest_type)
            reader.close()
            log.info("recovered ledger {ledger}, which is in limbo", ledger=ledger_name(ledger_id))

    async def copy(self, ledger_id: int) -> None:
        """Copy the entries that this bookie should have and has not.

        Raises LedgerGone, BookKeeperError if some of them cannot be had, and OSError.
        """
        metadata = await self._metadata(ledger_id)
        mine = shares(metadata, self._bookie_id)
        if metadata.closed and mine:
            while_held(await self._storage.loader.load(ledger_id), self._make, ledger_id, metadata)
        await self._loaded(ledger_id)
        copying: Copying | None = None
        try:
            for share in mine:
                for start in range(share.ids.start, share.ids.stop, STRETCH):
                    missing = await self._missing(ledger_id, share, range(start, min(start + STRETCH, share.ids.stop)))
                    if missing:
                        copying = copying or await self._copying(ledger_id, metadata)
                        await copying.copy(missing)
        finally:
            if copying is not None:
                self.copied += copying.count
                copying.reader.close()
        if copying is not None and copying.errors:
            raise copying.errors[0]

    def _make(self, ledger_id: int, metadata: LedgerMetadata) -> None:
        """Make a closed ledger that is not known here: its metadata have come to name this bookie since the marking."""
        if self._storage.ledger(ledger_id) is None:
            key = b"" if metadata.password is None else master_key(metadata.password)
            self._storage.limbo.enter(self._storage.open_for(ledger_id, key)[0], fenced=True)

    async def _copying(self, ledger_id: int, metadata: LedgerMetadata) -> Copying:
        # A ledger that is written by others is read up to what is confirmed, without disturbing its writer.
        open_ledger = self._client.open_ledger if metadata.closed else self._client.open_ledger_no_recovery
        reader: LedgerReader = await open_ledger(ledger_id, metadata.password or b"", metadata.digest_type)
        return Copying(self._clock, reader, self._storage, self._pace)

    async def _metadata(self, ledger_id: int) -> LedgerMetadata:
        try:
            return (await self._client.metadata.read_ledger(ledger_id)).metadata
        except NoSuchLedger:
            raise LedgerGone from None

    async def _loaded(self, ledger_id: int) -> Ledger:
        held = await self._storage.loader.load(ledger_id)
        ledger = self._storage.ledger(ledger_id)
        del held
        if ledger is None:
            raise LedgerGone
        return ledger

    async def _missing(self, ledger_id: int, share: Share, ids: range) -> list[range]:
        unflushed = self._storage.unflushed_ranges(ledger_id)  # first: what is flushed meanwhile is found twice
        first, last = ids.start // PAGE_COUNT, ids[-1] // PAGE_COUNT

        def look() -> list[range]:
            return share.missing(ids, [*unflushed, *self._storage.indexed_ranges(ledger_id, first, last - first + 1)])

        found: list[range] = await self._reads.run(look)
        return found
