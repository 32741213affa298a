"""Shared by the tests of the journal: a configuration, a sink, entries, and a reader that follows Java's rules."""

from typing import Any

from attrs import frozen

from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.journal.replay import Replayed, replay
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs import codecs
from protocol_specs.disk import journal as spec
from protocol_specs.entry import v1
from protocol_specs.ledger_id import SCOPED_MIN
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.workers import InlineWorker

ENTRY_IDS = codecs.derive("entry ids", v1.ENTRY_IDS)
SALT = b"saltsalt"
CLOCK_S = 1_000_000.0
FIRST_ID = 1_000_000_001


@frozen
class Config:
    journal_size_bytes_max: int = 64 * spec.ALIGNMENT
    journal_preallocation_bytes: int = 8 * spec.ALIGNMENT
    journal_backups_max: int = 1


class Sink:
    """Notes the records that replay hands over."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.runs: list[EntryRun] = []

    def key(self, ledger_id: int, master_key: bytes) -> None:
        self.found.append(("key", ledger_id, master_key))

    def fence(self, ledger_id: int) -> None:
        self.found.append(("fence", ledger_id))

    def explicit_lac(self, ledger_id: int, body: bytes) -> None:
        self.found.append(("lac", ledger_id, body))

    def deleted(self, ledger_id: int) -> None:
        self.found.append(("deleted", ledger_id))

    def entries(self, run: EntryRun) -> None:
        self.runs.append(run)
        self.found += [(run.ledger_id, entry_id) for entry_id in range(run.first_entry_id, run.last_entry_id + 1)]


def new_journal(disk: CrashingDisk, errors: list[BaseException] | None = None, **changes: Any) -> Journal:
    """Return a journal that is not started; ``errors`` gets the fatal errors."""
    settings: dict[str, Any] = {
        "config": Config(),
        "threads": InlineWorker(),
        "on_fatal": (errors if errors is not None else []).append,
        "clock": lambda: CLOCK_S,
        "salt": lambda size: SALT[:size],
    }
    settings.update(changes)
    return Journal(disk, DIRECTORY, settings.pop("config"), **settings)


def entry(ledger_id: int, entry_id: int, size: int = 20) -> bytes:
    """Return the record of an entry."""
    if ledger_id >= SCOPED_MIN:
        body = b"\xa1" + ledger_id.to_bytes(16, "big") + entry_id.to_bytes(8, "big") + b"." * size
    else:
        body = ENTRY_IDS.pack(ledger_id, entry_id, b"." * size)
    return codecs.RECORD_LENGTH.pack(len(body)) + body


def path_of(journal_id: int = FIRST_ID) -> str:
    return f"{DIRECTORY}/{journal_id:x}.txn"


def replayed(disk: CrashingDisk, mark: LogMark = BEGINNING) -> tuple[list[Any], Replayed]:
    """Replay into a new sink; return the records it got, and the result."""
    sink = Sink()
    result = replay(disk, DIRECTORY, mark, sink)
    return sink.found, result


def read_as_java(data: bytes) -> list[tuple[int, int]]:
    """Return (ledger id, entry id) of the records by the rules of Java's ``Journal``, written a second time here."""
    assert spec.HEADER.parse(data).version == 6, "a Java bookie refuses this file"
    found = []
    at = spec.HEADER_SIZE
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        if length == 0:
            break
        if length == spec.PAD_LENGTH:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "big", signed=True)
            continue
        assert length > 0
        body = data[at + 4 : at + 4 + length]
        if len(body) < length:
            break
        found.append((int.from_bytes(body[:8], "big", signed=True), int.from_bytes(body[8:16], "big", signed=True)))
        at += 4 + length
    return found
