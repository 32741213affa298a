"""The metadata of entry logs, counted once for each log and kept in bounded memory."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.absent_ledgers import AbsentLedgers
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.garbage.torn_logs import TornLogs
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, LogName, count
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.threads.worker import Threads

MEMORY_BYTES_MAX: Final = 32 * 1024 * 1024
"""For two million ledgers in all logs together.  What does not fit is read from the logs' maps again."""

log = Logger()


class CountedLogs:
    """Counts logs of ``storage`` on ``worker``."""

    def __init__(
        self,
        disk: Disk,
        storage: Collected,
        worker: Threads,
        absent: AbsentLedgers,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
    ) -> None:
        self._disk = disk
        self._storage = storage
        self._worker = worker
        self._absent = absent
        self._torn = TornLogs(disk, storage, worker, absent)
        self._memory_bytes_max = memory_bytes_max
        self._kept: OrderedDict[LogName, EntryLogMetadata] = OrderedDict()
        self._sizes: dict[LogName, int] = {}
        """Memory of each."""
        self._memory_bytes = 0
        self.unreadable: dict[LogName, str] = {}
        """The logs that stay because nobody knows what is in them, and why."""
        self.unindexed: set[LogName] = set()
        """The logs that stay because ledgers in them have no index here, and are not known to be gone."""

    async def get(self, name: LogName) -> EntryLogMetadata | None:
        """Return the metadata of a finished log, without ledgers that are gone; None if it cannot be read."""
        if name in self.unreadable:
            return None
        try:
            metadata, absent = await self._looked(name)
            if absent:
                await self._absent.look_up(absent)
                absent = await self._worker.run(self._forget_gone, metadata, absent)
        except (OSError, StorageFailed) as error:
            if isinstance(error, Damaged):
                self.unreadable[name] = str(error)
            log.error("entry log {name} stays: {error}", name=name.file_name, error=error)
            return None
        self._note_unindexed(name, absent)
        self._forget(name)
        self._kept[name] = metadata
        self._sizes[name] = metadata.memory_bytes
        self._memory_bytes += metadata.memory_bytes
        while self._memory_bytes > self._memory_bytes_max and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return metadata

    def retain(self, names: Iterable[LogName]) -> None:
        """Forget all logs but these."""
        wanted = frozenset(names)
        for name in [each for each in self._kept if each not in wanted]:
            self._forget(name)
        self.unreadable = {each: why for each, why in self.unreadable.items() if each in wanted}
        self.unindexed &= wanted

    def _forget(self, name: LogName) -> None:
        if self._kept.pop(name, None) is not None:
            self._memory_bytes -= self._sizes.pop(name)

    async def _looked(self, name: LogName) -> tuple[EntryLogMetadata, list[int]]:
        found: tuple[EntryLogMetadata, list[int]]
        try:
            found = await self._worker.run(self._look, self._kept.get(name), name)
        except Damaged as error:
            if error.torn_at is None or not await self._torn.cut(name, error.torn_at):
                raise
            found = await self._worker.run(self._look, None, name)
        return found

    def _look(self, known: EntryLogMetadata | None, name: LogName) -> tuple[EntryLogMetadata, list[int]]:
        """Return the metadata, and the ledgers in it of which only the metadata store knows whether they are gone."""
        metadata = known or count(self._disk, self._storage.directory_of(name), name)
        return metadata, self._forget_gone(metadata, metadata.ledger_ids())

    def _forget_gone(self, metadata: EntryLogMetadata, ledger_ids: Iterable[int]) -> list[int]:
        metadata.retain(self._absent.is_here)
        return list(filter(self._absent.is_absent, ledger_ids))

    def _note_unindexed(self, name: LogName, ledger_ids: Sequence[int]) -> None:
        if not ledger_ids:
            self.unindexed.discard(name)
        elif name not in self.unindexed:
            self.unindexed.add(name)
            log.warn(
                "entry log {name} stays: it has {count} ledgers without an index here that are not known to be "
                "deleted, such as {ledger_id}: while the bookie is stopped `rebuild-index` makes their indexes anew",
                name=name.file_name,
                count=len(ledger_ids),
                ledger_id=ledger_name(ledger_ids[0]),
            )
