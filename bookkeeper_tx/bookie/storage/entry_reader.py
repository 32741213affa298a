"""Reading entry logs: the consecutive entries that are in one piece from a location on, checked."""

from array import array
from bisect import bisect_right
from typing import NoReturn

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces, Piece, checksum_of
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.bookie.storage.ledger_index import without_absent_end
from bookkeeper_tx.bookie.storage.open_files import OpenFiles
from bookkeeper_tx.bookie.storage.stretch import checked_offsets, offsets_of
from bookkeeper_tx.entry.entry_format import V1, V2
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun, last_add_confirmed_of
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.ledger_id import SCOPED_MIN

OPEN_LOGS_MAX = 64

LAST_RECORD_SIZE = 4096
"""Bytes read for a record of unknown end; a larger record is read again if it is the only one."""

_v1_record = V1.record.unpack_fixed


class EntryReader:
    """Reads the entry logs of ``directories``, of which some stay open.  Calls block, and may come from any thread."""

    def __init__(
        self, disk: Disk, directories: LedgerDirectories, pieces: CheckedPieces, open_logs_max: int = OPEN_LOGS_MAX
    ) -> None:
        self._path = directories.path
        self._files = OpenFiles(disk, open_logs_max)
        self._pieces = pieces

    def read_run(self, ledger_id: int, first_entry_id: int, locations: "array[int]", size: int) -> EntryRun:
        """Return the entries from ``first_entry_id`` on that are back to back, about ``size`` bytes of them.

        ``locations`` are those of the first entry and of the later ones in its page.  There is at least one entry in
        the run, of any size.  Raises StorageFailed if the first one cannot be read or is another entry.
        """
        log_id, offset = split_location(locations[0])
        path = self._path(log_name(log_id, ledger_id >= SCOPED_MIN))
        try:
            with self._files.borrow(path) as file:
                if offset < 0:
                    return self._fail(ledger_id, first_entry_id, path, offset)
                piece = self._pieces.get(locations[0])
                if piece is not None and piece.size <= size:
                    run = _piece_run(file.read(piece.size, offset), piece, ledger_id, first_entry_id, locations)
                    if run is not None:
                        return run
                return self._read_records(file, offset, ledger_id, first_entry_id, locations, size)
        except OSError as error:
            raise StorageFailed(f"cannot read entry log {path}: {error}") from error

    def read_run_at_once(
        self, ledger_id: int, first_entry_id: int, locations: "array[int]", size: int
    ) -> EntryRun | None:
        """Return the result of :meth:`read_run` if it need not wait and finds no error, else None."""
        log_id, offset = split_location(locations[0])
        with self._files.borrow_open(self._path(log_name(log_id, ledger_id >= SCOPED_MIN))) as file:
            if file is None or offset < 0:
                return None
            piece = self._pieces.get(locations[0])
            if piece is not None and piece.size <= size:
                data = file.read_cached(piece.size, offset)
                return None if data is None else _piece_run(data, piece, ledger_id, first_entry_id, locations)
            locations = without_absent_end(locations)
            data = file.read_cached(_bytes_to_read(locations, size), offset)
            return None if data is None else _checked_run(data, ledger_id, first_entry_id, locations)

    def _read_records(
        self, file: File, offset: int, ledger_id: int, first_entry_id: int, locations: "array[int]", size: int
    ) -> EntryRun:
        locations = without_absent_end(locations)
        data = file.read(_bytes_to_read(locations, size), offset)
        length = _length_of(data, ledger_id, first_entry_id)
        if length is not None and length + RECORD_LENGTH_SIZE > len(data) and length <= file.size() - offset:
            data = file.read(length + RECORD_LENGTH_SIZE, offset)
        run = _checked_run(data, ledger_id, first_entry_id, locations)
        return self._fail(ledger_id, first_entry_id, file.path, offset) if run is None else run

    @staticmethod
    def _fail(ledger_id: int, entry_id: int, path: str, offset: int) -> NoReturn:
        entry = f"entry {entry_id} of ledger {ledger_name(ledger_id)}"
        raise StorageFailed(f"{entry} is not at offset {offset} of entry log {path}")

    def last_add_confirmed(self, ledger_id: int, entry_id: int, entry_location: int) -> int:
        """Return the last add confirmed in an entry, NO_ENTRY if the entry is too short to have one.

        Raises StorageFailed.
        """
        entry = self.read_run(ledger_id, entry_id, array("Q", [entry_location]), 0)
        return last_add_confirmed_of(entry)

    def forget(self, file_name: str) -> None:
        """Close a log that is going to be removed, so that its space is free then."""
        self._files.forget(self._path(file_name))

    def close(self) -> None:
        self._files.close()


def _length_of(data: bytes, ledger_id: int, entry_id: int) -> int | None:
    """Return the length word of the record at the start of ``data``, None if it is not the record of this entry."""
    if ledger_id >= SCOPED_MIN:
        return _length_of_v2(data, ledger_id, entry_id)
    if len(data) < V1.head_size:
        return None
    length, found_ledger, found_entry = _v1_record(data, 0)
    if length < V1.ids_size or found_ledger != ledger_id or found_entry != entry_id:
        return None
    return int(length)


def _length_of_v2(data: bytes, ledger_id: int, entry_id: int) -> int | None:
    if len(data) < V2.head_size:
        return None
    length, owner, found_entry = V2.head.unpack_fixed(data, 0)
    if length < V2.ids_size or not V2.is_of(ledger_id, owner) or found_entry != entry_id:
        return None
    return int(length)


def _checked_run(data: bytes, ledger_id: int, first_entry_id: int, locations: "array[int]") -> EntryRun | None:
    """Return the records in ``data`` that are right, None if the first one is wrong or not complete."""
    length = _length_of(data, ledger_id, first_entry_id)
    if length is None or length + RECORD_LENGTH_SIZE > len(data):
        return None
    offsets = checked_offsets(ledger_id, first_entry_id, locations, data, length + RECORD_LENGTH_SIZE)
    if len(data) - offsets[-1] > offsets[-1] >> 2:
        data = data[: offsets[-1]]
    return EntryRun(ledger_id, first_entry_id, data, offsets)


def _piece_run(
    data: bytes, piece: Piece, ledger_id: int, first_entry_id: int, locations: "array[int]"
) -> EntryRun | None:
    """Return the run of ``piece``, None if ``data`` does not match its checksum."""
    locations = locations[: piece.entry_count]
    length = _length_of(data, ledger_id, first_entry_id)
    if length is None or len(data) != piece.size or checksum_of(data, locations) != piece.checksum:
        return None
    return EntryRun(ledger_id, first_entry_id, data, offsets_of(locations, length + RECORD_LENGTH_SIZE, len(data)))


def _bytes_to_read(locations: "array[int]", size: int) -> int:
    """Return how many bytes to read: complete records, as far as the location of the next one gives their end."""
    count = bisect_right(locations, locations[0] + size, 1)
    span = locations[count - 1] - locations[0]
    if count < len(locations):
        return span if 0 < span <= size else size
    return min(max(span, 0), size) + LAST_RECORD_SIZE
