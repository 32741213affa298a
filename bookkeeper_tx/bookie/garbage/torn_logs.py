"""Entry logs that a crash has torn: some sectors of the last flush are on the disk, and others are not.

Nothing points to what that flush has written, for the replay of the journal has brought it into other logs.  So the end
of such a log is cut off from the first bytes on that are no record: else nobody would know which ledgers it has, and it
would stay for good.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

LEDGERS_AT_ONCE: Final = 64
"""Ledgers whose indexes are read in one go."""

log = Logger()


class TornLogs:
    """Cuts off ends of logs of ``storage``; ``worker`` reads the indexes."""

    def __init__(self, storage: Collected, worker: Threads) -> None:
        self._storage = storage
        self._worker = worker

    async def cut(self, name: LogName, offset: int) -> bool:
        """Cut a finished log off at ``offset`` unless an index points behind that; return whether it was cut off.

        Raises OSError, StorageFailed.
        """
        here = self._storage.ledger_ids()
        while some := await self._worker.run(list, islice(here, LEDGERS_AT_ONCE)):
            if await self._worker.run(self._any_points, some, name, offset):
                return False
        await self._storage.cut_log(name, offset)
        log.warn(
            "entry log {name} was torn by a crash: it is cut off at offset {offset}, behind all that indexes point to",
            name=name.file_name,
            offset=offset,
        )
        return True

    def _any_points(self, ledger_ids: Sequence[int], name: LogName, offset: int) -> bool:
        return any(self._points(each, name, offset) for each in ledger_ids)

    def _points(self, ledger_id: int, name: LogName, offset: int) -> bool:
        try:
            return self._storage.points_behind(ledger_id, name, offset)
        except StorageFailed:
            if self._storage.has_ledger(ledger_id):
                raise
            return False  # it was deleted meanwhile
