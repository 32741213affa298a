from collections.abc import Sequence

import pytest

from bookkeeper_tx.bookie.storage.entry_location import location, split_location
from bookkeeper_tx.bookie.storage.entry_log import CHECKED_COUNT_MIN, EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_format import ledgers_map, log_name
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs import vectors
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import SCOPED_MIN, join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.storages import log_directories

Placed = list[tuple[int, list[PlacedRun]]]


def writer_on(disk: CrashingDisk, size_max: int = 1 << 30) -> EntryLogWriter:
    writer = EntryLogWriter(disk, log_directories(disk), size_max)
    writer.start()
    return writer


def by_ledger(*runs: EntryRun) -> list[tuple[int, Sequence[EntryRun]]]:
    return [(run.ledger_id, [run]) for run in runs]


def log_bytes(disk: CrashingDisk, log_id: int, scoped: bool = False) -> bytes:
    return disk.read(f"{DIRECTORY}/{log_name(log_id, scoped)}")


def check(disk: CrashingDisk, placed: Placed) -> None:
    """Every record is at its location."""
    for _, runs in placed:
        for each in runs:
            run = each.run
            for at, start in enumerate(run.offsets[:-1]):
                log_id, offset = split_location(each.base + start)
                record = bytes(run.records(run.first_entry_id + at, 1))
                assert log_bytes(disk, log_id, run.ledger_id >= SCOPED_MIN)[offset : offset + len(record)] == record


def names(disk: CrashingDisk) -> list[str]:
    return disk.list_directory(DIRECTORY)


def test_a_location_points_past_the_length_word() -> None:
    assert location(3, 1024) == 0x0000000300000404
    assert split_location(0x0000000300000404) == (3, 1024)


