"""Replay at start: hand all records after the mark to the ledger storage (docs/formats/journal.md).

A file is ours if it starts with a seal, else Java's; the two have different rules for their end.

Ours: a group counts when its seal fits its bytes.  Each group is synced before the next one is begun, so only the last
group of the last file can be torn.  Such a group is dropped and cut off; at a later start, with a newer file after it,
it would look like damage.  A bad group with a valid one after it was acknowledged once: the start is refused.  Without
a sync for each group, several can be torn; their seals say that, and all from the first one on are cut off.

Java's: records have no checksum; a length of zero, or a record that goes on after the end of the file, ends the log
(Java's ``Journal``).  A Java bookie that ran on our directory has applied these rules to our last file, and has begun a
new file.  So a torn group that it left in our file is cut off as well.
"""

from typing import Protocol

import crc32c
from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.journal.files import file_path, list_journals
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.journal.reader import (
    SEAL_MAGICS,
    SEARCH_SIZE,
    WINDOW_SIZE,
    Ending,
    Item,
    JournalFile,
    SealedScan,
    SpecialRecord,
    UnsealedScan,
    only_zeros,
    read_batch,
)
from bookkeeper_tx.bookie.journal.records import SEAL_PAD, parse_blob
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import RefusedToStart
from bookkeeper_tx.model import ledger_name
from protocol_specs.codecs import Malformed
from protocol_specs.disk import journal, meta_entries
from protocol_specs.ledger_id import SCOPED_MIN

_log = Logger()


class ReplaySink(Protocol):
    """Takes the records that replay finds.

    A ledger without a call of ``key`` and without anything stored is a deleted one: the other calls ignore it.
    """

    def key(self, ledger_id: int, master_key: bytes) -> None: ...

    def fence(self, ledger_id: int) -> None: ...

    def explicit_lac(self, ledger_id: int, body: bytes) -> None: ...

    def entries(self, run: EntryRun) -> None: ...

    def deleted(self, ledger_id: int) -> None: ...


@frozen
class Replayed:
    """The results of a replay."""

    mark: LogMark
    """The end of the replay.  Flush the storage, store this as lastMark, then start the journal."""
    entry_count: int
    """Entries handed over."""
    dropped: tuple[LogMark, ...]
    """The positions at which torn groups were cut off."""


def replay(disk: Disk, directory: str, mark: LogMark, sink: ReplaySink, read_only: bool = False) -> Replayed:
    """Hand all records after ``mark`` of the journal in ``directory`` (its ``current``) to ``sink``, in order.

    ``read_only``: nothing is synced or cut off, so nothing may be written, either, until another replay.  Raises
    RefusedToStart, naming file and offset, when acknowledged records cannot be read.
    """
    ids = [journal_id for journal_id in list_journals(disk, directory, refusing=True) if journal_id >= mark.journal_id]
    if mark.journal_id > BEGINNING.journal_id and (not ids or ids[0] != mark.journal_id):
        path = file_path(directory, mark.journal_id)
        raise RefusedToStart(f"the journal file that the last mark names is missing: {path}; bring it back")
    entry_count, end = 0, mark
    dropped: list[LogMark] = []
    for journal_id in ids:
        journal_file = JournalFile.open(disk, file_path(directory, journal_id))
        try:
            if journal_file.ours and journal_id != ids[0]:
                _require_predecessor(directory, journal_id, ids)
            start = _start(journal_file, journal_id, mark)
            scan = (SealedScan if journal_file.ours else UnsealedScan)(journal_file, start)
            for items in scan:
                entry_count += _hand_over(journal_file, items, sink)
            if journal_file.ours and scan.position == start > journal_file.first_offset:
                _require_group_before(disk, directory, journal_file, start, ids[1:])
            end = LogMark(journal_id, scan.position)
            if not read_only:
                # A killed process may have left bytes in the page cache that it had not synced.
                journal_file.file.sync()
            if not journal_file.ours and end.offset == journal_file.first_offset:
                _refuse_without_opening(journal_file)
            if journal_file.ours and not only_zeros(journal_file.file, end.offset):
                _refuse_damage(disk, directory, journal_file, end, [each for each in ids if each > journal_id])
                if not read_only:
                    _cut_off(disk, journal_file.path, end)
                    dropped.append(end)
        finally:
            journal_file.close()
    if not read_only:
        disk.sync_directory(directory)
    return Replayed(end, entry_count, tuple(dropped))


