"""The indexes of DbLedgerStorage (docs/formats/db-ledger-storage.md), which a Java bookie reads and writes as well."""

import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Final

from attrs import evolve

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.bookie.storage.db import keys, ledger_data
from bookkeeper_tx.bookie.storage.db.databases import Databases
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, Page, unpack_page
from bookkeeper_tx.bookie.storage.placed_locations import WrittenLocations, put_locations
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk import db_index as spec
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import SCOPED_MIN

PUT_COUNT: Final = 8192
"""Locations collected for one call: they take memory twice meanwhile."""


class DbIndexes:
    """The indexes of one directory, read and written.  Writes come from one thread at a time, reads from any.

    The databases of scoped ledgers are made with the first of these.
    """

    def __init__(self, disk: Disk, directory: str, config: BookieConfig) -> None:
        self._disk = disk
        self._directory = directory
        self._config = config
        self._plain: Databases
        self._scoped: Databases | None = None

    def open(self) -> None:
        """Open the databases.  Raises RefusedToStart, OSError."""
        self._plain = self._databases(spec.LEDGERS, spec.LOCATIONS)
        scoped = (spec.SCOPED_LEDGERS, spec.SCOPED_LOCATIONS)
        if any(self._disk.has_key_values(os.path.join(self._directory, name)) for name in scoped):
            self._open_scoped()

    @property
    def needs_integrity_check(self) -> bool:
        """Whether entries may be missing here.  Raises OSError."""
        return bool(self._flags & spec.NEEDS_INTEGRITY_CHECK)

    def set_needs_integrity_check(self, needed: bool) -> None:
        """Note, durably, whether entries may be missing here.  Raises OSError."""
        flags = self._flags & ~spec.NEEDS_INTEGRITY_CHECK | spec.NEEDS_INTEGRITY_CHECK * needed
        self._plain.ledgers.put([keys.STORAGE_STATE_KEY], [spec.STORAGE_STATE.build({"flags": flags})])
        self._plain.ledgers.sync()

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that have a state.  Raises OSError."""
        for databases in self._all:
            ledger_of = keys.ledger_of if databases is self._scoped else keys.unscoped_ledger_of
            last = None
            for each in map(ledger_of, databases.ledgers.keys()):
                if each is not None and each != last:
                    yield each
                last = each

    def estimated_entry_count(self) -> int | None:
        """Return RocksDB's estimate of the locations, None while a database is not open.

        It is exact until something is deleted, moved by a compaction, or replayed after a kill: see
        :meth:`KeyValues.estimated_count`.
        """
        try:
            return sum(databases.locations.estimated_count() for databases in self._all)
        except OSError:
            return None

    def has(self, ledger_id: int) -> bool:
        """Tell whether a ledger has a state, whatever it is.  Raises OSError."""
        return self._state(ledger_id) is not None or self._rebuilt_state(ledger_id) is not None

    def path(self, ledger_id: int) -> str:
        """Return the path of the database that has the state of a ledger."""
        return os.path.join(self._directory, spec.SCOPED_LEDGERS if ledger_id >= SCOPED_MIN else spec.LEDGERS)

    def read_header(self, ledger_id: int, *, replaying: bool = False) -> IndexHeader | None:
        """Return the state of a ledger, None if it has none; raises StorageFailed."""
        try:
            value = self._state(ledger_id)
            rebuilt = self._rebuilt_state(ledger_id) if value is None else None
        except OSError as error:
            raise StorageFailed(f"cannot read the state of ledger {ledger_name(ledger_id)}: {error}") from error
        if rebuilt is not None:
            header = ledger_data.unpacked(ledger_id, rebuilt)
            return evolve(header, keyless=not header.master_key)
        return None if value is None else ledger_data.unpacked(ledger_id, value)

    def read_page(self, ledger_id: int, number: int, count: int = PAGE_COUNT, first: int = 0) -> Page:
        """Return ``count`` locations of a page from its slot ``first`` on, 0 for entries without one.

        Raises StorageFailed.
        """
        entry_id = number * PAGE_COUNT + first
        begin, end = keys.location_key(ledger_id, entry_id), keys.location_key(ledger_id, entry_id + count)
        with _readable(ledger_id):
            values = self._locations(ledger_id).values(begin, end, count)
        if len(values) == count:
            return keys.page_of_values(values)
        return keys.page_of_items(self._items(ledger_id, entry_id, count), entry_id, count)

    def read_page_at_once(self, ledger_id: int, number: int, count: int) -> "Page | None":
        """Return None: RocksDB does not tell whether it would have to wait for the disk."""
        return None

    def ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        """Return the ids of the entries that have a location in these pages, ascending; raises StorageFailed."""
        found = self._items(ledger_id, first_page * PAGE_COUNT, page_count * PAGE_COUNT)
        ids = [keys.entry_of(key) for key, value in found if any(value)]
        starts = ids[:1] + [after for before, after in pairwise(ids) if after != before + 1]
        ends = [before + 1 for before, after in pairwise(ids) if after != before + 1] + [each + 1 for each in ids[-1:]]
        return list(map(range, starts, ends))

    def next_page(self, ledger_id: int, number: int) -> int | None:
        """Return the first page from this one on that may have locations; raises StorageFailed."""
        with _readable(ledger_id):
            first = keys.location_key(ledger_id, number * PAGE_COUNT)
            key = self._locations(ledger_id).next_key(first, keys.end_of(ledger_id))
        return None if key is None else keys.entry_of(key) // PAGE_COUNT

    def last_entry(self, ledger_id: int) -> tuple[int, int]:
        """Return the highest entry id that has a location, and that location; raises StorageFailed."""
        with _readable(ledger_id):
            found = self._locations(ledger_id).last_item(keys.location_key(ledger_id, 0), keys.end_of(ledger_id))
        return (NO_ENTRY, NO_LOCATION) if found is None else (keys.entry_of(found[0]), unpack_page(found[1])[0])

    def write(self, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        """Make ``changes``, of one ledger each, durable.  After an OSError the same ones can be written again.

        Locations come first: a crash may leave some of a ledger without a state, and then the journal has both.
        """
        writes = {False: _Write(self._plain)}
        if any(change.ledger_id >= SCOPED_MIN for change in changes):
            writes[True] = _Write(self._scoped or self._open_scoped())
        written = [writes[change.ledger_id >= SCOPED_MIN].add(change) for change in changes]
        for each in writes.values():
            each.end()
        return written

    def write_again(self, pages: Sequence[tuple[int, int]]) -> None:
        """Make pages durable as they are read, each told by its ledger and number.  Raises OSError, StorageFailed."""
        written = {id(each): each for each in (self._locations(ledger_id) for ledger_id, _ in pages)}
        for ledger_id, number in pages:
            found = self._items(ledger_id, number * PAGE_COUNT, PAGE_COUNT)
            self._locations(ledger_id).put([key for key, _ in found], [value for _, value in found])
        for each in written.values():
            each.sync()

    def erase(self, ledger_id: int, stretches: Sequence[range]) -> None:
        """Have these entries no location any more, durably.  Raises OSError, StorageFailed."""
        locations, key = self._locations(ledger_id), partial(keys.location_key, ledger_id)
        locations.delete_ranges([(key(each.start), key(each.stop)) for each in stretches])
        locations.sync()

    def delete(self, ledger_ids: Sequence[int]) -> Sequence[int]:
        """Delete ledgers, durably: their locations, then their states; return none.  Raises OSError."""
        for databases, scoped in ((self._plain, False), (self._scoped, True)):
            chosen = [each for each in ledger_ids if (each >= SCOPED_MIN) == scoped]
            if databases is not None and chosen:
                databases.locations.delete_ranges([(keys.location_key(each, 0), keys.end_of(each)) for each in chosen])
                databases.locations.sync()
                rebuilt = map(keys.ledger_key if scoped else keys.rebuilt_key, chosen)
                states = zip(map(keys.ledger_key, chosen), rebuilt, strict=True)
                databases.ledgers.delete_ranges([(state, last + b"\0") for state, last in states])
                databases.ledgers.sync()
        return ()

    def location_paths(self) -> list[str]:
        """Return the paths of the databases of locations that are open."""
        return [databases.locations_path for databases in self._all]

    def compact_locations(self, path: str) -> None:
        """Compact the database of locations at a path, if it is open; may run beside all else, even writes.

        It takes long, and ends when the databases are closed.  Raises OSError.
        """
        for databases in self._all:
            if databases.locations_path == path:
                databases.locations.compact()

    def close(self) -> None:
        """Close the databases, if they are open."""
        for databases in self._all:
            databases.close()

    @property
    def _all(self) -> list[Databases]:
        return [each for each in (getattr(self, "_plain", None), self._scoped) if each is not None]

    @property
    def _flags(self) -> int:
        state = self._plain.ledgers.get(keys.STORAGE_STATE_KEY)
        return 0 if state is None else int(spec.STORAGE_STATE.parse(state).flags)

    def _of(self, ledger_id: int) -> Databases | None:
        return self._scoped if ledger_id >= SCOPED_MIN else self._plain

    def _state(self, ledger_id: int) -> bytes | None:
        """Return the value that the state of a ledger is in.  Raises OSError."""
        databases = self._of(ledger_id)
        return None if databases is None else databases.ledgers.get(keys.ledger_key(ledger_id))

    def _rebuilt_state(self, ledger_id: int) -> bytes | None:
        """Return that which Java has rebuilt, and no change has replaced.  Raises OSError."""
        return None if ledger_id >= SCOPED_MIN else self._plain.ledgers.get(keys.rebuilt_key(ledger_id))

    def _databases(self, ledgers: str, locations: str) -> Databases:
        path = self._directory
        return Databases.open(self._disk, os.path.join(path, ledgers), os.path.join(path, locations), self._config)

    def _open_scoped(self) -> Databases:
        self._scoped = self._databases(spec.SCOPED_LEDGERS, spec.SCOPED_LOCATIONS)
        return self._scoped

    def _locations(self, ledger_id: int) -> KeyValues:
        databases = self._of(ledger_id)
        if databases is None:
            raise StorageFailed(f"there is no {self.path(ledger_id)}")
        return databases.locations

    def _items(self, ledger_id: int, first: int, count: int) -> list[tuple[bytes, bytes]]:
        begin, end = keys.location_key(ledger_id, first), keys.location_key(ledger_id, first + count)
        with _readable(ledger_id):
            return self._locations(ledger_id).items(begin, end, count)


class _Write:
    """Collects changes of ledgers, and makes them durable."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._states: dict[bytes, bytes] = {}
        self._replaced: list[bytes] = []
        """Keys of rebuilt states, in whose place are others now."""
        self._has_locations = False

    def add(self, change: IndexChange) -> WrittenLocations:
        header = change.header
        if header is not None:
            key = keys.ledger_key(change.ledger_id)
            if header.keyless:
                # As Java has left it, until the key has come: then Java must not find that state, which it would take.
                rebuilt = keys.rebuilt_key(change.ledger_id)
                key = key if header.master_key else rebuilt
                if header.master_key:
                    self._replaced.append(rebuilt)
            self._states[key] = ledger_data.packed(header)
        return put_locations(change.placed, partial(self._collect, change.ledger_id))

    def end(self) -> None:
        self._put()
        if self._has_locations:
            self._databases.locations.sync()
        if self._states:
            self._databases.ledgers.put(list(self._states), list(self._states.values()))
            if self._replaced:
                self._databases.ledgers.delete_ranges([(key, key + b"\0") for key in self._replaced])
            self._databases.ledgers.sync()

    def _collect(self, ledger_id: int, first_entry_id: int, locations: "array[int]") -> None:
        self._has_locations = True
        for at in range(0, len(locations), PUT_COUNT):
            part = locations[at : at + PUT_COUNT]
            self._keys += keys.location_keys(ledger_id, first_entry_id + at, len(part))
            self._values += keys.packed_locations(part)
            if len(self._keys) >= PUT_COUNT:
                self._put()

    def _put(self) -> None:
        self._databases.locations.put(self._keys, self._values)
        self._keys, self._values = [], []


@contextmanager
def _readable(ledger_id: int) -> Iterator[None]:
    """Raise StorageFailed where locations of a ledger cannot be read."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"cannot read the locations of ledger {ledger_name(ledger_id)}: {error}") from error
