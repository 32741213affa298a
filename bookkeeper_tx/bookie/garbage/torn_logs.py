"""Entry logs that a crash has torn: some sectors of the last flush are on the disk, and others are not.

Nothing points to what that flush has written, for the replay of the journal has brought it into other logs.  So the end
of such a log is cut off from the first bytes on that are no record: else nobody would know which ledgers it has, and it
would stay for good.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.absent_ledgers import AbsentLedgers
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName
from bookkeeper_tx.bookie.storage.entry_log_scan import ledgers_behind, record_end
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.threads.worker import Threads

LEDGERS_AT_ONCE: Final = 64
"""Ledgers whose indexes are looked at in one go, a page of each."""

log = Logger()


class TornLogs:
    """Cuts off ends of logs of ``storage``; ``worker`` reads.  ``absent`` tells of ledgers without an index."""

    def __init__(self, disk: Disk, storage: Collected, worker: Threads, absent: AbsentLedgers) -> None:
        self._disk = disk
        self._storage = storage
        self._worker = worker
        self._absent = absent

    async def cut(self, name: LogName, offset: int) -> bool:
        """Cut off a finished log at ``offset``, unless somebody may want what is behind that; return whether it was.

        An index wants all of a record that it points to, and a ledger without an index all that is whole: an index may
        come back, or be made anew.  Raises OSError, and StorageFailed if that cannot be told now, or may change.
        """
        if await self._indexed_end(name) > offset:
            return False
        behind = await self._worker.run(self._ledgers_behind, name, offset)
        if behind is None:
            return False
        await self._absent.look_up([each for each in behind if self._absent.is_absent(each)])
        if self._absent.error is not None:
            raise StorageFailed(f"{self._path(name)} is damaged, or torn by a crash: {self._absent.error}")
        wanted = next(filter(self._absent.is_absent, behind), None)
        if wanted is not None:
            raise StorageFailed(
                f"{self._path(name)} is damaged, or torn by a crash, and has entries of ledger {ledger_name(wanted)}, "
                "which has no index here, and is not known to be deleted"
            )
        await self._storage.cut_log(name, offset)
        log.warn(
            "entry log {name} was torn by a crash: it is cut off at offset {offset}, behind all that indexes point to",
            name=name.file_name,
            offset=offset,
        )
        return True

    async def _indexed_end(self, name: LogName) -> int:
        """Return where the last record ends that an index points to, 0 if none does."""
        last = 0
        here = self._storage.ledger_ids()
        while some := await self._worker.run(list, islice(here, LEDGERS_AT_ONCE)):
            pages = dict.fromkeys(some, 0)
            while pages:
                last = max(last, await self._worker.run(self._look, pages, name))
        return await self._worker.run(self._end_of, name, last) if last else 0

    def _look(self, pages: dict[int, int], name: LogName) -> int:
        """Look at the next page of each ledger; return the offset of the last record that they point to."""
        last = 0
        for ledger_id, number in list(pages.items()):
            try:
                found, after = self._storage.last_in_log(ledger_id, number, name)
            except StorageFailed:
                if self._storage.has_ledger(ledger_id):
                    raise
                found, after = 0, None  # it was deleted meanwhile
            last = max(last, found)
            if after is None:
                del pages[ledger_id]
            else:
                pages[ledger_id] = after
        return last

    def _end_of(self, name: LogName, offset: int) -> int:
        with closing(self._disk.open(self._path(name))) as file:
            return record_end(file, offset)

    def _ledgers_behind(self, name: LogName, offset: int) -> Sequence[int] | None:
        with closing(self._disk.open(self._path(name))) as file:
            return ledgers_behind(file, offset, name.scoped)

    def _path(self, name: LogName) -> str:
        return os.path.join(self._storage.directory_of(name), name.file_name)
