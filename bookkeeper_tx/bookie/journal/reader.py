"""Reading one journal file: records in runs, sealed groups of ours, unsealed records of Java's."""

from array import array
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

import crc32c
from attrs import frozen
from construct import ConstructError

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.journal.records import SEAL_PAD, start_checksum
from bookkeeper_tx.entry.entry_run import ENTRY_RECORD, RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs import codecs
from protocol_specs.disk import journal
from protocol_specs.entry import version

WINDOW_SIZE: Final = 16 * 1024 * 1024
"""Bytes read at once; a longer group is read in one piece."""

SEARCH_SIZE: Final = 1024 * 1024
"""Bytes searched at once for a byte that is not zero, or for a seal."""

PAD_HEADER = codecs.derive("journal pad", journal.PAD_HEADER)
SEAL_MAGICS: Final = (journal.SEAL_MAGIC, journal.LAZY_SEAL_MAGIC)
IDS_SIZE = ENTRY_RECORD.size - RECORD_LENGTH_SIZE


@frozen
class SpecialRecord:
    """A record that carries no entry."""

    ledger_id: int
    kind: int
    """Its negative entry id, see ``protocol_specs.disk.meta_entries``."""
    record: bytes
    """All of it, length word included."""


Item = EntryRun | SpecialRecord


class Ending(Enum):
    """The bytes after a batch."""

    PAD = "a pad record"
    ZERO = "a record length of zero"
    CUT = "a record that goes on after the buffer, or nothing at all"
    BAD = "a length that no record has"


@frozen
class Batch:
    """Complete records, in order, up to other bytes."""

    items: list[Item]
    end: int
    """Offset in the buffer of the other bytes."""
    ending: Ending


def read_batch(data: bytes, start: int) -> Batch:
    """Read records from ``start`` up to the first bytes that are not a complete record."""
    items: list[Item] = []
    unpack, size = ENTRY_RECORD.unpack_fixed, len(data)
    run_ledger, expected, offsets = -1, -1, array("Q")
    at = start
    while size - at >= ENTRY_RECORD.size:
        length, ledger_id, entry_id = unpack(data, at)
        after = at + RECORD_LENGTH_SIZE + length
        if length < IDS_SIZE or after > size:
            break
        if ledger_id < 0:
            ledger_id, entry_id = _scoped_ids(data[at:after]) or (ledger_id, entry_id)
        if entry_id == expected and ledger_id == run_ledger:
            offsets.append(after)
            expected += 1
        elif entry_id >= 0:
            offsets = array("Q", (at, after))
            items.append(EntryRun(ledger_id, entry_id, data, offsets))
            run_ledger, expected = ledger_id, entry_id + 1
        else:
            items.append(SpecialRecord(ledger_id, entry_id, data[at:after]))
            expected = -1
        at = after
    return Batch(items, at, _ending(data, at))


def _scoped_ids(record: bytes) -> tuple[int, int] | None:
    """Return ledger id and entry id of a record in format V2; None if it has another format, or is of scope 0."""
    try:
        return version.ids_of(record[RECORD_LENGTH_SIZE:])
    except codecs.Malformed:
        return None


def _ending(data: bytes, at: int) -> Ending:
    """Return what starts at ``at``, where no complete record does."""
    if len(data) - at < RECORD_LENGTH_SIZE:
        return Ending.CUT
    length = codecs.RECORD_LENGTH.unpack_fixed(data, at)[0]
    if length == journal.END_OF_LOG:
        return Ending.ZERO
    if length == journal.PAD_LENGTH:
        return Ending.PAD
    return Ending.BAD if length < IDS_SIZE else Ending.CUT


class _Window:
    """A part of a file in memory."""

    def __init__(self, file: File, base: int) -> None:
        self._file = file
        self.base = base
        self._asked = WINDOW_SIZE
        self.data = file.read(WINDOW_SIZE, base)

    def move(self, at: int) -> bool:
        """Move the start of the data to ``at``, or read more data if ``at`` is 0; return False at the file's end."""
        if len(self.data) < self._asked:
            return False
        self._asked = WINDOW_SIZE if at else 2 * self._asked
        self.base += at
        self.data = self._file.read(self._asked, self.base)
        return True


class JournalFile:
    """A journal file open for reading."""

    def __init__(self, path: str, file: File) -> None:
        self.path = path
        self.file = file
        self.size = file.size()
        start = file.read(journal.HEADER_SIZE + SEAL_PAD.size, 0)
        opening = _opening(start)
        self.salt = None if opening is None else bytes(opening.salt)
        """The salt of the seals if our bookie wrote the file; None if Java did."""
        self.first_offset = journal.HEADER_SIZE
        if opening is None:
            self.version = self._version_of(start)
            if self.version < journal.VERSION_WITH_PADDING:
                self.first_offset = 0 if self.version == journal.VERSION_WITHOUT_HEADER else journal.SHORT_HEADER_SIZE
        elif opening.start:
            self.version = journal.VERSION
        else:
            self.version = journal.SCOPED_VERSION
            self.first_offset += journal.PAD_HEADER_SIZE + opening.size

    @classmethod
    def open(cls, disk: Disk, path: str) -> "JournalFile":
        file = disk.open(path)
        try:
            return cls(path, file)
        except BaseException:
            file.close()
            raise

    @property
    def ours(self) -> bool:
        return self.salt is not None

    def close(self) -> None:
        self.file.close()

    def _version_of(self, start: bytes) -> int:
        if len(start) < journal.SHORT_HEADER_SIZE or not start.startswith(journal.MAGIC):
            return journal.VERSION_WITHOUT_HEADER
        number = int(journal.HEADER.parse(start).version)
        if number == journal.SCOPED_VERSION:
            # Only our files have this version, and each starts with a seal before its first use: without a seal, the
            # file was being made when a crash came.
            if not only_zeros(self.file, journal.HEADER_SIZE):
                raise RefusedToStart(f"journal file {self.path} of version {number} is damaged before offset 1024")
        elif not journal.VERSION_WITHOUT_HEADER <= number <= journal.SCOPED_VERSION:
            raise RefusedToStart(
                f"journal file {self.path} is of version {number}; 1 to {journal.SCOPED_VERSION} can be read"
            )
        return number


