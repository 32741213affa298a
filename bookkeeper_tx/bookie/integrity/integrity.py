"""The data integrity check of a bookie from start to stop (docs/guides/bookie.md)."""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.cluster_client import cluster_client
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.disk import Disk, remove_durably
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.integrity.back_off import BackOff
from bookkeeper_tx.bookie.integrity.durable import durable
from bookkeeper_tx.bookie.integrity.full_check import FullCheck
from bookkeeper_tx.bookie.integrity.lost_cookies import Stamps
from bookkeeper_tx.bookie.integrity.lost_journals import forget_marks
from bookkeeper_tx.bookie.integrity.pre_boot import PreBoot
from bookkeeper_tx.bookie.integrity.repair import LedgerRepair
from bookkeeper_tx.bookie.integrity.run_note import RunNote
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import MIB, BookieConfig
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, RefusedToStart
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.cookie import DIRECTORY as CURRENT

READ_BYTES_MAX: Final = 32 * MIB
"""Bytes of entries that are read ahead of what is copied, copies included."""

NOT_WRITABLE: Final = (
    "entries may be lost, and no ledger can be marked on a read-only file system: mount it for writing"
)

MARKED_NAME: Final = "ledgersMarked"
"""A file in a ledger directory while a check is needed: all ledgers are marked that were there when it began."""

log = Logger()


class Integrity:
    """Marks the ledgers of a bookie if entries may be lost, and copies what is missing while it serves."""

    def __init__(
        self,
        reactor: Any,
        config: BookieConfig,
        disk: Disk,
        store: MetadataStore,
        bookie_id: BookieId,
        storage: AnyStorage,
        reads: Threads,
        writes: Threads,
        make_client: Callable[[Any, BookieConfig, int], BookKeeper] = cluster_client,
    ) -> None:
        """``reads`` are threads that look into indexes, ``writes`` the one that flushes."""
        self._make_client = make_client
        self._reactor = reactor
        self._config = config
        self._disk = disk
        self._marked_paths = [os.path.join(each, CURRENT, MARKED_NAME) for each in config.ledger_directories]
        self._journaled = config.journal_data_written
        places = (*config.ledger_directories, *config.index_directories)
        self._note = RunNote(disk, [os.path.join(each, CURRENT) for each in places], self._journaled)
        self._read_only = False
        self._reason = ""
        """Why entries may be lost, until all ledgers are marked; empty if they are not."""
        self._store = store
        self._bookie_id = bookie_id
        self._storage = storage
        self._reads = reads
        self._writes = writes
        self._checking: Deferred[None] | None = None
        self._client: BookKeeper | None = None
        self._stopped = False

    def before_replay(self, directories: Directories, lost: Stamps | None) -> None:
        """Find out whether entries may be lost: with their cookies, those that are ``lost``, or by a kill.

        With lost cookies the storage will look for entry logs that are gone, too, and the marks of journal files
        that are gone are removed; that all ledgers are to be marked is noted before.  Blocks; raises RefusedToStart on
        a read-only file system, OSError.
        """
        note = self._note
        if lost is not None:
            self._reason = lost.reason
        elif note.tells_of_loss():
            self._reason = "the bookie was killed: journalWriteData was false, or an earlier loss was not seen to"
        self._read_only = directories.read_only
        if self._read_only:
            if self._reason:
                raise RefusedToStart(NOT_WRITABLE)
            return
        note.write()
        if lost is not None:
            # Before anything is erased: the next start may find all cookies, and would take what is erased for absent.
            note.write_loss()
            self._remove_marked()
            self._storage.lost_logs.possible = True
            journals = [directories.journal, *directories.more_journals]
            for path in forget_marks(self._disk, journals, directories.ledgers):
                log.warn("removed {path}: the journal file that it marks is gone", path=path)

    @property
    def loss_known(self) -> bool:
        """Whether :meth:`before_replay` has found that entries may be lost, so that all ledgers will be marked."""
        return bool(self._reason)

    async def before_serving(self) -> None:
        """Put all ledgers into limbo that the bookie should have, durably, if entries may be lost: before its cookies.

        If not, but an earlier start has marked ledgers, make sure that they are: a Java bookie flushes no states of
        ledgers without entries, and may have been killed.  Raises MetadataError, StorageFailed, OSError: then nothing
        may be served.
        """
        if self._reason:
            log.warn("entries may be lost, {why}: all ledgers of this bookie are put into limbo", why=self._reason)
            await self._writes.run(self._begin)
            await self._mark(only_unknown=False)
            self._reason = ""
            if self._journaled:
                await self._writes.run(self._note.remove)
        elif await self._reads.run(self._storage.limbo.needs_check) and not any(
            map(self._disk.exists, self._marked_paths)
        ):
            if self._read_only:
                raise RefusedToStart(NOT_WRITABLE)
            log.warn("ledgers that are not known here may be lost: they are put into limbo")
            await self._mark(only_unknown=True)

    def stopped_cleanly(self) -> None:
        """Note that all entries are on the disk, and the bookie does not run any more.  Blocks; raises OSError.

        A stop before all ledgers are marked leaves the note of the kill for the next start.
        """
        if not self._reason:
            self._note.remove()

    def _begin(self) -> None:
        """Note that entries may be missing, and that not all ledgers are marked.  Blocks; raises OSError."""
        self._remove_marked()
        self._storage.limbo.set_needs_check(True)

    async def _mark(self, only_unknown: bool) -> None:
        flushed = partial(durable, self._reactor, self._storage)
        count = await PreBoot(self._store, self._storage, self._bookie_id, flushed).run(only_unknown)
        await self._writes.run(self._disk.replace, self._marked_paths[0], b"")
        log.warn("{count} ledgers are in limbo until their entries are copied from other bookies", count=count)

    async def start(self) -> None:
        """Begin to check, if that is needed and possible; called when clients find the bookie.  Raises OSError."""
        if not self._read_only and await self._reads.run(self._storage.limbo.needs_check):
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
        client = self._client = self._make_client(self._reactor, self._config, READ_BYTES_MAX)
        back_off = BackOff(self._reactor)
        unwatch = self._store.watch_bookies(back_off.reset)
        try:
            await self._check_with(client, back_off)
        finally:
            unwatch()
        self._client = None
        await client.close()

    async def _check_with(self, client: BookKeeper, back_off: BackOff) -> None:
        rate = self._config.replication_rate_bytes
        pace = Pace(self._reactor, rate) if rate > 0 else None
        repair = LedgerRepair(self._reactor, client, self._storage, self._reads, self._bookie_id, pace)
        check = FullCheck(self._reactor, self._store, self._storage, self._bookie_id, repair)
        started = False
        while not self._stopped:
            before = check.progress
            try:
                if not started:
                    await client.start()
                    started = True
                if await check.run():
                    await self._writes.run(self._end)
                    log.info("all entries that this bookie should have are here")
                    return
            except ClientClosed:
                return
            except (BookKeeperError, OSError) as error:
                log.error("the entries of this bookie cannot be checked now: {error}", error=error)
            if check.progress != before:
                back_off.reset()
            await back_off.wait()

    def _end(self) -> None:
        """Note that nothing is missing.  Blocks; raises OSError."""
        self._remove_marked()
        self._storage.limbo.set_needs_check(False)

    def _remove_marked(self) -> None:
        for path in self._marked_paths:
            with contextlib.suppress(FileNotFoundError):
                remove_durably(self._disk, path)

    def _ended(self, failure: Failure) -> None:
        if not self._stopped:
            log.failure("the entries of this bookie are not checked any more", failure)
