"""Before a bookie that may have lost entries serves: all ledgers that it should have are put into limbo.

A fence may be lost with the entries, so ledgers are fenced as well: those that are closed, or being recovered, and
those whose writer may still count on this bookie.  A ledger that has gone on to other bookies is not: if it comes back
to this one, that is a new beginning, for which nobody was promised anything yet.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.integrity.shares import is_in
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger, StorageFailed, Unauthorized
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId, LedgerMetadata, LedgerState, ledger_name

LOOKED_UP_AT_ONCE: Final = 100
"""Ledgers that the store is asked for together."""

MARKED_MAX: Final = 10_000
"""Ledgers that are marked in memory only."""

log = Logger()


@frozen
class PreBoot:
    """Puts ledgers of ``storage`` into limbo; ``durable()`` waits until that is on the disk."""

    store: ClientMetadataStore
    storage: AnyStorage
    bookie_id: BookieId
    durable: Callable[[], Awaitable[None]]

    async def run(self, only_unknown: bool = False) -> int:
        """Mark all ledgers in which the bookie is, durably, or those of them that are not known here; return how many.

        Raises MetadataUnavailable when the store does not tell them all, StorageFailed.
        """
        ids = await self.store.list_ledgers(None)
        count = marked = 0
        for at in range(0, len(ids), LOOKED_UP_AT_ONCE):
            for ledger_id, metadata in await at_once(self._metadata, ids[at : at + LOOKED_UP_AT_ONCE]):
                if metadata is not None and not (only_unknown and await self._is_known(ledger_id)):
                    await self._mark(ledger_id, metadata)
                    count += 1
            if count - marked >= MARKED_MAX:
                await self.durable()
                marked = count
        await self.durable()
        return count

    async def _metadata(self, ledger_id: int) -> LedgerMetadata | MetadataCorrupt | None:
        """Return the metadata of a ledger that the bookie is in, or may be in."""
        try:
            metadata = (await self.store.read_ledger(ledger_id)).metadata
        except NoSuchLedger:
            return None
        except MetadataCorrupt as error:
            log.error(
                "ledger {ledger} is marked, whose it ever is: {error}", ledger=ledger_name(ledger_id), error=error
            )
            return error
        return metadata if is_in(metadata, self.bookie_id) else None

    async def _mark(self, ledger_id: int, metadata: LedgerMetadata | MetadataCorrupt) -> None:
        try:
            await self._put_into_limbo(ledger_id, metadata)
        except StorageFailed as error:
            raise StorageFailed(
                f"ledger {ledger_name(ledger_id)} may have lost entries, and cannot be marked: {error}. Bring its "
                "index back; or move that away if it is a file of its own, and all entries of the ledger are copied"
            ) from error

    async def _is_known(self, ledger_id: int) -> bool:
        held = await self.storage.loader.load(ledger_id)
        known = self.storage.ledger(ledger_id) is not None
        del held
        return known

    async def _put_into_limbo(self, ledger_id: int, metadata: LedgerMetadata | MetadataCorrupt) -> None:
        key, fenced = b"", True
        if isinstance(metadata, LedgerMetadata):
            key = b"" if metadata.password is None else master_key(metadata.password)
            fenced = metadata.state is not LedgerState.OPEN or self.bookie_id in metadata.last_fragment.ensemble
        while_held(await self.storage.loader.load(ledger_id), self._enter, ledger_id, key, fenced)

    def _enter(self, ledger_id: int, key: bytes, fenced: bool) -> None:
        try:
            ledger = self.storage.ledger(ledger_id) if not key else self.storage.open_for(ledger_id, key)[0]
        except Unauthorized:  # the key that is here was checked when it was stored
            ledger = self.storage.ledger(ledger_id)
        self.storage.limbo.enter(ledger or self.storage.open_for(ledger_id, key)[0], fenced)
