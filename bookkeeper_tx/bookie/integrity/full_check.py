"""The check of all ledgers that a bookie should have, pass by pass until nothing is missing.

    LISTING --all ledgers of the store--> RECOVERING --those whose end is open--> COPYING --what is missing-->
    --flushed--> out of limbo --flushed--> nothing is missing

A kill at any place leaves the note that a check is needed, and ledgers in limbo whose entries may not be on the disk.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.garbage.at_once import at_once
from bookkeeper_tx.bookie.integrity.copying import LedgerGone
from bookkeeper_tx.bookie.integrity.durable import durable
from bookkeeper_tx.bookie.integrity.pre_boot import LOOKED_UP_AT_ONCE
from bookkeeper_tx.bookie.integrity.repair import LedgerRepair
from bookkeeper_tx.bookie.integrity.shares import is_in
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.limbo import Change
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    MetadataCorrupt,
    MetadataUnavailable,
    NoSuchLedger,
    StorageFailed,
)
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId, ledger_name

RECOVERED_AT_ONCE: Final = 10
"""Ledgers that are recovered together."""

NAMED_MAX: Final = 10
"""Ledgers of which a pass logs why they are not whole."""

log = Logger()


class FullCheck:
    """Checks the ledgers of ``storage`` with ``repair``."""

    def __init__(
        self,
        clock: Any,
        store: ClientMetadataStore,
        storage: AnyStorage,
        bookie_id: BookieId,
        repair: LedgerRepair,
    ) -> None:
        self._clock = clock
        self._store = store
        self._storage = storage
        self._bookie_id = bookie_id
        self._repair = repair
        self._left: LedgerIds | None = None
        """The ledgers that were not in order in the last pass; None before the first."""
        self._whole: deque[tuple[Change, int]] = deque()
        """Ledgers that are, and the change of the storage after which that is durable."""
        self._first_error: Exception | None = None

    @property
    def progress(self) -> tuple[int, int | None]:
        """What a pass changes if it brings something: the entries that were copied so far, and the ledgers left."""
        return self._repair.copied, None if self._left is None else len(self._left)

    async def run(self) -> bool:
        """Make one pass; return whether nothing is missing any more, on the disk.  Raises MetadataError, OSError."""
        ledgers = await self._listed() if self._left is None else self._left
        log.info("checking the entries of {count} ledgers", count=len(ledgers))
        self._first_error = None
        failed, before = LedgerIds(), self._repair.copied
        await self._recover(ledgers, failed)
        for ledger_id in sorted(ledgers.ascending(), reverse=True):
            if ledger_id not in failed:
                await self._copy(ledger_id, failed)
            await self._leave_durable(failed)
        await durable(self._clock, self._storage)
        await self._leave_durable(failed)
        self._left = failed
        copied = self._repair.copied - before
        log.info("checked: {copied} entries were copied, {failed} ledgers are left", copied=copied, failed=len(failed))
        if self._first_error is not None:
            log.error(
                "entries of {count} ledgers may be missing here, the first: {error}",
                count=len(failed),
                error=self._first_error,
            )
            return False
        await durable(self._clock, self._storage)
        return True

    async def _listed(self) -> LedgerIds:
        listed, ids = LedgerIds(), await self._store.list_ledgers(None)
        for at in range(0, len(ids), LOOKED_UP_AT_ONCE):
            for ledger_id, is_here in await at_once(self._is_here, ids[at : at + LOOKED_UP_AT_ONCE]):
                if is_here:
                    listed.add(ledger_id)
        return listed

    async def _is_here(self, ledger_id: int) -> bool:
        """Tell whether the bookie is in a ledger, or was when the ledgers were marked: that one has to leave limbo."""
        try:
            metadata = (await self._store.read_ledger(ledger_id)).metadata
            return is_in(metadata, self._bookie_id) or await self._repair.is_marked(ledger_id)
        except NoSuchLedger:
            return False
        except (MetadataCorrupt, StorageFailed):
            return True  # what cannot be told of one ledger keeps no other in limbo

    async def _recover(self, ledgers: LedgerIds, failed: LedgerIds) -> None:
        async def recover(ledger_id: int) -> None:
            await self._noting(ledger_id, failed, self._repair.recover)

        ids = list(ledgers.ascending())
        for at in range(0, len(ids), RECOVERED_AT_ONCE):
            await at_once(recover, ids[at : at + RECOVERED_AT_ONCE])

    async def _copy(self, ledger_id: int, failed: LedgerIds) -> None:
        await self._noting(ledger_id, failed, self._repair.copy)
        if ledger_id not in failed:
            self._whole.append((self._storage.limbo.last_change, ledger_id))

    async def _noting(self, ledger_id: int, failed: LedgerIds, do: Callable[[int], Awaitable[Any]]) -> None:
        """Wait for what ``do`` does, and note if it fails; a ledger that was deleted is in order."""
        try:
            await do(ledger_id)
        except LedgerGone:
            return
        except (ClientClosed, MetadataUnavailable):
            raise
        except (BookKeeperError, OSError) as error:
            if len(failed) < NAMED_MAX:
                name = ledger_name(ledger_id)
                log.debug("ledger {ledger} is not whole here yet: {error}", ledger=name, error=error)
            self._first_error = self._first_error or error
            failed.add(ledger_id)

    async def _leave_durable(self, failed: LedgerIds) -> None:
        """Take the ledgers out of limbo that are whole on the disk."""
        while self._whole and self._storage.limbo.is_durable(self._whole[0][0]):
            await self._noting(self._whole.popleft()[1], failed, self._leave)

    async def _leave(self, ledger_id: int) -> None:
        while_held(await self._storage.loader.load(ledger_id), self._leave_loaded, ledger_id)

    def _leave_loaded(self, ledger_id: int) -> None:
        ledger = self._storage.ledger(ledger_id)
        if ledger is not None:
            self._storage.limbo.leave(ledger)