def test_runs_lie_back_to_back_behind_the_header(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    first, second = run_of(0, 30, 50, ledger_id=1), run_of(4, 41, ledger_id=2)
    placed = writer.write(by_ledger(first, second))
    header = b"BKLO\0\0\0\1".ljust(1024, b"\0")
    assert log_bytes(disk, 0) == header + first.buffer + second.buffer
    places = [(ledger_id, each.base, each.run.first_entry_id, list(each.run.offsets)) for ledger_id, (each,) in placed]
    assert places == [(1, 1028, 0, list(first.offsets)), (2, 1028 + first.size, 4, list(second.offsets))]
    assert disk.read(f"{DIRECTORY}/lastId") == b"0\n"


def test_only_runs_that_get_a_checksum_keep_their_records(disk: CrashingDisk) -> None:
    short, long = (run_of(0, *[30] * (CHECKED_COUNT_MIN - less), ledger_id=1 + less) for less in (1, 0))
    placed = dict(writer_on(disk).write(by_ledger(long, short)))
    assert [placed[ledger_id][0].run.buffer for ledger_id in (1, 2)] == [long.buffer, b""]


def test_a_run_that_begins_within_its_buffer_is_placed_right(disk: CrashingDisk) -> None:
    run = run_of(0, 30, 50, 70)
    inner = EntryRun(7, 1, run.buffer, run.offsets[1:])
    placed = writer_on(disk).write(by_ledger(inner))
    check(disk, placed)
    assert len(log_bytes(disk, 0)) == 1024 + inner.size


def test_the_next_write_goes_on_in_the_same_log(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    for first in (0, 5):
        check(disk, writer.write(by_ledger(run_of(first, 100))))
    assert names(disk) == ["0.log", "lastId"]


def test_large_writes_are_written_in_pieces_and_whole(disk: CrashingDisk) -> None:
    runs = [run_of(first, *[1000] * 100) for first in range(0, 2000, 100)]
    writer_on(disk).write([(7, runs)])
    assert log_bytes(disk, 0)[1024:] == b"".join(run.buffer for run in runs)


def test_a_full_log_gets_its_map_and_the_next_one_begins(disk: CrashingDisk) -> None:
    writer = writer_on(disk, size_max=3000)
    runs = [run_of(0, 900, ledger_id=ledger_id) for ledger_id in (5, 6, 9)]
    placed = writer.write(by_ledger(*runs))
    check(disk, placed)
    full = log_bytes(disk, 0)
    values = spec.HEADER.parse(full)
    assert (values.ledgers_map_offset, values.ledgers_map_count) == (1024 + 2 * 904, 2)
    batch = spec.LEDGERS_MAP_BATCH.parse(full[values.ledgers_map_offset :])
    assert [(row.ledger_id, row.size) for row in batch.ledgers] == [(5, 904), (6, 904)]
    assert spec.HEADER.parse(log_bytes(disk, 1)).ledgers_map_offset == 0
    assert disk.read(f"{DIRECTORY}/lastId") == b"1\n"


def test_a_run_larger_than_a_log_gets_one_of_its_own(disk: CrashingDisk) -> None:
    writer = writer_on(disk, size_max=2000)
    check(disk, writer.write(by_ledger(run_of(0, 5000), run_of(0, 30, ledger_id=8))))
    assert names(disk) == ["0.log", "1.log", "lastId"]


def test_the_ledgers_map_is_that_of_the_vector() -> None:
    (vector,) = [each for each in vectors.load("disk") if each["spec"] == "disk/entry_log.LEDGERS_MAP_BATCH"]
    assert ledgers_map({5: 1000, 0x12345: 45}).hex() == vector["hex"]


def test_the_ledgers_map_comes_in_batches_of_ten_thousand() -> None:
    data = ledgers_map(dict.fromkeys(range(20_001), 50))
    counts = []
    while data:
        batch = spec.LEDGERS_MAP_BATCH.parse(data)
        assert (batch.ledger_id, batch.entry_id) == (-1, -2)
        counts.append(batch["count"])
        data = data[4 + batch.length :]
    assert counts == [10_000, 10_000, 1]


@pytest.mark.parametrize(
    ("files", "last_id", "expected"),
    [
        ({}, None, "0.log"),
        ({"a.log": b"x"}, b"3\n", "b.log"),
        ({"a.log": b""}, b"ff\n", "100.log"),
        ({"a.log": b"x", "c.log128": b"x"}, None, "d.log"),
        ({"1f.log.compacting": b"", "20.log.1f.compacted": b""}, None, "21.log"),
        ({"zz.log": b"", "lastMark": b""}, b"no number", "0.log"),
    ],
)
def test_the_first_log_id_is_one_that_nobody_took(
    disk: CrashingDisk, files: dict[str, bytes], last_id: bytes | None, expected: str
) -> None:
    for name, data in files.items():
        disk.replace(f"{DIRECTORY}/{name}", data)
    if last_id is not None:
        disk.replace(f"{DIRECTORY}/lastId", last_id)
    writer_on(disk).write(by_ledger(run_of(0, 30)))
    assert expected in names(disk)


def test_log_ids_wrap_and_step_over_files(disk: CrashingDisk) -> None:
    disk.replace(f"{DIRECTORY}/lastId", b"7ffffffe\n")
    writer = writer_on(disk, size_max=1100)
    disk.create(f"{DIRECTORY}/0.log")
    for first in range(2):
        check(disk, writer.write(by_ledger(run_of(first, 100))))
    assert {"7fffffff.log", "1.log"} <= set(names(disk))
    disk.create(f"{DIRECTORY}/2.log128")
    writer.write(by_ledger(run_of(2, 100)))
    assert "3.log" in names(disk)


def test_after_a_failed_write_the_log_goes_on_where_it_was(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    first = run_of(0, 100)
    writer.write(by_ledger(first))
    disk.fail_writes(1)
    second = run_of(1, 200)
    with pytest.raises(OSError, match="Input/output"):
        writer.write(by_ledger(second))
    assert len(log_bytes(disk, 0)) == 1024 + first.size
    check(disk, writer.write(by_ledger(second)))
    assert log_bytes(disk, 0)[1024:] == first.buffer + second.buffer
    assert names(disk) == ["0.log", "lastId"]


def test_a_failed_write_takes_the_logs_it_made_with_it(disk: CrashingDisk) -> None:
    writer = writer_on(disk, size_max=3000)
    writer.write(by_ledger(run_of(0, 1000)))
    disk.capacity = 1500
    runs = [(7, [run_of(first, 1500) for first in range(1, 4)])]
    with pytest.raises(OSError, match="No space"):
        writer.write(runs)
    assert names(disk) == ["0.log", "lastId"]
    disk.capacity = None
    check(disk, writer.write(runs))


def test_after_a_failed_sync_another_log_is_begun(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    kept = writer.write(by_ledger(run_of(0, 100)))
    disk.fail_syncs(1)
    with pytest.raises(OSError, match="Input/output"):
        writer.write(by_ledger(run_of(1, 200)))
    placed = writer.write(by_ledger(run_of(1, 200)))
    assert split_location(placed[0][1][0].base)[0] == 1
    check(disk, kept + placed)


def test_what_was_written_survives_a_power_cut(disk: CrashingDisk) -> None:
    writer = writer_on(disk, size_max=3000)
    placed = writer.write(by_ledger(*[run_of(0, 900, ledger_id=ledger_id) for ledger_id in range(5)]))
    disk.crash()
    disk.restart()
    check(disk, placed)
    assert spec.HEADER.parse(log_bytes(disk, 0)).ledgers_map_count == 2


def test_a_new_process_begins_a_new_log(disk: CrashingDisk) -> None:
    first = writer_on(disk)
    first.write(by_ledger(run_of(0, 30)))
    first.close()
    second = writer_on(disk)
    assert second.first_log_id == 1
    second.write(by_ledger(run_of(1, 30)))
    assert names(disk) == ["0.log", "1.log", "lastId"]


# Ledgers outside scope 0 ---------------------------------------------------------------------------------------------


def test_scoped_entries_lie_in_logs_of_their_own(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    plain, scoped, other = run_of(0, 50), run_of(0, 50, 60, ledger_id=SCOPED), run_of(4, 70, ledger_id=SCOPED + 1)
    placed = writer.write(by_ledger(plain, scoped, other))
    check(disk, placed)
    check(disk, writer.write(by_ledger(run_of(2, 50, ledger_id=SCOPED), run_of(1, 50))))
    assert names(disk) == ["0.log", "1.log128", "lastId"]
    assert disk.read(f"{DIRECTORY}/lastId") == b"1\n"
    assert log_bytes(disk, 1, True).startswith(b"BKLO\0\0\0\2".ljust(1024, b"\0") + scoped.buffer + other.buffer)
    assert placed[1][1][0].base == location(1, 1024)


def test_no_java_bookie_takes_a_scoped_log_for_one_of_its_own(disk: CrashingDisk) -> None:
    """Java looks for names with one of these endings, and deletes logs of ledgers that it does not know."""
    writer_on(disk).write(by_ledger(run_of(0, 50, ledger_id=SCOPED)))
    assert not [name for name in names(disk) if name.endswith((".log", ".compacting", ".compacted", ".idx", ".txn"))]


def test_a_full_scoped_log_gets_a_map_with_scopes(disk: CrashingDisk) -> None:
    writer = writer_on(disk, size_max=3000)
    ledger_ids = (SCOPED, SCOPED + 1, SCOPED + 2)
    check(disk, writer.write(by_ledger(run_of(0, 500), *[run_of(0, 900, ledger_id=each) for each in ledger_ids])))
    full = log_bytes(disk, 1, True)
    values = spec.HEADER.parse(full)
    assert (values.version, values.ledgers_map_offset, values.ledgers_map_count) == (2, 1024 + 2 * 904, 2)
    batch = spec.SCOPED_LEDGERS_MAP_BATCH.parse(full[values.ledgers_map_offset :])
    assert (batch.flags, batch.ledger_scope_id, batch.ledger_id, batch.entry_id) == (0xA0, 0, -1, -2)
    assert batch.length + 4 == len(full) - values.ledgers_map_offset
    rows = [(join(row.ledger_scope_id, row.ledger_id), row.size) for row in batch.ledgers]
    assert rows == [(SCOPED, 904), (SCOPED + 1, 904)]
    assert names(disk) == ["0.log", "1.log128", "2.log128", "lastId"]
    assert spec.HEADER.parse(log_bytes(disk, 0)).ledgers_map_offset == 0


def test_the_map_of_a_scoped_log_is_that_of_the_vector() -> None:
    (vector,) = [each for each in vectors.load("disk") if each["spec"] == "disk/entry_log.SCOPED_LEDGERS_MAP_BATCH"]
    assert ledgers_map({join(1, 5): 1000, join(-2, 0x12345): 45}, scoped=True).hex() == vector["hex"]


@pytest.mark.parametrize("size_max", [1 << 30, 3000])
def test_after_a_failed_write_both_logs_go_on_where_they_were(disk: CrashingDisk, size_max: int) -> None:
    writer = writer_on(disk, size_max)
    first = by_ledger(run_of(0, 1500), run_of(0, 1500, ledger_id=SCOPED))
    kept = writer.write(first)
    sizes = [len(log_bytes(disk, *each)) for each in ((0, False), (1, True))]
    again = by_ledger(run_of(1, 1500), run_of(1, 1500, ledger_id=SCOPED))
    disk.capacity = 2000
    with pytest.raises(OSError, match="No space"):
        writer.write(again)
    assert names(disk) == ["0.log", "1.log128", "lastId"]
    assert [len(log_bytes(disk, *each)) for each in ((0, False), (1, True))] == sizes
    disk.capacity = None
    check(disk, kept + writer.write(again))
    rolled = ["0.log", "1.log128", "4.log", "5.log128", "lastId"]
    assert names(disk) == (rolled if size_max == 3000 else ["0.log", "1.log128", "lastId"])


def test_after_a_failed_sync_other_logs_are_begun_for_both(disk: CrashingDisk) -> None:
    writer = writer_on(disk)
    runs = by_ledger(run_of(0, 100), run_of(0, 100, ledger_id=SCOPED))
    kept = writer.write(runs)
    disk.fail_syncs(1)
    with pytest.raises(OSError, match="Input/output"):
        writer.write(runs)
    placed = writer.write(runs)
    assert [split_location(runs[0].base)[0] for _, runs in placed] == [2, 3]
    check(disk, kept + placed)
