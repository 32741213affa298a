"""Walking an entry log from its start to its end: the records in it, as runs of one ledger each.

This is how a log is compacted, and how its ledgers are counted if it has no ledgers map.  A log is deleted for what is
found here, so whatever is no record is an error; :mod:`bookkeeper_tx.entry.entry_log_scan`, for those who look at logs,
shows the rest, and knows nothing of ledgers.  Logs are ours, or Java's: those of Java's direct I/O have filler bytes up
to the next block, and room made ahead is zeros up to the end.
"""

import re
from array import array
from collections.abc import Iterator
from typing import Final

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.storage.entry_location import location
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_format import HEADER
from bookkeeper_tx.entry.entry_format import V1, V2, EntryFormat
from bookkeeper_tx.entry.entry_log_scan import RECORD_SIZE_MAX, filler_size
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.entry.frame_runs import RUN_MIN, consecutive_frames
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import entry_log as spec
from protocol_specs.entry import v2

CHUNK_SIZE: Final = 1024 * 1024
"""Bytes read at once: few reads, and a chunk stays in the CPU's cache while it is walked."""

ONE_BY_ONE_MAX: Final = 64
"""So many records are walked one by one before it is looked again whether those that follow have one size."""

LEDGERS_BEHIND_MAX: Final = 10_000
"""More ledgers than a flush that was torn has: somebody else may want to look at them."""

ID_SIZE_MAX: Final = 16
"""Bytes of a ledger id, with its scope in a log of scoped entries."""

_NO_LEDGER: Final = spec.LEDGERS_MAP_LEDGER_ID % 2**64
"""The ledger of a ledgers map, as an id without a sign; in a log of scoped entries it has scope 0."""


class Damaged(StorageFailed):
    """A log has bytes that are no record; what follows them cannot be found.

    ``torn_at`` is where they begin, if a crash may have left them: the log was never finished.
    """

    def __init__(self, text: str, torn_at: int | None = None) -> None:
        super().__init__(text)
        self.torn_at = torn_at


def scan(file: File, log_id: int, scoped: bool) -> Iterator[list[PlacedRun]]:
    """Give the runs of all records of a log, in the order of the file, chunk by chunk.  Blocks.

    ``scoped``: its entries are of ledgers outside scope 0.  Raises Damaged, and OSError.
    """
    form = V2 if scoped else V1
    position, size = spec.HEADER_SIZE, file.size()
    if position >= size:
        return
    map_offset = HEADER.unpack_fixed(file.read(HEADER.size, 0))[2]
    try:
        yield from _chunks(form, file, log_id, position, size, map_offset)
    except Damaged as error:
        if map_offset:  # it was written to its end
            error.torn_at = None
        raise


def _chunks(
    form: EntryFormat, file: File, log_id: int, position: int, size: int, map_offset: int
) -> Iterator[list[PlacedRun]]:
    wanted = CHUNK_SIZE
    while position < size:
        data = file.read(wanted, position)
        runs, end = _walk(form, data, file.path, position)
        if runs:
            base = location(log_id, position)
            yield [PlacedRun(run, base) for run in runs]
        position += end
        wanted = CHUNK_SIZE
        if end == 0:
            wanted = _record_size(file, position, size)
            if wanted == 0:
                if position < map_offset:
                    raise Damaged(f"entry log {file.path} ends at offset {position}, before its map at {map_offset}")
                _check_cut_off(form, file, position)
                return


def record_end(file: File, offset: int) -> int:
    """Return where the record ends that begins at an offset, as far as its length is right.  Raises OSError."""
    return offset + RECORD_LENGTH_SIZE + int.from_bytes(file.read(RECORD_LENGTH_SIZE, offset), "big", signed=True)


def ledgers_behind(file: File, offset: int, scoped: bool) -> list[int] | None:
    """Return the ledgers of what looks like whole records behind an offset; None if they are too many.

    Raises OSError.
    """
    form, head, size = V2 if scoped else V1, _HEADS[scoped], file.size()
    found: set[int] = set()
    base, data = offset, b""
    while True:
        if offset + form.head_size > base + len(data):
            base, data = offset, file.read(CHUNK_SIZE, offset)
        each = head.search(data, offset - base)
        if each is None:
            offset = base + len(data) - form.head_size + 1
        else:
            offset = base + each.start()
        if offset + form.head_size > size or len(data) < form.head_size:
            return sorted(found)
        if each is None or offset + form.head_size > base + len(data):
            continue
        length, owner, _ = form.head.unpack_fixed(data, offset - base)
        ledger_id, end = form.ledger_of(owner), offset + RECORD_LENGTH_SIZE + length
        offset += 1
        if ledger_id is not None and length >= form.ids_size and end <= size:
            after = file.read(form.head_size, end)
            if head.match(after) or not any(after):
                found.add(ledger_id)
                if len(found) > LEDGERS_BEHIND_MAX:
                    return None
                offset = end


