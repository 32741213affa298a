"""One flush of the ledger storage: entries first, then their locations, a slice of the ledgers at a time.

A start that finds entries of a ledger of its own, and no index at all, takes all indexes for lost.  So while there may
be none, one without locations comes before the entries: a kill would leave the entries and no index otherwise.
"""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

from attrs import evolve, frozen

from bookkeeper_tx.bookie.storage.checked_pieces import Piece
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.indexes import WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_cache import PagePart
from bookkeeper_tx.bookie.storage.unflushed import HeaderChange, Snapshot
from bookkeeper_tx.bookie.storage.unremoved_indexes import UnremovedIndexes

SLICE_COUNT: Final = 1024
"""Ledgers whose indexes are written together: enough for few syncs, and few enough for a second on a busy disk."""


@frozen
class Flushed:
    """The changes of a slice of a flush; they are durable."""

    ledger_ids: Sequence[int]
    pages: Sequence[PagePart]
    """Locations that are new in the indexes, those of a ledger ascending."""
    pieces: Sequence[Piece]
    """Entries that are back to back in the entry logs."""


class StorageFlush:
    """Writes snapshots: :meth:`begin`, then :meth:`write_slice` as long as there are any ``left``.

    Calls block, and come from one thread at a time.
    """

    def __init__(
        self, logs: EntryLogWriter, indexes: WritesIndexes, unremoved: UnremovedIndexes, slice_count: int
    ) -> None:
        self._logs = logs
        self._indexes = indexes
        self._unremoved = unremoved
        self._slice_count = slice_count
        self._snapshot: Snapshot | None = None
        """The snapshot whose entries are in the logs."""
        self._has_index = False
        """Whether an index is known to be on the disk."""
        self._placed: dict[int, list[PlacedRun]] = {}
        self.left: deque[int] = deque()
        """The ledgers of the snapshot whose indexes are not written yet, ascending."""

    @property
    def unindexed_log_ids(self) -> frozenset[int]:
        """The logs with entries of a flush that has not ended, whose locations are not in the indexes yet."""
        runs = (each for placed in self._placed.values() for each in placed)
        return frozenset(split_location(each.base + each.run.offsets[0])[0] for each in runs)

    def begin(self, snapshot: Snapshot) -> None:
        """Make the entries of ``snapshot`` durable, before the locations that will point to them.

        After an OSError, of this or of a later call, it is to be called again with the same snapshot.
        """
        if self._snapshot is not snapshot:
            self._logs.check_room(snapshot.entries.size_bytes)
            self._unremoved.make_way(ledger_id for ledger_id, change in snapshot.headers.items() if change.is_new)
            if snapshot.entries and not self._has_index:
                self._write_first(snapshot.headers)
            self._placed = dict(self._logs.write(snapshot.entries))
            self.left = deque(sorted(self._placed.keys() | snapshot.headers.keys()))
            self._snapshot = snapshot

    def _write_first(self, headers: dict[int, HeaderChange]) -> None:
        """Make one index durable, without locations, of a ledger that may have none; there is another if none may.

        It is not new any more then: if it has vanished before its locations are written it may come back later, and
        must not come over another one.
        """
        for ledger_id, change in headers.items():
            if change.is_new or change.is_doubtful:
                self._indexes.write([_index_change(ledger_id, change, ())])
                headers[ledger_id] = evolve(change, is_new=False)
                break
        self._has_index = True

    def indexes_deleted(self) -> None:
        """Note that there may be no index any more."""
        self._has_index = False

    def write_slice(self) -> Flushed:
        """Make the next indexes durable.  After an OSError none of them counts as written."""
        assert self._snapshot is not None
        headers, placed = self._snapshot.headers, self._placed
        ledger_ids = list(islice(self.left, self._slice_count))
        changes = [_index_change(each, headers.get(each), placed.get(each, ())) for each in ledger_ids]
        pages: list[PagePart] = []
        pieces: list[Piece] = []
        for ledger_id, written in zip(ledger_ids, self._indexes.write(changes), strict=True):
            pages.extend(PagePart(ledger_id, *part) for part in written.parts)
            pieces.extend(written.pieces)
        for ledger_id in ledger_ids:
            placed.pop(ledger_id, None)
            self.left.popleft()
        return Flushed(ledger_ids, pages, pieces)


def _index_change(ledger_id: int, change: HeaderChange | None, placed: Sequence[PlacedRun]) -> IndexChange:
    if change is None:
        return IndexChange(ledger_id, None, placed)
    return IndexChange(ledger_id, change.header, placed, change.is_new, change.is_doubtful)
