"""The data integrity check of a bookie from start to stop (docs/guides/bookie.md)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.integrity.durable import durable
from bookkeeper_tx.bookie.integrity.full_check import FullCheck
from bookkeeper_tx.bookie.integrity.lost_journals import forget_marks
from bookkeeper_tx.bookie.integrity.pre_boot import PreBoot
from bookkeeper_tx.bookie.integrity.repair import LedgerRepair
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import MIB, BookieConfig, ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, RefusedToStart
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.threads.worker import Threads

INTERVAL_S: Final = 3.0
"""Seconds between two passes, as with Java's ``DataIntegrityService``."""

READ_BYTES_MAX: Final = 32 * MIB
"""Bytes of entries that are read ahead of what is copied, copies included."""

log = Logger()


def cluster_client(reactor: Any, config: BookieConfig) -> BookKeeper:
    """Make a client of the bookie's cluster."""
    settings = ClientConfig(
        protocol=WireProtocol.V3,  # V2 cannot name ledgers of other scopes
        metadata_timeout_s=config.metadata_timeout_s,
        frame_size_max=config.frame_size_max,
        read_bytes_max=READ_BYTES_MAX,
    )
    return BookKeeper(open_metadata_store(config.metadata_uri, reactor, config.metadata_timeout_s), settings, reactor)


class Integrity:
    """Marks the ledgers of a bookie if entries may be lost, and copies what is missing while it serves."""

    def __init__(
        self,
        reactor: Any,
        config: BookieConfig,
        store: MetadataStore,
        bookie_id: BookieId,
        storage: LedgerStorage,
        reads: Threads,
        writes: Threads,
        make_client: Callable[[Any, BookieConfig], BookKeeper] = cluster_client,
    ) -> None:
        """``reads`` are threads that look into indexes, ``writes`` the one that flushes."""
        self._make_client = make_client
        self._reactor = reactor
        self._config = config
        self._store = store
        self._bookie_id = bookie_id
        self._storage = storage
        self._reads = reads
        self._writes = writes
        self._checking: Deferred[None] | None = None
        self._client: BookKeeper | None = None
        self._stopped = False

    async def mark(self, reason: str) -> None:
        """Put all ledgers into limbo that the bookie should have, durably; before it serves, and before its cookies.

        Raises RefusedToStart, MetadataError, StorageFailed, OSError: then nothing may be served.
        """
        log.warn("entries may be lost, {reason}: all ledgers of this bookie are put into limbo", reason=reason)
        await self._writes.run(self._storage.limbo.set_needs_check, True)
        count = await PreBoot(
            self._store, self._storage, self._bookie_id, partial(durable, self._reactor, self._storage)
        ).run()
        log.warn("{count} ledgers are in limbo until their entries are copied from other bookies", count=count)

    async def start(self) -> None:
        """Begin to check, if that is needed; called when clients find the bookie.  Raises OSError."""
        if await self._reads.run(self._storage.limbo.needs_check):
            self._checking = Deferred.fromCoroutine(self._check())
            self._checking.addErrback(self._ended)

    def stop(self) -> Deferred[None]:
        """Check no more; fires when the connections for it are closed."""
        self._stopped = True
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
        if self._client is not None:
            await self._client.close()

    async def _check(self) -> None:
        client = self._client = self._make_client(self._reactor, self._config)
        await self._check_with(client)
        self._client = None
        await client.close()

    async def _check_with(self, client: BookKeeper) -> None:
        rate = self._config.replication_rate_bytes
        pace = Pace(self._reactor, rate) if rate > 0 else None
        repair = LedgerRepair(self._reactor, client, self._storage, self._reads, self._bookie_id, pace)
        check = FullCheck(self._reactor, self._store, self._storage, self._writes, self._bookie_id, repair)
        started = False
        while not self._stopped:
            try:
                if not started:
                    await client.start()
                    started = True
                if await check.run():
                    log.info("all entries that this bookie should have are here")
                    return
            except ClientClosed:
                return
            except (BookKeeperError, OSError) as error:
                log.error("the entries of this bookie cannot be checked now: {error}", error=error)
            await deferLater(self._reactor, INTERVAL_S)

    def _ended(self, failure: Failure) -> None:
        if not self._stopped:
            log.failure("the entries of this bookie are not checked any more", failure)


def forget_lost_journals(disk: Disk, journals: Sequence[str], ledger_directory: str, read_only: bool) -> None:
    """Get ready for a replay without journals that are gone.  Blocks.  Raises RefusedToStart, OSError."""
    if read_only:
        raise RefusedToStart("entries may be lost, and nothing can be marked on a read-only file system: mount it anew")
    for path in forget_marks(disk, journals, ledger_directory):
        log.warn("removed {path}: the journal that it marks is gone", path=path)
