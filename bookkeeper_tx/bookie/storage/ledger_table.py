"""The ledgers of a bookie: handles of those used last in memory, the others in their index files."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

from twisted.logger import Logger

from bookkeeper_tx.bookie.storage import limits
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.entry import version
from protocol_specs.fields import NO_ENTRY

LEDGERS_MAX = 100_000
"""How many handles are kept of ledgers that do not need one (clean, no entries in the write caches): about 50 MB."""

log = Logger()


class LedgerTable:
    """Finds the one handle of a ledger.

    ``in_use(ledger_id)`` tells whether a handle must stay.  A handle that was dropped from here, but is still in
    use, is found again: two handles of one ledger could differ about its fence.
    """

    def __init__(
        self, indexes: Indexes, reader: EntryReader, in_use: Callable[[int], bool], count_max: int = LEDGERS_MAX
    ) -> None:
        self._indexes = indexes
        self._reader = reader
        self._in_use = in_use
        self._count_max = count_max
        self._with_index = LedgerIds()
        """The ledgers that have an index file; the disk has no other."""
        self._has_flushed = False
        """Whether this process has written any index."""
        self._recent: OrderedDict[int, Ledger] = OrderedDict()
        self.in_memory: Callable[[int], Ledger | None] = self._recent.get
        """Gives a ledger that was used lately; the cheapest question."""
        self.used: Callable[[int], None] = self._recent.move_to_end
        """Is told of a ledger in memory that was used without :meth:`find`."""
        self._alive: WeakValueDictionary[int, Ledger] = WeakValueDictionary()
        self._unreadable: WeakValueDictionary[int, StorageFailed] = WeakValueDictionary()
        """Why ledgers could not be read the last time, of those whose requests still hold the error."""
        self.replaying = True
        """Whether the journal is still being replayed: it may have bytes that a crash has kept from an index file."""

    def start(self) -> None:
        """Find the indexes; blocks.  Raises OSError, RefusedToStart."""
        self._indexes.open()
        for ledger_id in self._indexes.ledger_ids():
            self._with_index.add(ledger_id)

    def __len__(self) -> int:
        """How many ledgers have an index file; takes a while if they are many."""
        return len(self._with_index)

    def has_index(self, ledger_id: int) -> bool:
        """Tell whether a ledger has an index file; may be called from any thread."""
        return ledger_id in self._with_index

    def knows(self, ledger_id: int) -> bool:
        """Tell whether :meth:`find` answers from memory: the ledger is there, or there is certainly none."""
        return ledger_id in self._recent or ledger_id not in self._with_index or ledger_id in self._alive

    def is_unreadable(self, ledger_id: int) -> bool:
        """Tell whether :meth:`find` raises the error of a :meth:`read` that a request still holds."""
        return ledger_id in self._unreadable

    def find(self, ledger_id: int) -> Ledger | None:
        """Return the handle, None for an unknown ledger; raises StorageFailed if its index cannot be read.

        Blocks if it is not known (:meth:`knows`), except that the error of the last :meth:`keep_error` is raised while
        a request holds it.
        """
        ledger = self._recent.get(ledger_id)
        if ledger is not None:
            self._recent.move_to_end(ledger_id)
            return ledger
        if ledger_id not in self._with_index and ledger_id not in self._alive:
            return None
        ledger = self._alive.get(ledger_id)
        if ledger is None:
            error = self._unreadable.get(ledger_id)
            if error is not None:
                raise StorageFailed(*error.args)  # the traceback of the first would hold what holds it
            ledger = self.read(ledger_id)
            if ledger is None:
                return None
        self._keep(ledger)
        return ledger

    def read(self, ledger_id: int) -> Ledger | None:
        """Return a handle, from the index of a ledger that has one, for :meth:`keep`; None if that is unfinished.

        Blocks, and may come from any thread.  Raises StorageFailed.
        """
        header = self._indexes.read_header(ledger_id, replaying=self.replaying)
        if header is None:
            if self.replaying:
                return None
            raise StorageFailed(f"the index of ledger {ledger_name(ledger_id)} has vanished")
        return self._load(ledger_id, header)

    def keep(self, ledger: Ledger) -> Ledger:
        """Keep a handle that was read, unless there is one meanwhile; return the one that is kept.

        A ledger that a request holds is found here, however many others come.
        """
        self._unreadable.pop(ledger.ledger_id, None)
        if ledger.ledger_id not in self._with_index:  # it was deleted while it was read
            ledger.deleted = True
            return ledger
        kept = self._alive.get(ledger.ledger_id)
        if kept is None:
            self._keep(kept := ledger)
        return kept

    def keep_error(self, ledger_id: int, error: StorageFailed) -> None:
        """Have :meth:`find` raise the error of a :meth:`read`, until another one succeeds or no request holds it."""
        self._unreadable[ledger_id] = error

    def last_indexed_id(self, ledger_id: int) -> int:
        """Return the highest id with a location in the index file of a ledger in memory, ``NO_ENTRY`` without any."""
        return self._alive[ledger_id].last_indexed_id

    def indexed(self, ledger_id: int, last_entry_id: int) -> None:
        """Note that a ledger in memory has an index file, with locations of entries up to ``last_entry_id``."""
        ledger = self._alive[ledger_id]
        ledger.indexed = True
        ledger.last_indexed_id = max(ledger.last_indexed_id, last_entry_id)
        ledger.last_flushed_id = max(ledger.last_flushed_id, last_entry_id)
        self._with_index.add(ledger_id)
        self._has_flushed = True

    def create(self, ledger_id: int, master_key: bytes) -> Ledger:
        """Make the handle of a ledger that :meth:`find` does not know; raises BadRequest for a bad id or key."""
        limits.check_ledger(ledger_id, master_key)
        ledger = Ledger(ledger_id, master_key)
        self._keep(ledger)
        return ledger

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that have an index file now, ascending."""
        return self._with_index.ascending()

    def forget(self, ledger_id: int) -> None:
        """Know nothing of a ledger any more: its index file is going to be removed."""
        self._with_index.discard(ledger_id)
        self._recent.pop(ledger_id, None)
        ledger = self._alive.pop(ledger_id, None)
        if ledger is not None:
            ledger.deleted = True

    def _keep(self, ledger: Ledger) -> None:
        self._alive[ledger.ledger_id] = self._recent[ledger.ledger_id] = ledger
        for _ in range(2):
            if len(self._recent) <= self._count_max:
                return
            oldest, kept = self._recent.popitem(last=False)
            if self._in_use(oldest):
                self._recent[oldest] = kept

    def _load(self, ledger_id: int, header: IndexHeader) -> Ledger:
        ledger = Ledger(ledger_id, header.master_key)
        ledger.fenced, ledger.limbo = header.fenced, header.limbo
        ledger.explicit_lac = header.explicit_lac or None
        ledger.keyless = header.keyless
        ledger.indexed = True
        if header.explicit_lac:
            ledger.last_add_confirmed = version.explicit_lac_of(header.explicit_lac)[1]
        ledger.last_entry_id, location = self._indexes.last_entry(ledger_id)
        ledger.last_indexed_id = ledger.last_entry_id
        if self._has_flushed:
            ledger.last_flushed_id = ledger.last_entry_id
        if ledger.last_entry_id != NO_ENTRY:
            try:
                carried = self._carried(ledger_id, ledger.last_entry_id, location)
            except StorageFailed as error:
                # A last add confirmed is a lower bound, so NO_ENTRY is right as well; other entries may be readable.
                name = ledger_name(ledger_id)
                log.error("ledger {ledger_id} has no readable last entry: {error}", ledger_id=name, error=error)
            else:
                ledger.last_add_confirmed = max(ledger.last_add_confirmed, carried)
        return ledger

    def _carried(self, ledger_id: int, entry_id: int, location: int) -> int:
        """Return the last add confirmed in the last entry, also if that is moved meanwhile; raises StorageFailed."""
        while True:
            try:
                return self._reader.last_add_confirmed(ledger_id, entry_id, location)
            except StorageFailed:
                before, (found_id, location) = location, self._indexes.last_entry(ledger_id)
                if found_id != entry_id or location == before:
                    raise