def _opening(start: bytes) -> Any:
    """Return the seal that a file of ours starts with: of an empty group, or in version 7 of the header; else None."""
    try:
        opening = journal.SEAL_PAD.parse(start[journal.HEADER_SIZE :])
    except ConstructError:
        return None
    if opening.mask != journal.PAD_LENGTH or opening.magic != journal.SEAL_MAGIC:
        return None
    checksum = start_checksum(start[: journal.HEADER_SIZE], opening.salt)
    if (opening.start, opening.crc32c) == (journal.HEADER_SIZE, 0):
        return opening
    return opening if (opening.start, opening.crc32c) == (0, checksum) else None


def only_zeros(file: File, position: int) -> bool:
    """Tell whether ``file`` has only zeros from ``position`` on."""
    while data := file.read(SEARCH_SIZE, position):
        if data.count(0) != len(data):
            return False
        position += len(data)
    return True


class SealedScan:
    """Iterates over the items of each good group of a file of ours; then ``position`` is after the last good group."""

    def __init__(self, journal_file: JournalFile, start: int) -> None:
        self.position = start
        self._salt = journal_file.salt
        self._window = _Window(journal_file.file, start)

    def __iter__(self) -> Iterator[list[Item]]:
        window = self._window
        while True:
            at = self.position - window.base
            batch = read_batch(window.data, at)
            if batch.ending is Ending.PAD and (end := self._sealed_end(at, batch.end)):
                yield batch.items
                self.position = window.base + end
            elif not self._may_go_on(batch) or not window.move(at):
                return

    def _may_go_on(self, batch: Batch) -> bool:
        """Tell whether the present group may turn out good when more of the file is read."""
        pad_cut = len(self._window.data) - batch.end < 2 * journal.ALIGNMENT
        return batch.ending is Ending.CUT or (batch.ending is Ending.PAD and pad_cut)

    def _sealed_end(self, at: int, pad_at: int) -> int:
        """Return where the group from ``at`` ends, its pad record included; 0 if the seal does not fit."""
        data, start = self._window.data, self._window.base + at
        if len(data) - pad_at < SEAL_PAD.size:
            return 0
        _, size, magic, salt, sealed_start, checksum = SEAL_PAD.unpack_fixed(data, pad_at)
        if magic not in SEAL_MAGICS or salt != self._salt or sealed_start != start:
            return 0
        padding = journal.seal_pad_size(self._window.base + pad_at)
        if size != padding - journal.PAD_HEADER_SIZE or pad_at + padding > len(data):
            return 0
        if crc32c.crc32c(memoryview(data)[at:pad_at]) != checksum:
            return 0
        return pad_at + padding


class UnsealedScan:
    """Iterates over the items of a file that Java wrote; then ``position`` is where the log ends.

    Raises RefusedToStart for a negative length that is no pad record, as Java's ``Journal`` does.
    """

    def __init__(self, journal_file: JournalFile, start: int) -> None:
        self.position = start
        self._journal_file = journal_file
        self._window = _Window(journal_file.file, start)

    def __iter__(self) -> Iterator[list[Item]]:
        window = self._window
        while True:
            batch = read_batch(window.data, self.position - window.base)
            self.position = window.base + batch.end
            if batch.items:
                yield batch.items
            if batch.ending is Ending.BAD:
                raise self._refusal("is not the start of a journal record")
            if batch.ending is Ending.ZERO:
                return
            if batch.ending is Ending.PAD and (end := self._pad_end(batch.end)):
                self.position = window.base + end
            elif not window.move(batch.end):
                return

    def _pad_end(self, at: int) -> int:
        """Return where the pad record ends; 0 if that is after the window."""
        data = self._window.data
        if self._journal_file.version < journal.VERSION_WITH_PADDING:
            raise self._refusal(f"is a pad record, which version {self._journal_file.version} does not have")
        if len(data) - at < SEAL_PAD.offsets["salt"]:
            return 0
        _, size = PAD_HEADER.unpack_fixed(data, at)
        end = at + PAD_HEADER.size + size
        if size < 0:
            raise self._refusal("is a pad record of negative size")
        if size >= len(journal.SEAL_MAGIC) and data.startswith(SEAL_MAGICS, at + PAD_HEADER.size):
            raise self._refusal("is a seal of ours, but the start of the file is damaged")
        return 0 if end > len(data) else end

    def _refusal(self, what: str) -> RefusedToStart:
        return RefusedToStart(
            f"journal file {self._journal_file.path} is damaged: the data at offset {self.position} {what}"
        )
