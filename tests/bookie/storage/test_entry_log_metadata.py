from typing import Any

import pytest

from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_format import header, ledgers_map
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, LogName, count, finished_names
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged
from protocol_specs.disk import entry_log as spec
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.storages import log_directories

PATH = f"{DIRECTORY}/0.log"


def written(disk: CrashingDisk, *runs: Any, full: bool = True) -> None:
    """Write a log of these runs; ``full``: with its ledgers map."""
    writer = EntryLogWriter(disk, log_directories(disk), 1 << 30)
    writer.start()
    writer.write([(run.ledger_id, [run]) for run in runs])
    if full:
        writer.end_dead(lambda _: False)
    writer.close()


def sizes(metadata: EntryLogMetadata) -> tuple[list[int], int, int]:
    return sorted(metadata.ledger_ids()), metadata.total_bytes, metadata.remaining_bytes


def patched(disk: CrashingDisk, offset: int, data: bytes) -> None:
    file = disk.open(PATH, writable=True)
    file.write(data, offset)


@pytest.mark.parametrize("full", [True, False])
def test_the_ledgers_of_a_log_come_from_its_map_or_from_a_scan(disk: CrashingDisk, full: bool) -> None:
    written(disk, run_of(0, 41, 60), run_of(0, 41, ledger_id=9), run_of(2, 50), full=full)
    metadata = count(disk, DIRECTORY, LogName(0))
    assert sizes(metadata) == ([7, 9], 45 + 64 + 45 + 54, 208)
    assert metadata.file_size == len(disk.read(PATH))


def test_a_map_is_believed_without_a_look_at_the_entries(disk: CrashingDisk) -> None:
    written(disk, run_of(0, 41, 60))
    patched(disk, 1024, b"\xee" * 40)
    assert sizes(count(disk, DIRECTORY, LogName(0))) == ([7], 109, 109)


@pytest.mark.parametrize("full", [True, False])
def test_ledgers_of_other_scopes_are_counted_the_same(disk: CrashingDisk, full: bool) -> None:
    written(disk, run_of(0, 60, ledger_id=SCOPED), run_of(0, 70, ledger_id=SCOPED + 1), full=full)
    assert sizes(count(disk, DIRECTORY, LogName(0, scoped=True))) == ([SCOPED, SCOPED + 1], 138, 138)


@pytest.mark.parametrize("full", [True, False])
def test_a_map_of_several_batches_is_read_whole(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    monkeypatch.setattr(spec, "LEDGERS_MAP_BATCH_COUNT_MAX", 2)
    written(disk, *(run_of(0, 41, ledger_id=each) for each in range(5)), full=full)
    assert sizes(count(disk, DIRECTORY, LogName(0))) == ([0, 1, 2, 3, 4], 225, 225)


@pytest.mark.parametrize("offset", [0, 1, 1024, 1069, 1200, 10**6, -5])
def test_a_map_that_is_not_where_the_header_says_is_not_believed(disk: CrashingDisk, offset: int) -> None:
    """A header with a former log's offset made Java delete logs with live ledgers (BK#4607)."""
    written(disk, run_of(0, 41), run_of(0, 60, ledger_id=9), full=False)
    patched(disk, 8, offset.to_bytes(8, "big", signed=True) + (1).to_bytes(4, "big"))
    assert sizes(count(disk, DIRECTORY, LogName(0)))[0] == [7, 9]


@pytest.mark.parametrize(
    "wrong", [{7: 45}, {7: 45, 9: 63}, {7: 45, 9: 64, 11: 5}, {7: 109}, {7: 200, -3: -91}], ids=str
)
def test_a_map_that_does_not_say_where_each_byte_belongs_is_not_believed(
    disk: CrashingDisk, wrong: dict[int, int]
) -> None:
    written(disk, run_of(0, 41), run_of(0, 60, ledger_id=9), full=False)
    end = 1024 + 45 + 64
    patched(disk, end, ledgers_map(wrong))
    patched(disk, 0, header(end, 2)[:20])
    assert sizes(count(disk, DIRECTORY, LogName(0)))[0] == [7, 9]


def test_a_log_that_cannot_be_read_to_its_end_has_no_metadata(disk: CrashingDisk) -> None:
    written(disk, run_of(0, 41), run_of(0, 60, ledger_id=9), full=False)
    patched(disk, 1024 + 45, bytes(20))
    with pytest.raises(Damaged, match=r"0\.log"):
        count(disk, DIRECTORY, LogName(0))
    patched(disk, 0, b"XXXX")
    with pytest.raises(Damaged, match="no header of an entry log"):
        count(disk, DIRECTORY, LogName(0))


@pytest.mark.parametrize("size", [0, 3, 1024])
def test_a_log_that_was_made_ahead_is_empty(disk: CrashingDisk, size: int) -> None:
    disk.create(PATH).write(header()[:size], 0)
    metadata = count(disk, DIRECTORY, LogName(0))
    assert (sizes(metadata), metadata.usage_of(0), metadata.file_size) == (([], 0, 0), 0.0, size)


def test_what_is_left_of_a_log_when_ledgers_have_gone() -> None:
    for name in (LogName(1), LogName(1, scoped=True)):
        first = SCOPED if name.scoped else 0
        metadata = EntryLogMetadata(name, 2000, {first + each: 100 * each for each in range(1, 5)})
        assert (metadata.total_bytes, metadata.usage_of(0)) == (1000, 1.0)
        metadata.retain(lambda ledger_id, first=first: ledger_id - first in (1, 4))  # type: ignore[misc]
        assert (list(metadata.ledger_ids()), metadata.remaining_bytes) == ([first + 1, first + 4], 500)
        assert (metadata.usage_of(0), metadata.usage_of(2500), metadata.usage_of(10)) == (0.5, 0.2, 0.5)
        metadata.retain(lambda _: False)
        assert (list(metadata.ledger_ids()), metadata.remaining_bytes, metadata.usage_of(0)) == ([], 0, 0.0)


def test_a_million_ledgers_take_sixteen_bytes_each() -> None:
    metadata = EntryLogMetadata(LogName(1), 0, dict.fromkeys(range(1000), 1))
    assert metadata.memory_bytes == 512 + 16 * 1000


def test_only_names_of_logs_are_taken() -> None:
    names = [
        "0.log",
        "a.log",
        "1f.log128",
        "lastId",
        "7",
        "x.log",
        "00.log",
        "A.log",
        "3.log.compacting",
        "3.idx",
        ".log",
    ]
    assert finished_names(names) == [LogName(0), LogName(10), LogName(31, scoped=True)]
    assert [each.file_name for each in finished_names(names)] == ["0.log", "a.log", "1f.log128"]
