"""Checking many records at once: which of the entries at consecutive locations are back to back in a piece of a log.

Each record must start at its location, and its head (length, ledger id, entry id) must be right.  A loop over the
records takes longer than reading them, so columns of bytes are compared instead: slices with a step for records of one
size, and the joined heads for others.  Locations are subtracted from one another as one large int, with a lane of 64
bits for each.  The bytes before the entry id are the same in all entries of a ledger, in either entry format, so they
are compared with those of the first entry.
"""

import sys
from array import array
from bisect import bisect_right
from collections.abc import Sequence

from bookkeeper_tx.entry.entry_format import EntryFormat, format_of
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from protocol_specs.codecs import RECORD_LENGTH
from protocol_specs.disk.ledger_index import LOCATION_SIZE, PAGE_COUNT

ONE_BY_ONE_MAX = 8
"""Up to so many records a loop is faster."""

_LANE_BITS = 8 * LOCATION_SIZE
_ONES = int.from_bytes(((1).to_bytes(LOCATION_SIZE, "big")) * PAGE_COUNT, "big")

_length = RECORD_LENGTH.unpack_fixed


def checked_offsets(ledger_id: int, entry_id: int, locations: "array[int]", data: bytes, size: int) -> Sequence[int]:
    """Return the offsets, as those of an EntryRun, of the records in ``data`` that are right.

    ``locations`` are those of ``entry_id``, whose record takes ``size`` bytes and was checked, and of at most a page of
    entries after it.  The first record that is wrong or not complete ends the run; it may be right elsewhere.
    """
    form = format_of(ledger_id)
    count = bisect_right(locations, locations[0] + len(data) - form.head_size, 1)
    if count > ONE_BY_ONE_MAX:
        offsets: Sequence[int] | None
        if locations[count - 1] - locations[0] == size * (count - 1):
            offsets = _of_one_size(form, entry_id, locations[:count], data, size)
        else:
            offsets = _of_any_size(form, entry_id, locations[:count], data)
        if offsets is not None:
            return offsets
    return _one_by_one(form, entry_id, locations, data, size)


def offsets_of(locations: "array[int]", size: int, end: int) -> Sequence[int]:
    """Return the offsets of records known to be right, the first one of ``size`` bytes, the last one up to ``end``."""
    count = len(locations)
    if end == size * count and locations == array("Q", range(locations[0], locations[0] + end, size)):
        return range(0, end + 1, size)
    offsets = _from_first(locations, int.from_bytes(_big_endian(locations), "big"))
    offsets.append(end)
    return offsets


def _of_one_size(
    form: EntryFormat, entry_id: int, locations: "array[int]", data: bytes, size: int
) -> Sequence[int] | None:
    """Return the offsets if all records have this size, else None."""
    count = len(locations)
    if locations != array("Q", range(locations[0], locations[0] + size * count, size)):
        return None
    end = size * count
    if end > len(data):
        count -= 1
        end -= size
        if end + RECORD_LENGTH_SIZE + _length(data, end)[0] <= len(data):
            # The last record is complete, but has another size.
            return None
    entry_id_at = RECORD_LENGTH_SIZE + form.entry_id_at
    for at in range(entry_id_at):
        if data[at:end:size] != data[at : at + 1] * count:
            return None
    ids = _big_endian(array("Q", range(entry_id, entry_id + count)))
    for at in range(LOCATION_SIZE):
        if data[entry_id_at + at : end : size] != ids[at::LOCATION_SIZE]:
            return None
    return range(0, end + 1, size)


def _of_any_size(form: EntryFormat, entry_id: int, locations: "array[int]", data: bytes) -> Sequence[int] | None:
    """Return the offsets if all records are right, else None."""
    count, head_size = len(locations), form.head_size
    lanes = int.from_bytes(_big_endian(locations), "big")
    ones = _ONES >> (PAGE_COUNT - count + 1) * _LANE_BITS
    following = lanes & ((1 << (count - 1) * _LANE_BITS) - 1)
    try:
        offsets = _from_first(locations, lanes)
        lengths = (following - (lanes >> _LANE_BITS) - RECORD_LENGTH_SIZE * ones).to_bytes(
            (count - 1) * LOCATION_SIZE, "big"
        )
    except OverflowError:  # the locations do not ascend
        return None
    heads = b"".join([data[offset : offset + head_size] for offset in offsets])
    if not _heads_are_right(form, entry_id, count, heads, lengths):
        return None
    end = offsets[-1] + RECORD_LENGTH_SIZE + _length(heads, (count - 1) * head_size)[0]
    if offsets[-1] + head_size <= end <= len(data):
        offsets.append(end)
    return offsets


def _from_first(locations: "array[int]", lanes: int) -> "array[int]":
    """Return how far each location is from the first; raises OverflowError if one is before it."""
    ones = _ONES >> (PAGE_COUNT - len(locations)) * _LANE_BITS
    offsets = array("Q", (lanes - locations[0] * ones).to_bytes(len(locations) * LOCATION_SIZE, "big"))
    if sys.byteorder == "little":
        offsets.byteswap()
    return offsets


def _heads_are_right(form: EntryFormat, entry_id: int, count: int, heads: bytes, lengths: bytes) -> bool:
    """Tell whether the heads of ``count`` records have the right ids, and, except the last one, the right lengths."""
    head_size = form.head_size
    if len(heads) != count * head_size:
        return False
    wanted = [lengths[at::LOCATION_SIZE] for at in range(LOCATION_SIZE - RECORD_LENGTH_SIZE, LOCATION_SIZE)]
    entry_id_at = RECORD_LENGTH_SIZE + form.entry_id_at
    wanted += [each.to_bytes() * count for each in heads[RECORD_LENGTH_SIZE:entry_id_at]]
    ids = _big_endian(array("Q", range(entry_id, entry_id + count)))
    wanted += [ids[at::LOCATION_SIZE] for at in range(LOCATION_SIZE)]
    last = (count - 1) * head_size
    ends = [last] * RECORD_LENGTH_SIZE + [len(heads)] * form.ids_size
    return all(heads[at:end:head_size] == column for at, (end, column) in enumerate(zip(ends, wanted, strict=True)))


def _one_by_one(form: EntryFormat, entry_id: int, locations: Sequence[int], data: bytes, size: int) -> "array[int]":
    """Return the offsets of the records up to the first wrong one."""
    first, head_size, unpack = locations[0], form.head_size, form.head.unpack_fixed
    offsets = array("Q", [0, size])
    end = size
    owner = unpack(data)[1]
    for location in locations[1:]:
        entry_id += 1
        if location - first != end or end + head_size > len(data):
            break
        length, found_owner, found_entry = unpack(data, end)
        end += RECORD_LENGTH_SIZE + length
        if found_entry != entry_id or found_owner != owner or length < form.ids_size or end > len(data):
            break
        offsets.append(end)
    return offsets


def _big_endian(words: "array[int]") -> bytes:
    if sys.byteorder == "little":
        words = words[:]
        words.byteswap()
    return words.tobytes()
