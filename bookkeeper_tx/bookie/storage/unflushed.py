"""What is in memory and journal only: the changes since the last snapshot, and what is left of a snapshot's flush."""

from collections.abc import Callable, Sequence
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.bookie.storage.write_cache import LedgerRuns, WriteCache
from bookkeeper_tx.entry.entry_run import EntryRun

REPLAYED_CACHES_MAX: Final = 5
"""Write caches that a replay without flushes may fill.

Behind a mark are two caches that were flushed and two that were not, at most; and records may take a little more memory
in the runs of a journal than in those of clients.
"""

REPLAYED_FRAMES_MAX: Final = 2
"""Frames of the largest size that it may take besides: one has filled each of those pairs of caches."""


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
    """The part of the storage that was in memory only, at one moment; it shrinks as its ledgers are flushed."""

    entries: WriteCache
    headers: dict[int, HeaderChange]
    """The changed headers by ledger id, including those of ledgers without new entries."""
    mark: LogMark | None
    """The journal's mark before that moment; None while the journal is replayed."""


class Unflushed:
    """The entries and headers that are not in their files yet, as much as two write caches hold."""

    def __init__(self, write_cache_bytes_max: int, frame_size_max: int) -> None:
        """``frame_size_max``: the bytes that one request may add to caches that were not full before it."""
        self.size_bytes_max = 2 * write_cache_bytes_max
        self.replayed_bytes_max = REPLAYED_CACHES_MAX * write_cache_bytes_max + REPLAYED_FRAMES_MAX * frame_size_max
        """Memory that a replay without flushes may take."""
        self.active = WriteCache()
        """The entries since the last snapshot."""
        self.snapshot: Snapshot | None = None
        """The snapshot that is being flushed, or has to be flushed again."""
        self.flush_asked = False
        """Whether a flush of them was asked for."""
        self.begun = 0
        """How many flushes have begun, those that were tried again as one."""
        self.ended = 0
        """The number of the last one whose changes are durable."""
        self._changed: dict[int, Ledger] = {}
        """Ledgers whose header in the index file is out of date."""
        self._doubtful: set[int] = set()
        """Ledgers whose index file may be in the page cache only, and not on the disk."""

    @property
    def full(self) -> bool:
        """Whether there is no room until some of the snapshot, or the next one, is flushed."""
        return self.size_bytes >= self.size_bytes_max

    @property
    def size_bytes(self) -> int:
        """Memory of the entries."""
        snapshot = self.snapshot
        flushing = 0 if snapshot is None else snapshot.entries.size_bytes
        return self.active.size_bytes + flushing

    def __bool__(self) -> bool:
        return self.changed or self.snapshot is not None

    @property
    def changed(self) -> bool:
        """Whether there is anything that the last flush has not begun with."""
        return bool(self.active or self._changed)

    def __contains__(self, ledger_id: int) -> bool:
        snapshot = self.snapshot
        return (
            ledger_id in self._changed
            or ledger_id in self.active
            or (snapshot is not None and (ledger_id in snapshot.entries or ledger_id in snapshot.headers))
        )

    def add(self, run: EntryRun) -> None:
        """Take a run none of whose entries is here; of a single entry the record alone, which takes a third of it."""
        if run.count == 1:
            entry_id = run.first_entry_id
            self.active.add_record(run.ledger_id, entry_id, bytes(run.records(entry_id, 1)))
        else:
            self.active.add(run)

    def change(self, ledger: Ledger, *, doubtful: bool = False) -> None:
        """Note that the header of a ledger has changed, or that what the disk has of its index is ``doubtful``."""
        self._changed[ledger.ledger_id] = ledger
        if doubtful:
            self._doubtful.add(ledger.ledger_id)

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the run that holds this entry, if there is one."""
        run = self.active.find(ledger_id, entry_id)
        if run is None and self.snapshot is not None:
            run = self.snapshot.entries.find(ledger_id, entry_id)
        return run

    @property
    def finders(self) -> Sequence[Callable[[int], LedgerRuns | None]]:
        """What gives the entries here of a ledger, the latest first."""
        if self.snapshot is None:
            return (self.active.find_ledger,)
        return self.active.find_ledger, self.snapshot.entries.find_ledger

    def ranges(self, ledger_id: int) -> list[range]:
        """Return the ids of the entries of a ledger here."""
        flushing = [] if self.snapshot is None else self.snapshot.entries.ranges(ledger_id)
        return flushing + self.active.ranges(ledger_id)

    def forget(self, ledger_id: int) -> None:
        """Forget all of a ledger but what is being flushed."""
        self.active.forget((ledger_id,))
        self._changed.pop(ledger_id, None)
        self._doubtful.discard(ledger_id)

    def take_snapshot(self, mark: LogMark | None) -> Snapshot:
        """Begin a flush of all that is here; the one before must be over."""
        assert self.snapshot is None
        headers = {
            ledger_id: HeaderChange(ledger.header(), not ledger.indexed, ledger_id in self._doubtful)
            for ledger_id, ledger in self._changed.items()
        }
        self.snapshot = Snapshot(self.active, headers, mark)
        self.active, self._changed, self._doubtful = WriteCache(), {}, set()
        self.flush_asked = False
        self.begun += 1
        return self.snapshot

    def last_flushing_id(self, ledger_id: int) -> int:
        """Return the highest entry id that the snapshot has of a ledger, or ``NO_ENTRY``."""
        assert self.snapshot is not None
        return self.snapshot.entries.last_entry_id(ledger_id)

    def flushed(self, ledger_ids: Sequence[int]) -> None:
        """Forget what the snapshot has of these ledgers."""
        assert self.snapshot is not None
        self.snapshot.entries.forget(ledger_ids)
        for ledger_id in ledger_ids:
            self.snapshot.headers.pop(ledger_id, None)

    def all_flushed(self) -> None:
        """End the flush."""
        self.snapshot = None
        self.ended = self.begun
