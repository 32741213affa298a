"""The keys of DbLedgerStorage (docs/formats/db-ledger-storage.md), made and taken apart many at a time."""

import struct
import sys
from array import array
from collections.abc import Iterable
from typing import Final

from bookkeeper_tx.bookie.storage.ledger_index import Page, pack_locations, unpack_page
from bookkeeper_tx.errors import StorageFailed
from protocol_specs import codecs
from protocol_specs.disk import db_index as spec
from protocol_specs.fields import ENTRY_ID_MAX
from protocol_specs.ledger_id import SCOPED_MIN, join, split

_ledger_key = codecs.derive("key of a ledger", spec.LEDGER_KEY)
_scoped_ledger_key = codecs.derive("key of a ledger", spec.SCOPED_LEDGER_KEY)

LOCATION_KEY_SIZES: Final = (_ledger_key.size + spec.KEY_PART_SIZE, _scoped_ledger_key.size + spec.KEY_PART_SIZE)

_PART: Final = f"{spec.KEY_PART_SIZE}s"

STORAGE_STATE_KEY: Final = _ledger_key.pack_fixed(spec.STORAGE_STATE_ID)


def ledger_key(ledger_id: int) -> bytes:
    """Return the key of a ledger, with which those of its entries begin."""
    if ledger_id < SCOPED_MIN:
        return _ledger_key.pack_fixed(ledger_id)
    return _scoped_ledger_key.pack_fixed(*split(ledger_id))


def ledger_of(key: bytes) -> int | None:
    """Return the ledger of a key in ``ledgers`` or ``scopedLedgers``, None if it is the key of something else."""
    if len(key) == _scoped_ledger_key.size:
        return join(*_scoped_ledger_key.unpack_fixed(key))
    if len(key) != _ledger_key.size:
        return None
    ledger_id: int = _ledger_key.unpack_fixed(key)[0]
    return ledger_id if ledger_id >= 0 else None


def rebuilt_key(ledger_id: int) -> bytes:
    """Return the key of a ledger outside the databases of scopes as Java writes it when it rebuilds ``ledgers``.

    Java reads no more than the first half of it.
    """
    return ledger_key(ledger_id) + bytes(spec.KEY_PART_SIZE)


def unscoped_ledger_of(key: bytes) -> int | None:
    """Return the ledger of a key in ``ledgers``, also of one that Java has rebuilt; None if it is no ledger's."""
    whole = key[: _ledger_key.size] if key[_ledger_key.size :] == bytes(spec.KEY_PART_SIZE) else key
    return ledger_of(whole) if len(whole) == _ledger_key.size else None


def location_key(ledger_id: int, entry_id: int) -> bytes:
    """Return the key of an entry."""
    return ledger_key(ledger_id) + entry_id.to_bytes(spec.KEY_PART_SIZE, "big")


def end_of(ledger_id: int) -> bytes:
    """Return what comes after the keys of all entries that a ledger can have."""
    return location_key(ledger_id, ENTRY_ID_MAX + 1)


def location_keys(ledger_id: int, first_entry_id: int, count: int) -> Iterable[bytes]:
    """Return the keys of consecutive entries."""
    ids = pack_locations(array("Q", range(first_entry_id, first_entry_id + count)))
    return map(ledger_key(ledger_id).__add__, _parts(ids))


def entry_of(key: bytes) -> int:
    """Return the entry id in the key of an entry.  Raises StorageFailed."""
    if len(key) not in LOCATION_KEY_SIZES:
        raise StorageFailed(f"{key.hex()} among the locations is not the key of an entry: the database is damaged")
    return int.from_bytes(key[-spec.KEY_PART_SIZE :], "big")


def packed_locations(locations: "array[int]") -> Iterable[bytes]:
    """Return the values of consecutive entries; the array is of no use afterwards."""
    return _parts(pack_locations(locations))


def page_of_values(values: list[bytes]) -> Page:
    """Return the locations of consecutive entries that all have one.  Raises StorageFailed."""
    data = b"".join(values)
    if len(data) != len(values) * spec.KEY_PART_SIZE:
        raise StorageFailed("not all values among the locations have the size of one: the database is damaged")
    return unpack_page(data)


def page_of_items(items: list[tuple[bytes, bytes]], first_entry_id: int, count: int) -> Page:
    """Return the locations of ``count`` entries, 0 for those that have none among ``items``.  Raises StorageFailed."""
    found = page_of_values([value for _, value in items])
    page = array("Q", bytes(count * found.itemsize))
    for (key, _), location in zip(items, found, strict=True):
        slot = entry_of(key) - first_entry_id
        if not 0 <= slot < count:
            raise StorageFailed(f"{key.hex()} is not in its place among the locations: the database is damaged")
        page[slot] = location
    return page


def _parts(data: bytes) -> tuple[bytes, ...]:
    return struct.unpack(_PART * (len(data) // spec.KEY_PART_SIZE), data)


assert array("Q").itemsize == spec.KEY_PART_SIZE, sys.platform
