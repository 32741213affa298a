"""The records of one journal file, ours or Java's, with their places (docs/formats/journal.md).

A bookie that replays a file stops at damage, or refuses to start.  Here all is shown that can be read, and a record for
each place that a bookie would not take.
"""

from collections.abc import Iterator
from operator import sub
from typing import Final

import crc32c

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.journal.reader import (
    PAD_HEADER,
    SEAL_MAGICS,
    Ending,
    Item,
    JournalFile,
    SpecialRecord,
    only_zeros,
    read_batch,
)
from bookkeeper_tx.bookie.journal.records import SEAL_PAD
from bookkeeper_tx.bookie.offline.records import Record, problem, read_record
from bookkeeper_tx.entry.entry_log_scan import RECORD_SIZE_MAX
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from protocol_specs import codecs

WINDOW_SIZE: Final = 4 * 1024 * 1024
"""Bytes read at once; more only for a record that is larger."""


def records_of(journal_file: JournalFile, start: int = 0) -> Iterator[Record]:
    """Give the records of a journal file from ``start`` on, the offset of one of them; 0 is the first."""
    return iter(_Reading(journal_file, max(start, journal_file.first_offset)))


class _Reading:
    """A walk over one file."""

    def __init__(self, journal_file: JournalFile, start: int) -> None:
        self._journal_file = journal_file
        self._file: File = journal_file.file
        self._at = start
        """The offset of what comes next."""
        self._data = b""
        """The bytes of the file from ``base`` on."""
        self._base = start
        self._group_start = start
        self._group_sum = 0
        """CRC-32C of the bytes from there to here."""
        self._group_count = 0
        """Records from there to here."""

    def __iter__(self) -> Iterator[Record]:
        self._load(WINDOW_SIZE)
        while True:
            batch = read_batch(self._data, self._at - self._base)
            yield from self._records(batch.items)
            wrong = None
            if batch.ending is Ending.PAD:
                wrong = self._step_over_pad()
            elif batch.ending is Ending.CUT and self._base + len(self._data) < self._journal_file.size:
                wrong = self._go_on()
            else:
                yield from self._end(batch.ending)
                return
            if wrong is not None:
                yield wrong
                return

    def _load(self, size: int) -> None:
        self._base = self._at
        self._data = self._file.read(size, self._at)

    def _records(self, items: list[Item]) -> Iterator[Record]:
        """Give the records of a batch, which begins here."""
        start = at = self._at - self._base
        for item in items:
            sizes = [len(item.record)] if isinstance(item, SpecialRecord) else map(sub, item.offsets[1:], item.offsets)
            for size in sizes:
                yield read_record(self._data, at, size, self._base + at)
                at += size
                self._group_count += 1
        self._group_sum = crc32c.crc32c(memoryview(self._data)[start:at], self._group_sum)
        self._at = self._base + at

    def _go_on(self) -> Record | None:
        """Read on at a record that is not whole in the window; return why there can be no such record."""
        if self._at > self._base:
            self._load(WINDOW_SIZE)
            return None
        (length,) = codecs.RECORD_LENGTH.unpack_fixed(self._data)
        size, left = length + RECORD_LENGTH_SIZE, self._journal_file.size - self._at
        if size > min(RECORD_SIZE_MAX, left):
            return problem(self._at, left, f"no record has {length} bytes here: the {left} bytes from here on are lost")
        self._load(size)
        return None

    def _step_over_pad(self) -> Record | None:
        """Look at the pad record here, and at the seal in it; return what ends the walk."""
        head = self._file.read(SEAL_PAD.size, self._at)
        left = self._journal_file.size - self._at
        if len(head) < PAD_HEADER.size:
            return problem(self._at, left, "the file ends within a pad record")
        _, size = PAD_HEADER.unpack_fixed(head)
        if size < 0:
            return problem(self._at, left, f"a pad record cannot have {size} bytes: what follows is lost")
        if self._journal_file.ours:
            wrong = self._seal_problem(head)
            if wrong:
                return problem(self._group_start, self._at - self._group_start, wrong)
        self._at += PAD_HEADER.size + size
        self._group_start, self._group_sum, self._group_count = self._at, 0, 0
        if self._at > self._base + len(self._data):
            self._load(WINDOW_SIZE)
        return None

    def _seal_problem(self, head: bytes) -> str:
        """Return what is wrong with the seal of the group that ends here."""
        if self._group_start == self._journal_file.first_offset and not self._group_count:
            return ""  # the group of no records with which a file of ours begins
        records = f"the {self._group_count} records from here to offset {self._at}"
        if len(head) < SEAL_PAD.size:
            return f"{records} have no seal: the file ends within it"
        _, _, magic, salt, start, checksum = SEAL_PAD.unpack_fixed(head)
        if magic not in SEAL_MAGICS:
            return f"{records} have no seal, and what follows is not read: the file was torn here"
        if salt != self._journal_file.salt or start != self._group_start or checksum != self._group_sum:
            return f"{records} do not fit their seal: they are damaged, and what follows is not read"
        return ""

    def _end(self, ending: Ending) -> Iterator[Record]:
        left = self._journal_file.size - self._at
        if ending is Ending.BAD:
            yield problem(self._at, left, f"no record starts like this: the {left} bytes from here on are lost")
        elif not only_zeros(self._file, self._at):
            cut = f"the file ends within a record, of which it has {left} bytes"
            more = "the records end here, but not all that follows are zeros"
            yield problem(self._at, left, cut if ending is Ending.CUT else more)
        yield from self._unsealed()

    def _unsealed(self) -> Iterator[Record]:
        """Give the problem that the last group of a file of ours has no seal."""
        if self._journal_file.ours and self._group_count:
            text = f"the last {self._group_count} records have no seal: a crash tore them, and a start drops them"
            yield problem(self._group_start, self._at - self._group_start, text)
