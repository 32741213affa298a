"""Compactions of the databases of locations, which an operator asks for."""

from collections.abc import Sequence

from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.threads.worker import Threads

log = Logger()


class LocationCompaction:
    """Compacts databases of all ``indexes``, one at a time, on ``thread``, for which nothing else waits.

    Called on the reactor thread; nothing here waits.
    """

    def __init__(self, indexes: Sequence[DbIndexes], thread: Threads) -> None:
        self._indexes = indexes
        self._thread = thread
        self._asked: set[str] = set()
        """Paths of databases that are compacted, or wait for it."""

    def compacting(self) -> dict[str, bool]:
        """Return for the path of each database whether it is being compacted, or waits for that."""
        return {path: path in self._asked for each in self._indexes for path in each.location_paths()}

    def compact(self, paths: Sequence[str]) -> None:
        """Begin to compact the databases at these paths, but for those that are being compacted."""
        for path in paths:
            if path not in self._asked:
                self._asked.add(path)
                log.info("compacts {path}", path=path)
                self._thread.run(self._compact, path).addBoth(self._ended, path)

    def _compact(self, path: str) -> None:
        for each in self._indexes:
            each.compact_locations(path)

    def _ended(self, result: object, path: str) -> None:
        self._asked.discard(path)
        if isinstance(result, Failure):
            log.error("{path} was not compacted: {error}", path=path, error=result.value)
        else:
            log.info("the compaction of {path} has ended, done unless RocksDB's own LOG says otherwise", path=path)
