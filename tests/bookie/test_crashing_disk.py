"""The double must lose what a real disk may lose, and no more."""

import errno

import pytest

from bookkeeper_tx.bookie.disk import SECTOR_SIZE
from tests.bookie.crashing_disk import Crashed, CrashingDisk

SEEDS = range(40)


def _after_crash(seed: int, synced: bool, named: bool, lie: bool = False) -> bytes | None:
    disk = CrashingDisk(seed)
    disk.make_directories("/d")
    disk.syncs_lie = lie
    file = disk.create("/d/a")
    file.write(b"x" * 3 * SECTOR_SIZE, 0)
    if synced:
        file.sync()
    if named:
        disk.sync_directory("/d")
    disk.restart()
    with pytest.raises(Crashed):
        file.read(1, 0)
    return disk.read("/d/a") if disk.exists("/d/a") else None


def test_what_was_synced_stays() -> None:
    assert {_after_crash(seed, synced=True, named=True) for seed in SEEDS} == {b"x" * 3 * SECTOR_SIZE}


def test_a_name_that_was_not_synced_may_be_gone() -> None:
    assert {_after_crash(seed, synced=True, named=False) for seed in SEEDS} == {None, b"x" * 3 * SECTOR_SIZE}


def test_bytes_that_were_not_synced_survive_by_the_sector() -> None:
    left = {_after_crash(seed, synced=False, named=True) for seed in SEEDS}
    assert None not in left
    sectors = [each.ljust(3 * SECTOR_SIZE, b"\0") for each in left if each is not None]
    assert len(set(sectors)) > 4
    for each in sectors:
        assert all(len(set(each[at : at + SECTOR_SIZE])) == 1 for at in range(0, len(each), SECTOR_SIZE))


def test_a_lying_sync_keeps_nothing() -> None:
    assert len({_after_crash(seed, synced=True, named=True, lie=True) for seed in SEEDS}) > 2


def test_a_removed_name_may_come_back() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = CrashingDisk(seed)
        disk.make_directories("/d")
        disk.replace("/d/a", b"1")
        disk.remove("/d/a")
        disk.restart()
        outcomes.add(disk.exists("/d/a"))
    assert outcomes == {False, True}


def test_the_power_fails_in_the_middle() -> None:
    disk = CrashingDisk()
    disk.make_directories("/d")
    disk.crash_at = 1
    file = disk.create("/d/a")
    with pytest.raises(Crashed):
        file.write(b"x", 0)
    with pytest.raises(Crashed):
        disk.create("/d/b")
    disk.restart()
    disk.replace("/d/b", b"y")
    assert disk.read("/d/b") == b"y"


def test_a_full_disk_takes_what_fits() -> None:
    disk = CrashingDisk()
    disk.make_directories("/d")
    file = disk.create("/d/a")
    disk.capacity = 10
    with pytest.raises(OSError, match="space"):
        file.write(b"x" * 11, 0)
    file.write(b"x" * 10, 0)
    file.write(b"y" * 10, 0)
    assert (disk.free_bytes("/d"), disk.read("/d/a")) == (0, b"y" * 10)


def test_a_sync_that_failed_makes_the_next_one_lie() -> None:
    left = set()
    for seed in SEEDS:
        disk = CrashingDisk(seed)
        disk.make_directories("/d")
        disk.replace("/d/a", bytes(3 * SECTOR_SIZE))
        file = disk.open("/d/a", writable=True)
        file.write(b"x" * 3 * SECTOR_SIZE, 0)
        disk.fail_syncs(1)
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        file.sync()
        assert file.read(1, 0) == b"x"
        disk.restart()
        left.add(disk.read("/d/a"))
    assert len(left) > 2


def test_a_killed_process_loses_nothing_until_the_power_fails() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = CrashingDisk(seed)
        disk.make_directories("/d")
        disk.crash_at, disk.cuts_power = 2, False
        file = disk.create("/d/a")
        file.write(b"x", 0)
        with pytest.raises(Crashed):
            file.write(b"y", 1)
        disk.restart()
        with pytest.raises(Crashed):
            file.read(1, 0)
        assert disk.read("/d/a") == b"xy"
        disk.crash()
        disk.restart()
        outcomes.add(disk.exists("/d/a"))
    assert outcomes == {False, True}


def test_any_operation_may_fail_from_a_step_on() -> None:
    disk = CrashingDisk()
    disk.make_directories("/d")
    disk.fail_from(1, 2, errno.ENOSPC)
    file = disk.create("/d/a")
    with pytest.raises(OSError, match="space"):
        file.write(b"x", 0)
    with pytest.raises(OSError, match="space"):
        disk.create("/d/b")
    disk.create("/d/b")


def test_a_lock_is_held_until_it_is_closed() -> None:
    disk = CrashingDisk()
    disk.make_directories("/d")
    lock = disk.lock("/d/lock")
    with pytest.raises(BlockingIOError):
        disk.lock("/d/lock")
    lock.close()
    disk.lock("/d/lock")
    disk.kill()
    disk.restart()
    lock = disk.lock("/d/lock")
    lock.close()
