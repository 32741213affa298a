"""Reading entry logs: the stretch of consecutive entries that lies in one piece behind a location, checked."""

import os
from array import array
from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.entry_log import log_name, split_location
from bookkeeper_tx.bookie.open_files import OpenFiles
from bookkeeper_tx.entry_run import ENTRY_METADATA, ENTRY_RECORD, RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import StorageFailed
from protocol_specs import codecs
from protocol_specs.entry import v1
from protocol_specs.fields import ENTRY_SIZE_MIN, NO_ENTRY

OPEN_LOGS_MAX = 64

HEAD_SIZE = ENTRY_RECORD.size
"""Length, ledger id and entry id of a record: what is checked of each."""

_entry_record = ENTRY_RECORD.unpack_fixed


class EntryReader:
    """Reads the entry logs of one directory.  Calls block, and may come from any thread."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._directory = directory
        self._files = OpenFiles(disk, OPEN_LOGS_MAX)

    def read_run(self, ledger_id: int, first_entry_id: int, locations: Sequence[int], size: int) -> EntryRun:
        """Return the entries from ``first_entry_id`` on that lie back to back, about ``size`` bytes of them.

        ``locations`` are those of the first entry and the ones after it.  There is at least one entry in the run, of
        any size.  Raises StorageFailed if the first one cannot be read or is not the entry that it should be.
        """
        log_id, offset = split_location(locations[0])
        path = os.path.join(self._directory, log_name(log_id))
        try:
            with self._files.borrow(path) as file:
                data = file.read(size, offset) if offset >= 0 else b""
                length = _length_of(data, ledger_id, first_entry_id)
                if length is not None and length + RECORD_LENGTH_SIZE > len(data) and length <= file.size() - offset:
                    data = file.read(length + RECORD_LENGTH_SIZE, offset)
        except OSError as error:
            raise StorageFailed(f"cannot read entry log {path}: {error}") from error
        if length is None or length + RECORD_LENGTH_SIZE > len(data):
            raise StorageFailed(
                f"entry {first_entry_id} of ledger {ledger_id} is not at offset {offset} of entry log {path}"
            )
        return _run(ledger_id, first_entry_id, locations, data, length + RECORD_LENGTH_SIZE)

    def last_add_confirmed(self, ledger_id: int, entry_id: int, entry_location: int) -> int:
        """Return the last add confirmed that an entry carries, NO_ENTRY if it is too short for that.

        Raises StorageFailed.
        """
        entry = self.read_run(ledger_id, entry_id, [entry_location], RECORD_LENGTH_SIZE + ENTRY_METADATA.size)
        return last_add_confirmed_of(entry)

    def close(self) -> None:
        self._files.close()


def last_add_confirmed_of(run: EntryRun) -> int:
    """Return the last add confirmed in the last entry of ``run``, NO_ENTRY if the entry is too short to have one."""
    start = run.offsets[-2] + RECORD_LENGTH_SIZE
    if run.offsets[-1] - start < ENTRY_SIZE_MIN:
        return NO_ENTRY
    return int(_LAST_ADD_CONFIRMED.unpack_fixed(run.buffer, start)[2])


def _length_of(data: bytes, ledger_id: int, entry_id: int) -> int | None:
    """Return the length word of the record at the start of ``data``, None if that is not this entry."""
    if len(data) < HEAD_SIZE:
        return None
    length, found_ledger, found_entry = _entry_record(data, 0)
    if length < HEAD_SIZE - RECORD_LENGTH_SIZE or found_ledger != ledger_id or found_entry != entry_id:
        return None
    return int(length)


def _run(ledger_id: int, entry_id: int, locations: Sequence[int], data: bytes, first_size: int) -> EntryRun:
    """Return the run at the start of ``data``; its first record takes ``first_size`` bytes and was checked."""
    offsets = _equal_sized(ledger_id, entry_id, locations, data, first_size)
    if len(offsets) == 2:
        offsets = _variable_sized(ledger_id, entry_id, locations, data, first_size)
    end = offsets[-1]
    return EntryRun(ledger_id, entry_id, data if end == len(data) else data[:end], offsets)


def _equal_sized(ledger_id: int, entry_id: int, locations: Sequence[int], data: bytes, size: int) -> Sequence[int]:
    return range(0, 2 * size, size)


def _variable_sized(ledger_id: int, entry_id: int, locations: Sequence[int], data: bytes, size: int) -> Sequence[int]:
    first = locations[0]
    offsets = array("Q", [0])
    append = offsets.append
    end = size
    last_head = len(data) - HEAD_SIZE
    for entry_location in locations[1:]:
        append(end)
        entry_id += 1
        if entry_location - first != end or end > last_head:
            break
        length, found_ledger, found_entry = _entry_record(data, end)
        end += RECORD_LENGTH_SIZE + length
        if found_entry != entry_id or found_ledger != ledger_id or length < 16 or end > len(data):
            break
    else:
        append(end)
    return offsets


_LAST_ADD_CONFIRMED = codecs.derive("entry metadata", v1.ENTRY_METADATA)
