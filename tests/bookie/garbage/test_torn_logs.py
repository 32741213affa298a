"""Logs that a crash has torn are cut off where indexes point to nothing, and collected like others."""

import pytest

from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.errors import MetadataUnavailable
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, CrashingFile, new_disk
from tests.bookie.garbage.bookies import OPEN, Bench
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.storages import add, flush, read
from tests.conftest import result_of

LEDGERS = range(1, 41)
LOG = f"{DIRECTORY}/0.log"


def with_ledgers(disk: CrashingDisk, **config: object) -> Bench:
    """A bookie whose first log has an entry of each ledger."""
    bench = Bench(disk, **config)
    for ledger_id in LEDGERS:
        bench.storage.open_for(ledger_id, KEY)
        add(bench.storage, run_of(0, 100, ledger_id=ledger_id))
        bench.store.ledgers[ledger_id] = OPEN
    flush(bench.storage)
    return bench


def restarted(before: Bench) -> Bench:
    after = Bench(before.disk)
    after.store.ledgers = before.store.ledgers
    return after


def unfinished(disk: CrashingDisk, behind: bytes) -> Bench:
    """A bookie that was killed, with these bytes at the end of its log."""
    before = with_ledgers(disk, entry_log_bytes_max=2**20)
    file = disk.open(LOG, writable=True)
    file.write(behind, file.size())
    return restarted(before)


@pytest.mark.parametrize("in_map", [False, True], ids=["entries", "map"])
@pytest.mark.parametrize("seed", range(20))
def test_a_log_is_collected_after_a_power_cut_in_a_flush(
    seed: int, in_map: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = new_disk(seed)
    size_max = 1024 + len(LEDGERS) * 104 if in_map else 2**20
    before = with_ledgers(disk, entry_log_bytes_max=size_max)
    sync = CrashingFile.sync

    def cut_off(file: CrashingFile) -> None:
        if file.path == LOG:
            disk.crash()
            raise Crashed
        sync(file)

    with monkeypatch.context() as patched:
        patched.setattr(CrashingFile, "sync", cut_off)
        for ledger_id in LEDGERS:
            add(before.storage, run_of(1, 100, ledger_id=ledger_id))
        with pytest.raises(Crashed):
            flush(before.storage)
    disk.restart()
    bench = restarted(before)
    bench.collect()
    assert not bench.collector.status.unreadable_logs
    assert [read(bench.storage, each, 0) for each in LEDGERS] == [entry(0, 100, each) for each in LEDGERS]
    bench.delete(*LEDGERS)
    bench.collect()
    assert "0.log" not in bench.logs


def test_what_an_index_points_to_is_not_cut_off(disk: CrashingDisk) -> None:
    bench = unfinished(disk, b"")
    location = bench.storage.indexes.last_entry(LEDGERS[20])[1]
    disk.open(LOG, writable=True).write(b"\xff" * 4, split_location(location)[1])  # the length of a record
    size = len(disk.read(LOG))
    for _ in range(2):
        bench.collect()
    assert bench.collector.status.unreadable_logs == ("0.log",)
    assert len(disk.read(LOG)) == size
    bench.delete(*LEDGERS[20:])
    restarted(bench).collect()
    assert len(disk.read(LOG)) == split_location(location)[1]


@pytest.mark.parametrize("bit", range(10))
def test_a_record_that_an_index_points_to_stays_whole_wherever_the_damage_seems_to_begin(
    disk: CrashingDisk, bit: int
) -> None:
    """With a wrong length of a record it may begin in the midst of a later one."""
    bench = unfinished(disk, b"")
    at, size = 1024 + 3 * 104, len(disk.read(LOG))
    length = int.from_bytes(disk.read(LOG)[at : at + 4], "big") ^ 1 << bit
    disk.open(LOG, writable=True).write(length.to_bytes(4, "big"), at)
    bench.collect()
    assert len(disk.read(LOG)) == size
    assert [read(bench.storage, each, 0) for each in LEDGERS[4:]] == [entry(0, 100, each) for each in LEDGERS[4:]]


def test_whole_records_of_a_ledger_whose_index_is_away_stay_until_it_is_deleted(disk: CrashingDisk) -> None:
    before = with_ledgers(disk, entry_log_bytes_max=2**20)
    file, size = disk.open(LOG, writable=True), len(disk.read(LOG))
    file.write(b"\xff" * 4, 1024 + 2 * 104)
    for ledger_id in LEDGERS[2:]:
        disk.rename(f"{DIRECTORY}/0/{ledger_id:x}/{ledger_id:x}.idx", f"/away{ledger_id}")
    bench = restarted(before)
    for error in (MetadataUnavailable("away"), None):
        bench.store.read_error = error
        bench.collect()
        assert len(disk.read(LOG)) == size
    bench.delete(*LEDGERS[2:])
    bench.collect()
    assert len(disk.read(LOG)) == 1024 + 2 * 104


def test_entries_are_told_from_what_is_in_them(disk: CrashingDisk) -> None:
    """Their ids are small numbers, as those of ledgers are, which the store may know."""
    before = with_ledgers(disk, entry_log_bytes_max=2**20)
    file, size = disk.open(LOG, writable=True), len(disk.read(LOG))
    run = run_of(0, *[60] * 200, ledger_id=LEDGERS[0])
    file.write(bytes(40) + bytes(run.records(0, 200)), size)
    before.store.ledgers |= dict.fromkeys(range(200), OPEN)
    bench = restarted(before)
    bench.collect()
    assert len(disk.read(LOG)) == size
    assert not [each for each in bench.store.calls if each[0] == "read latest"]


def test_nothing_is_cut_off_while_an_index_cannot_be_read(disk: CrashingDisk) -> None:
    bench = unfinished(disk, bytes(50) + b"x" * 50)
    size = len(disk.read(LOG))
    index = disk.open(f"{DIRECTORY}/0/7/7.idx", writable=True)
    header = index.read(1024, 0)
    disk.remove(f"{DIRECTORY}/0/7/7.idx")
    bench.collect()
    assert len(disk.read(LOG)) == size
    again = disk.create(f"{DIRECTORY}/0/7/7.idx")
    again.write(header, 0)
    restarted(bench).collect()
    assert len(disk.read(LOG)) == size - 100


def test_a_log_that_was_finished_was_not_torn(disk: CrashingDisk) -> None:
    before = with_ledgers(disk, entry_log_bytes_max=1024 + len(LEDGERS) * 104)
    before.stored(100, 100)
    file, size = disk.open(LOG, writable=True), len(disk.read(LOG))
    file.write(b"\xff" * 4, 1024 + 104)
    file.write(b"\xff" * 30, size - 30)  # the map is of no use
    before.delete(*LEDGERS[1:])
    bench = restarted(before)
    bench.collect()
    assert bench.collector.status.unreadable_logs == ("0.log",)
    assert len(disk.read(LOG)) == size
    assert result_of(bench.storage.load_run(LEDGERS[0], 0)).count
