"""Compaction: what is left in a log is moved to another one, piece by piece, and the log is removed.

Each piece is copied, synced, and only then has the index point to it; so a crash at any point loses nothing, and
leaves each entry in the index once.  A log whose compaction has not ended is compacted again; what was moved is not
found there then.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from attrs import define
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.log_pieces import LogPieces
from bookkeeper_tx.bookie.garbage.pace import Pace
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, LogName
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged
from bookkeeper_tx.bookie.storage.entry_mover import IndexNotWritten
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

PIECE_BYTES_MAX: Final = 8 * 1024 * 1024
"""No flush comes while a piece is moved: so much is written and synced in about a tenth of a second."""

USAGE_STEP: Final = 0.1
"""Logs are compacted in classes of usage, the emptiest first: they give most room for least work."""

FAILURES_MAX: Final = 3
"""So often a log is compacted that cannot be: each time what was copied of it stays as garbage in another log."""

log = Logger()


@define
class Compacted:
    """What one compaction has done."""

    log_count: int = 0
    """Logs that are gone."""
    reclaimed_bytes: int = 0
    """Bytes of those, without those that were copied."""
    moved_count: int = 0
    """Entries that were copied."""
    failed_count: int = 0
    """Logs that could not be compacted."""


class Compaction:
    """Compacts logs of ``storage``; ``worker`` reads them, at the pace of ``config``.

    ``failures`` counts, for all compactions, how often a log has failed for a reason that does not pass.
    """

    def __init__(
        self,
        disk: Disk,
        storage: Collected,
        worker: Threads,
        config: BookieConfig,
        pace: Pace,
        failures: Counter[LogName],
        may_go_on: Callable[[], bool],
    ) -> None:
        self._disk = disk
        self._storage = storage
        self._worker = worker
        self._pace = pace
        self._failures = failures
        self._by_bytes = config.compaction_by_bytes
        per_second = int(pace.per_second) or 1
        self._entries_max = config.compaction_outstanding_max
        self._bytes_max = PIECE_BYTES_MAX
        if self._by_bytes:
            self._bytes_max = min(self._bytes_max, per_second)
        else:
            self._entries_max = min(self._entries_max, per_second)
        self._may_go_on = may_go_on

    async def compact(self, logs: Sequence[EntryLogMetadata], usage: Callable[[EntryLogMetadata], float]) -> Compacted:
        """Compact logs, the emptiest first, until ``may_go_on()`` says no.  Raises Stopped."""
        done = Compacted()
        hopeful = [each for each in logs if self._failures[each.name] < FAILURES_MAX]
        for metadata in sorted(hopeful, key=lambda each: (int(usage(each) / USAGE_STEP), each.name)):
            if not self._may_go_on():
                break
            try:
                await self._compact(metadata, done)
            except (OSError, StorageFailed) as error:
                # The log stays, and so does all that its index says.
                done.failed_count += 1
                log.error("entry log {name} is not compacted: {error}", name=metadata.name.file_name, error=error)
                self._note_failure(metadata.name, error)
        return done

    def _note_failure(self, name: LogName, error: Exception) -> None:
        if isinstance(error, Damaged | IndexNotWritten):
            self._failures[name] += 1
            if self._failures[name] == FAILURES_MAX:
                log.error("entry log {name} is not compacted any more until the next start", name=name.file_name)

    async def _compact(self, metadata: EntryLogMetadata, done: Compacted) -> None:
        name, moved_bytes = metadata.name, 0
        file = self._disk.open(os.path.join(self._storage.directory_of(name), name.file_name))
        pieces = LogPieces(file, metadata, self._storage.has_ledger, self._entries_max, self._bytes_max)
        try:
            while piece := await self._worker.run(pieces.next):
                moved = await self._storage.move(piece)
                done.moved_count += moved.entry_count
                moved_bytes += moved.size_bytes
                await self._pace.spend(moved.size_bytes if self._by_bytes else moved.entry_count)
        finally:
            pieces.close()
        await self._storage.delete_log(name)
        log.info("removed entry log {name}: it is compacted", name=name.file_name)
        done.log_count += 1
        done.reclaimed_bytes += max(metadata.file_size - moved_bytes, 0)
