import pytest

from bookkeeper_tx.bookie.garbage.log_pieces import LogPieces
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, LogName, count
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import run_of
from tests.bookie.storage.storages import log_directories


def pieces(disk: CrashingDisk, entries_max: int, bytes_max: int) -> list[list[tuple[int, int, int]]]:
    """Return ledger, first entry and count of the runs in each piece."""
    file = disk.open(f"{DIRECTORY}/0.log")
    found = LogPieces(
        file, count(disk, DIRECTORY, LogName(0)), lambda ledger_id: ledger_id != 2, entries_max, bytes_max
    )
    cut = []
    while piece := found.next():
        cut.append([(each.run.ledger_id, each.run.first_entry_id, each.run.count) for each in piece])
    found.close()
    return cut


@pytest.fixture(autouse=True)
def log(disk: CrashingDisk) -> None:
    """Three runs, one of a ledger that is gone."""
    writer = EntryLogWriter(disk, log_directories(disk), 1 << 30)
    writer.start()
    runs = [run_of(0, *[46] * 20, ledger_id=1), run_of(0, *[46] * 20, ledger_id=2), run_of(5, 46, 96, ledger_id=3)]
    writer.write([(run.ledger_id, [run]) for run in runs])
    writer.close()


def test_a_log_may_be_one_piece(disk: CrashingDisk) -> None:
    assert pieces(disk, 100, 10**6) == [[(1, 0, 20), (3, 5, 2)]]


def test_pieces_have_no_more_entries_than_they_may(disk: CrashingDisk) -> None:
    assert pieces(disk, 15, 10**6) == [[(1, 0, 15)], [(1, 15, 5), (3, 5, 2)]]


def test_pieces_have_no_more_bytes_than_they_may_or_one_entry(disk: CrashingDisk) -> None:
    assert pieces(disk, 100, 600) == [[(1, 0, 12)], [(1, 12, 8), (3, 5, 2)]]
    assert len(pieces(disk, 100, 1)) == 22


def test_a_log_without_all_that_its_metadata_has_is_damaged(disk: CrashingDisk) -> None:
    known = count(disk, DIRECTORY, LogName(0))
    metadata = EntryLogMetadata(known.name, known.file_size, {1: known.total_bytes + 50})
    found = LogPieces(disk.open(f"{DIRECTORY}/0.log"), metadata, lambda _: True, 1000, 10**6)
    with pytest.raises(Damaged, match="other entries than its ledgers map says"):
        found.next()
