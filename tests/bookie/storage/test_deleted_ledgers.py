import pytest

from bookkeeper_tx.bookie.storage.deleted_ledgers import FILE_NAME, SECONDS_PER_DAY, DeletedLedgers
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.seams import SCOPED

PATH = f"{DIRECTORY}/{FILE_NAME}"


class Day:
    """A time of day, moved by hand."""

    def __init__(self) -> None:
        self.day = 20_000

    def __call__(self) -> float:
        return self.day * SECONDS_PER_DAY + 3600.0


def opened(disk: CrashingDisk, day: Day) -> DeletedLedgers:
    deleted = DeletedLedgers(disk, [DIRECTORY], day)
    deleted.load()
    return deleted


def delete(deleted: DeletedLedgers, *ledger_ids: int) -> None:
    deleted.add(ledger_ids)
    deleted.added(ledger_ids)


def test_ledgers_are_known_over_a_restart(disk: CrashingDisk) -> None:
    day = Day()
    first = opened(disk, day)
    assert 7 not in first
    delete(first, 7, SCOPED)
    delete(first, 9)
    for deleted in (first, opened(disk, day)):
        assert [each in deleted for each in (7, 8, 9, SCOPED, SCOPED + 1)] == [True, False, True, True, False]
    assert disk.read(PATH).split()[1:4] == [b"20000", b"7", f"{SCOPED:x}".encode()]


@pytest.mark.parametrize("before", ["a sync that failed", "a process that was killed"])
@pytest.mark.parametrize("seed", range(8))
def test_the_name_of_the_file_is_durable_whatever_came_before(before: str, seed: int) -> None:
    disk, day = new_disk(seed), Day()
    deleted = opened(disk, day)
    if before == "a sync that failed":
        disk.fail_syncs(1)
        with pytest.raises(OSError, match="Input/output"):
            deleted.add([7])
    else:
        disk.syncs_lie = True
        deleted.add([6])
        disk.syncs_lie = False
        deleted = opened(disk, day)
    delete(deleted, 7)
    disk.crash()
    disk.restart()
    assert 7 in opened(disk, day)


def test_the_file_is_found_when_another_directory_comes_first(disk: CrashingDisk) -> None:
    day, second = Day(), "/second/current"
    disk.make_directories(second)
    delete(opened(disk, day), 7)
    turned = DeletedLedgers(disk, [second, DIRECTORY], day)
    turned.load()
    assert 7 in turned
    delete(turned, 8)
    assert [each in opened(disk, day) for each in (7, 8)] == [True, True]
    assert disk.list_directory(second) == []


@pytest.mark.parametrize("fault", ["full_directories", "broken_directories"])
def test_while_a_disk_is_full_or_broken_they_are_in_another_directory(disk: CrashingDisk, fault: str) -> None:
    day, second = Day(), "/second/current"
    disk.make_directories(second)

    def both() -> DeletedLedgers:
        deleted = DeletedLedgers(disk, [DIRECTORY, second], day)
        deleted.load()
        return deleted

    deleted = both()
    delete(deleted, 1)
    setattr(disk, fault, {DIRECTORY})
    delete(deleted, 2)
    delete(deleted, 3)
    setattr(disk, fault, {DIRECTORY, second})
    with pytest.raises(OSError, match=r"error|space"):
        deleted.add([4])
    setattr(disk, fault, ())
    disk.crash()
    disk.restart()
    for each in (deleted, again := both()):
        assert [ledger_id in each for ledger_id in range(1, 5)] == [True, True, True, False]
    assert disk.read(f"{second}/{FILE_NAME}").count(b"\n") == 2
    day.day += 7
    delete(again, 5)
    day.day += 1
    again.expire()
    for each in (again, both()):
        assert [ledger_id in each for ledger_id in range(1, 6)] == [False, False, False, False, True]
    assert disk.read(f"{second}/{FILE_NAME}") == b""


def test_they_are_forgotten_after_seven_days(disk: CrashingDisk) -> None:
    day = Day()
    deleted = opened(disk, day)
    delete(deleted, 7)
    day.day += 4
    delete(deleted, 8)
    day.day += 3
    deleted.expire()
    assert [7 in deleted, 8 in opened(disk, day)] == [True, True]
    day.day += 1
    assert [7 in deleted, 8 in deleted] == [False, True]
    deleted.expire()
    assert disk.read(PATH).split()[1:] == [b"20004", b"8"]
    delete(deleted, 9)
    again = opened(disk, day)
    assert [each in again for each in (7, 8, 9)] == [False, True, True]


@pytest.mark.parametrize("seed", range(20))
def test_a_crash_leaves_all_that_was_written_and_no_half_line(seed: int) -> None:
    disk = CrashingDisk(seed)
    disk.make_directories(DIRECTORY)
    day = Day()
    deleted = opened(disk, day)
    delete(deleted, 1, 2)
    disk.crash_at = seed % 2
    many = list(range(100, 400))
    with pytest.raises(Crashed):
        deleted.add(many)
    disk.restart()
    again = opened(disk, day)
    assert 1 in again
    assert 2 in again
    assert len({each in again for each in many}) == 1
    delete(again, 3)
    last = opened(disk, day)
    assert [each in last for each in (1, 2, 3)] == [True] * 3


def test_a_write_that_fails_is_written_again(disk: CrashingDisk) -> None:
    day = Day()
    deleted = opened(disk, day)
    delete(deleted, 1)
    disk.fail_writes(1)
    with pytest.raises(OSError, match="error"):
        deleted.add(range(100, 400))
    delete(deleted, 5)
    again = opened(disk, day)
    assert [each in again for each in (1, 5, 100)] == [True, True, False]