def _require_predecessor(directory: str, journal_id: int, ids: list[int]) -> None:
    """Raise RefusedToStart if the file before one of ours is missing."""
    if journal_id - 1 not in ids:
        missing, later = file_path(directory, journal_id - 1), file_path(directory, journal_id)
        raise RefusedToStart(
            f"a journal file is missing: {missing}; bring it back. Acknowledged records may be in it: {later} follows "
            "it, begun by a bookie that numbers without gaps"
        )


def _start(journal_file: JournalFile, journal_id: int, mark: LogMark) -> int:
    if journal_id != mark.journal_id:
        return journal_file.first_offset
    if mark.offset > journal_file.size:
        raise RefusedToStart(
            f"journal file {journal_file.path} has {journal_file.size} bytes, but the last mark is at {mark.offset}: "
            "bring back the whole file"
        )
    return max(mark.offset, journal_file.first_offset)


def _require_group_before(
    disk: Disk, directory: str, journal_file: JournalFile, start: int, later_ids: list[int]
) -> None:
    """Raise RefusedToStart if a mark at ``start``, where no group begins, cannot be ours: none of them ends there.

    The zeros that are written ahead would look like the end of the log there.
    """
    if _is_end_of_group(journal_file, _before_java(journal_file, start)):
        return
    for journal_id in later_ids[:1]:
        later = JournalFile.open(disk, file_path(directory, journal_id))
        later.close()
        if not later.ours:  # Java has replayed our file, and begun this one
            return
    raise RefusedToStart(
        f"the last mark is at offset {start} of journal file {journal_file.path}, but no group of records ends there: "
        "the file is older than the mark, or one of them is damaged; bring back the whole journal"
    )


def _before_java(journal_file: JournalFile, start: int) -> int:
    """Return where a mark at ``start`` was before Java moved it.

    Each start of Java's moves it behind the length of zero that it reads there, also one that ends before it has begun
    a file of its own.
    """
    moved = start % journal.ALIGNMENT
    is_javas = moved % RECORD_LENGTH_SIZE == 0 and not any(journal_file.file.read(moved, start - moved))
    return start - moved if is_javas else start


def _is_end_of_group(journal_file: JournalFile, end: int) -> bool:
    """Tell whether a seal of the file, with its padding, ends at ``end``."""
    base = max(end - 2 * journal.ALIGNMENT, 0)
    data = journal_file.file.read(end - base, base)
    for magic in SEAL_MAGICS:
        pad_at = base + data.rfind(magic + (journal_file.salt or b"")) - journal.PAD_HEADER_SIZE
        if pad_at >= base and pad_at + journal.seal_pad_size(pad_at) == end:
            return True
    return False


def _hand_over(journal_file: JournalFile, items: list[Item], sink: ReplaySink) -> int:
    """Give ``items`` to ``sink``; return the number of entries among them."""
    entry_count = 0
    for item in items:
        if not 0 <= item.ledger_id < SCOPED_MIN:
            _check_version(journal_file, item)
        if isinstance(item, EntryRun):
            sink.entries(item)
            entry_count += item.count
        else:
            _hand_over_special(journal_file, item, sink)
    return entry_count


def _check_version(journal_file: JournalFile, item: Item) -> None:
    """Raise RefusedToStart for a record of entry format V2 in a file of an older version, or of an unknown format."""
    if (item.ledger_id >= SCOPED_MIN) != (journal_file.version >= journal.SCOPED_VERSION):
        scoped = f"ledger {ledger_name(item.ledger_id)}, which is not in scope 0"
        which = scoped if item.ledger_id > 0 else "an unknown format"
        raise RefusedToStart(
            f"journal file {journal_file.path} has version {journal_file.version}, but a record of {which}: "
            "it was written by another program, or is damaged"
        )


