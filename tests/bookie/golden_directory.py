"""A directory of a killed bookie that has served ledgers of scope 0 only: always the same bytes.

``python -m tests.bookie.golden_directory FILE`` writes it as JSON; ``golden_directory.json`` was made so by the code as
it was before there were scopes.  It uses nothing that was not there then.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.last_mark import write_last_mark
from bookkeeper_tx.bookie.journal.records import explicit_lac_record, fence_record
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.model import DigestType
from tests.bookie.storage.storages import flush, new_storage
from tests.bookie.workers import InlineWorker

FILE = Path(__file__).with_suffix(".json")

DIGEST = EntryDigest(DigestType.CRC32C, b"golden")
LEDGERS = (0, 5, 0x12345)
FENCED, WITH_EXPLICIT_LAC = 5, 0x12345
FLUSHED, JOURNALLED = 8, 10
"""Entries of each ledger that were flushed, and all with those in the journal only."""
EXPLICIT_LAC = 9

ZEROS_MIN = 16
"""So many zeros end a part of a file."""


@frozen
class Config:
    journal_size_bytes_max: int = 4000
    journal_preallocation_bytes: int = 4096
    journal_backups_max: int = 1


def sealed(ledger_id: int, entry_id: int) -> bytes:
    """Return an entry."""
    payload = b"entry %d of ledger %d" % (entry_id, ledger_id) + b"." * (entry_id % 3)
    return DIGEST.seal(ledger_id, entry_id, entry_id - 1, len(payload) * (entry_id + 1), payload)


class _Bookie:
    """Storage and journal, used as the operations of a bookie use them."""

    def __init__(self, directory: str) -> None:
        disk = Disk()
        self.directory, self.disk = directory, disk
        self.storage = new_storage(disk, directory, entry_log_bytes_max=2200)
        self.keys = LedgerKeys(self.storage)
        self.journal = Journal(
            disk,
            directory,
            Config(),
            threads=InlineWorker(),
            on_fatal=self._fatal,
            clock=lambda: 1_000_000.0,
            salt=lambda size: b"goldsalt"[:size],
        )
        self.journal.start()

    @staticmethod
    def _fatal(error: BaseException) -> None:
        raise error

    def add(self, ledger_id: int, first: int, count: int) -> None:
        ledger, records = self.keys.open(ledger_id, DIGEST.master_key)
        run = EntryRun.of_entries(ledger_id, first, [sealed(ledger_id, first + at) for at in range(count)])
        self.storage.add(ledger, run)
        self.journal.append([*records, run.records(first, count)], lambda _: self.keys.recorded(ledger_id))

    def fence(self, ledger_id: int) -> None:
        ledger, records = self.keys.open(ledger_id, DIGEST.master_key)
        self.storage.fence(ledger)
        self.journal.append([*records, fence_record(ledger_id)], lambda _: None)

    def write_lac(self, ledger_id: int, last_add_confirmed: int) -> None:
        body = DIGEST.seal_last_add_confirmed(ledger_id, last_add_confirmed)
        ledger, records = self.keys.open(ledger_id, DIGEST.master_key)
        self.storage.set_explicit_lac(ledger, body)
        self.journal.append([*records, explicit_lac_record(ledger_id, body)], lambda _: None)


def build(directory: str) -> None:
    """Write the files to ``directory``, which is there and empty."""
    bookie = _Bookie(directory)
    for ledger_id in LEDGERS:
        bookie.add(ledger_id, 0, FLUSHED)
    bookie.write_lac(WITH_EXPLICIT_LAC, 3)
    mark = bookie.journal.mark
    flush(bookie.storage)
    write_last_mark(bookie.disk, [directory], mark)
    for ledger_id in LEDGERS:
        bookie.add(ledger_id, FLUSHED, JOURNALLED - FLUSHED)
    bookie.fence(FENCED)
    bookie.write_lac(WITH_EXPLICIT_LAC, EXPLICIT_LAC)


def files_of(directory: str) -> dict[str, bytes]:
    """Return the files by path."""
    root = Path(directory)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def pack(files: dict[str, bytes]) -> str:
    """Return files as JSON: of each its size, and the parts that are not zeros as offset and hexadecimal digits."""
    rows = []
    for name, data in files.items():
        parts, at = [], 0
        while (start := len(data) - len(data[at:].lstrip(b"\0"))) < len(data):
            end = data.find(bytes(ZEROS_MIN), start)
            at = len(data) if end < 0 else end
            parts.append([start, data[start:at].hex()])
        rows.append(json.dumps({"name": name, "size": len(data), "parts": parts}))
    return "[\n" + ",\n".join(rows) + "\n]\n"


def unpack(text: str) -> dict[str, bytes]:
    """Return the files that :func:`pack` has packed."""
    files = {}
    for row in json.loads(text):
        data = bytearray(row["size"])
        for start, part in row["parts"]:
            data[start : start + len(part) // 2] = bytes.fromhex(part)
        files[row["name"]] = bytes(data)
    return files


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        build(made)
        Path(sys.argv[1]).write_text(pack(files_of(made)), encoding="utf-8")
