"""One flush of the ledger storage: entries first, then indexes."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from bookkeeper_tx.bookie.storage.checked_pieces import Piece
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger_cache import PageKey
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.bookie.storage.write_cache import WriteCache


@frozen
class HeaderChange:
    """The header of one index file."""

    header: IndexHeader
    is_new: bool
    """Whether there is no file yet."""
    is_doubtful: bool = False
    """Whether the file was found after a crash, so that its name may not be on the disk."""


@frozen
class Snapshot:
    """The part of the storage that was in memory only, at one moment; it does not change any more."""

    entries: WriteCache
    headers: Mapping[int, HeaderChange]
    """The changed headers by ledger id, including those of ledgers without new entries."""


@frozen
class Flushed:
    """The changes of a flush."""

    pages: list[PageKey]
    """Index pages."""
    pieces: list[Piece]
    """Entries that are back to back in the entry logs."""


class StorageFlush:
    """Writes snapshots.  Calls block, and come from one thread at a time."""

    def __init__(self, logs: EntryLogWriter, indexes: IndexWriter) -> None:
        self._logs = logs
        self._indexes = indexes
        self._logged: tuple[Snapshot, dict[int, list[PlacedRun]]] | None = None
        """The snapshot whose entries are in the logs while its indexes could not be written yet."""

    def write(self, snapshot: Snapshot) -> Flushed:
        """Make ``snapshot`` durable.

        Entries are written and synced first, then the locations that point to them, so that no location ever points to
        a missing entry.  After an OSError the same snapshot can be written again.
        """
        if self._logged is None or self._logged[0] is not snapshot:
            self._logged = snapshot, dict(self._logs.write(snapshot.entries))
        placed = self._logged[1]
        changes = [
            _index_change(ledger_id, snapshot.headers.get(ledger_id), placed.get(ledger_id, ()))
            for ledger_id in sorted(placed.keys() | snapshot.headers.keys())
        ]
        flushed = Flushed([], [])
        for change, written in zip(changes, self._indexes.write(changes), strict=True):
            flushed.pages.extend((change.ledger_id, number) for number in written.pages)
            flushed.pieces.extend(written.pieces)
        self._logged = None
        return flushed


def _index_change(ledger_id: int, change: HeaderChange | None, placed: Sequence[PlacedRun]) -> IndexChange:
    if change is None:
        return IndexChange(ledger_id, None, placed)
    return IndexChange(ledger_id, change.header, placed, change.is_new, change.is_doubtful)