def _record_size(file: File, position: int, size: int) -> int:
    """Return how many bytes to read for what did not end within a chunk; 0 if the log ends there."""
    head = file.read(RECORD_LENGTH_SIZE, position)
    whole = int.from_bytes(head, "big", signed=True) + RECORD_LENGTH_SIZE
    if len(head) < RECORD_LENGTH_SIZE or RECORD_LENGTH_SIZE < whole <= RECORD_SIZE_MAX:
        # A kill leaves the beginning of the last record: nothing points to it, and there is nothing after it.
        return whole if whole <= size - position else 0
    if whole == RECORD_LENGTH_SIZE and _only_zeros(file, position):
        return 0
    raise _damaged(file.path, position, f"no record can have {whole} bytes")


def _damaged(path: str, offset: int, what: str) -> Damaged:
    return Damaged(f"entry log {path} is damaged at offset {offset}: {what}", offset)


def _check_cut_off(form: EntryFormat, file: File, position: int) -> None:
    """Raise Damaged if what seems the beginning of the last record has a whole record in it: its length is wrong."""
    data = file.read(RECORD_SIZE_MAX, position)
    head = _HEADS[form is V2]
    for found in head.finditer(data, RECORD_LENGTH_SIZE + form.metadata.size):
        start = found.start()
        content = start + form.head_size
        end = start + RECORD_LENGTH_SIZE + int.from_bytes(data[start : start + RECORD_LENGTH_SIZE], "big")
        if not content < end <= len(data) or not any(data[content:end]):
            continue
        if end == len(data) or head.match(data, end) or not data[end:].strip(b"\0"):
            raise _damaged(file.path, position, "it has records behind one that is longer than the log")


def _head_pattern(owner: bytes) -> "re.Pattern[bytes]":
    """Return what the head of a record looks like, more or less: of its ids in scope 0 the upper 16 bits are 0."""
    return re.compile(rb"(?=[\x00-\x03](?!\x00{3}).{3}" + owner + rb"\x00\x00)", re.DOTALL)


_HEADS: Final = (
    _head_pattern(rb"\x00\x00.{6}"),
    _head_pattern(
        b"[" + b"".join(b"\\x%02x" % each for each in range(256) if each & v2.VERSION_MASK == v2.VERSION) + b"].{16}"
    ),
)
"""Of format V1, and of V2."""


def _only_zeros(file: File, position: int) -> bool:
    while data := file.read(CHUNK_SIZE, position):
        if data.strip(b"\0"):
            return False
        position += len(data)
    return True


def _walk(form: EntryFormat, data: bytes, path: str, at: int) -> tuple[list[EntryRun], int]:
    """Return the runs of the records that are whole in ``data``, from offset ``at`` of the file, and where they end."""
    unpack, head_size, ids_size = form.head.unpack_fixed, form.head_size, form.ids_size
    same_size = RECORD_LENGTH_SIZE + form.entry_id_at
    runs: list[EntryRun] = []
    position, size_read = 0, len(data)
    while size_read - position >= head_size:
        length, owner, entry_id = unpack(data, position)
        if length < ids_size:
            skipped = filler_size(data, at, position)
            if not skipped:
                if length == 0 and not position:
                    break
                if length == 0:
                    return runs, position
                raise _damaged(path, at + position, f"a record of {length} bytes")
            position += skipped
            continue
        size = length + RECORD_LENGTH_SIZE
        if size > size_read - position:
            break
        ledger_id = _owner(form, owner, path, at + position)
        if ledger_id is None:
            position += size
            continue
        offsets = _offsets(form, data, position, size, owner, entry_id, same_size)
        runs.append(EntryRun(ledger_id, entry_id, data, offsets))
        position = offsets[-1]
    return runs, position


def _offsets(
    form: EntryFormat, data: bytes, position: int, size: int, owner: bytes, entry_id: int, same_size: int
) -> "range | array[int]":
    """Return the offsets of the records from ``position`` on that are consecutive entries of one ledger."""
    end = len(data)
    after = position + size
    if data.startswith(data[position : position + same_size], after):
        count = consecutive_frames(data, position, size, (end - position) // size, same_size, entry_id)
        if count >= RUN_MIN:
            return range(position, position + count * size + 1, size)
    unpack, head_size, ids_size = form.head.unpack_fixed, form.head_size, form.ids_size
    offsets = array("Q", (position, after))
    for next_id in range(entry_id + 1, entry_id + ONE_BY_ONE_MAX):
        if end - after < head_size:
            break
        length, next_owner, found_id = unpack(data, after)
        next_after = after + length + RECORD_LENGTH_SIZE
        if found_id != next_id or next_owner != owner or length < ids_size or next_after > end:
            break
        offsets.append(next_after)
        after = next_after
    return offsets


def _owner(form: EntryFormat, owner: bytes, path: str, offset: int) -> int | None:
    """Return the ledger of a record, None for a part of the ledgers map; raises Damaged."""
    ledger_id = form.ledger_of(owner)
    if ledger_id is None and int.from_bytes(owner[-ID_SIZE_MAX:], "big") != _NO_LEDGER:
        raise _damaged(path, offset, "a record of no ledger")
    return ledger_id