def _hand_over_special(journal_file: JournalFile, item: SpecialRecord, sink: ReplaySink) -> None:
    where = f"journal file {journal_file.path}, ledger {ledger_name(item.ledger_id)}"
    if item.kind not in meta_entries.VERSION_WITH:
        _log.warn("{where}: skipped a record of unknown kind {kind}", where=where, kind=item.kind)
        return
    if journal_file.version < meta_entries.VERSION_WITH[item.kind]:
        raise RefusedToStart(f"{where}: record of kind {item.kind} in a file of version {journal_file.version}")
    if item.kind == meta_entries.FENCE:
        sink.fence(item.ledger_id)
        return
    if item.kind == meta_entries.DELETED:
        sink.deleted(item.ledger_id)
        return
    try:
        blob = parse_blob(item.record, item.ledger_id >= SCOPED_MIN)
        if item.kind == meta_entries.LEDGER_KEY:
            sink.key(item.ledger_id, blob)
        else:
            sink.explicit_lac(item.ledger_id, blob)
    except Malformed as error:
        raise RefusedToStart(f"{where}: {error}") from error


def _refuse_damage(disk: Disk, directory: str, journal_file: JournalFile, end: LogMark, later_ids: list[int]) -> None:
    """Raise RefusedToStart if the bad bytes at ``end`` cannot be a torn last group."""
    damaged = f"journal file {journal_file.path} is damaged at offset {end.offset}"
    lost = "acknowledged records cannot be read there"
    if _has_another_salt(journal_file.file, end.offset):
        raise RefusedToStart(f"{damaged}: {lost}, for the salt in its seal is not that of the file")
    later_group = _later_group(journal_file, end.offset, journal.SEAL_MAGIC)
    if later_group is not None:
        raise RefusedToStart(f"{damaged}: {lost}, for a good group follows at {later_group}")
    for journal_id in later_ids:
        path = file_path(directory, journal_id)
        later = JournalFile.open(disk, path)
        later.close()
        if later.ours:  # our bookie begins a file only when the one before it has no torn group
            raise RefusedToStart(f"{damaged}: {lost}, for {path} follows")


def _refuse_without_opening(journal_file: JournalFile) -> None:
    """Raise RefusedToStart for a file without records if it is one of ours that has lost its start.

    One that a crash kept from being made, ours or Java's, has no good group.
    """
    for group in (_later_group(journal_file, journal_file.first_offset, magic) for magic in SEAL_MAGICS):
        if group is None:
            continue
        raise RefusedToStart(
            f"journal file {journal_file.path} is damaged before offset {group}: a good group of ours is there, but "
            "the start of the file does not lead to it"
        )


def _has_another_salt(file: File, start: int) -> bool:
    """Tell whether only the salt of the group at ``start`` is wrong; a torn write does not leave such a group."""
    batch = read_batch(file.read(WINDOW_SIZE, start), 0)
    return batch.ending is Ending.PAD and _start_of_sealed(file, start + batch.end) == start


def _later_group(journal_file: JournalFile, position: int, magic: bytes) -> int | None:
    """Return where a good group with ``magic`` starts after ``position``; entries cannot look like its seal."""
    sought = magic + (journal_file.salt or b"")
    while len(data := journal_file.file.read(SEARCH_SIZE, position)) >= len(sought):
        found = data.find(sought)
        while found >= 0:
            start = _start_of_sealed(journal_file.file, position + found - journal.PAD_HEADER_SIZE)
            if start is not None:
                return start
            found = data.find(sought, found + 1)
        position += len(data) - len(sought) + 1
    return None


def _start_of_sealed(file: File, pad_at: int) -> int | None:
    """Return where the group starts whose seal is at ``pad_at``, or None if the seal does not fit its bytes."""
    if pad_at < journal.HEADER_SIZE:
        return None
    pad = file.read(SEAL_PAD.size, pad_at)
    if len(pad) < SEAL_PAD.size:
        return None
    mask, _, _, _, start, checksum = SEAL_PAD.unpack_fixed(pad)
    if mask != journal.PAD_LENGTH or not journal.HEADER_SIZE <= start <= pad_at:
        return None
    return int(start) if crc32c.crc32c(file.read(pad_at - start, start)) == checksum else None


def _cut_off(disk: Disk, path: str, end: LogMark) -> None:
    """End the file at ``end``, durably, before a newer file is begun."""
    _log.warn("dropped what was not on the disk when the power failed, at {end}", end=end)
    file = disk.open(path, writable=True)
    try:
        file.truncate(end.offset)
        file.sync()
    finally:
        file.close()
