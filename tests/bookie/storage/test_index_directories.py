"""bookkeeper_tx.bookie.storage.index_directories: index files in several directories."""

import errno
import os
from collections.abc import Sequence
from random import Random

import pytest

from bookkeeper_tx.bookie.storage.index_directories import IndexDirectories
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.seams import KEY
from tests.bookie.storage.storages import disks_of, placed

SECOND = "/second/current"
ALL = (DIRECTORY, SECOND)
HEADER = IndexHeader(KEY)


def first(names: Sequence[str]) -> str:
    return names[0]


@pytest.fixture
def disk() -> CrashingDisk:
    return both(new_disk())


def both(disk: CrashingDisk) -> CrashingDisk:
    disk.make_directories(SECOND)
    return disk


def opened(disk: CrashingDisk, choose: object = first, *more: str) -> IndexDirectories:
    indexes = IndexDirectories(disk, disks_of(disk, *ALL, *more), 4, choose)  # type: ignore[arg-type]
    list(indexes.ledger_ids())
    return indexes


def made(ledger_id: int) -> IndexChange:
    return IndexChange(ledger_id, HEADER, [placed(0, 3)], is_new=True)


def where(disk: CrashingDisk, ledger_id: int) -> list[str]:
    return [path for path in ALL if disk.exists(LedgerIndexes(disk, path, 1).path(ledger_id))]


def test_new_files_are_spread_and_found_again(disk: CrashingDisk) -> None:
    indexes = opened(disk, Random(1).choice)
    ledger_ids = list(range(1, 41))
    written = indexes.write([made(each) for each in ledger_ids])
    assert len(written) == len(ledger_ids)
    assert {path for each in ledger_ids for path in where(disk, each)} == set(ALL)
    again = IndexDirectories(disk, disks_of(disk, *ALL), 4)
    assert sorted(again.ledger_ids()) == ledger_ids
    for each in ledger_ids:
        assert [again.path(each)] == [LedgerIndexes(disk, path, 1).path(each) for path in where(disk, each)]
        assert again.read_header(each) == HEADER
        assert again.last_entry(each) == (2, indexes.read_page(each, 0)[2])
        assert again.ranges(each, 0, 1) == [range(3)]
        assert again.next_page(each, 1) is None
    assert again.read_header(99) is None


def test_a_file_stays_where_it_was_made(disk: CrashingDisk) -> None:
    indexes = opened(disk, Random(2).choice)
    ledger_ids = list(range(1, 21))
    indexes.write([made(each) for each in ledger_ids])
    before = {each: where(disk, each) for each in ledger_ids}
    indexes.write([IndexChange(each, None, [placed(3, 2, 5000)]) for each in ledger_ids])
    assert {each: where(disk, each) for each in ledger_ids} == before
    assert {indexes.last_entry(each)[0] for each in ledger_ids} == {4}
    indexes.write_again([(each, 0) for each in ledger_ids])
    assert indexes.delete(ledger_ids) == []
    assert not any(where(disk, each) for each in ledger_ids)


def test_two_files_of_one_ledger_are_refused(disk: CrashingDisk) -> None:
    for path in ALL:
        IndexDirectories(disk, disks_of(disk, path), 1).write([made(5)])
    with pytest.raises(RefusedToStart, match=f"{DIRECTORY}/0/5/5.idx and {SECOND}/0/5/5.idx"):
        opened(disk)


def test_after_a_failed_write_new_files_are_made_elsewhere(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    indexes.write([made(1)])
    disk.broken_directories = {DIRECTORY}
    with pytest.raises(OSError, match="error"):
        indexes.write([made(2)])
    indexes.write([made(2)])
    disk.broken_directories = ()
    assert (where(disk, 1), where(disk, 2)) == ([DIRECTORY], [SECOND])
    indexes.write([IndexChange(1, None, [placed(3, 2)])])
    indexes.write([made(3)])
    assert where(disk, 3) == [DIRECTORY]


def test_a_ledger_whose_file_may_come_back_is_made_in_its_place(disk: CrashingDisk) -> None:
    """After a crash it would have two files otherwise."""
    choices = iter(ALL)
    indexes = opened(disk, lambda _: next(choices))
    indexes.write([made(1)])
    disk.fail_syncs(1)
    with pytest.raises(OSError, match="error"):
        indexes.delete([1])
    assert where(disk, 1) == []
    indexes.write([made(1)])
    assert where(disk, 1) == [DIRECTORY]
    assert indexes.delete([1]) == []
    indexes.write([made(1)])
    assert where(disk, 1) == [SECOND]


def test_a_file_that_has_its_name_already_is_made_again_in_the_same_place(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = iter(ALL)
    indexes = opened(disk, lambda _: next(choices))

    def fail(path: str) -> None:
        raise OSError(errno.EIO, "names are not on the disk", path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "sync_directory", fail)
        with pytest.raises(OSError, match="names are not on the disk"):
            indexes.write([made(1)])
    assert where(disk, 1) == [DIRECTORY]
    indexes.write([made(1)])
    assert where(disk, 1) == [DIRECTORY]


def test_a_file_that_another_directory_has_failed_beside_is_made_again_in_the_same_place(disk: CrashingDisk) -> None:
    third = "/third/current"
    disk.make_directories(third)
    choices = iter([DIRECTORY, SECOND, third, third])
    indexes = opened(disk, lambda _: next(choices), third)
    disk.broken_directories = {SECOND}
    with pytest.raises(OSError, match="Input/output"):
        indexes.write([made(1), made(2)])
    disk.rename(LedgerIndexes(disk, DIRECTORY, 1).path(1), "/away")
    disk.broken_directories = ()
    with pytest.raises(FileNotFoundError, match="the index has vanished"):
        indexes.write([made(1), made(2)])
    disk.rename("/away", LedgerIndexes(disk, DIRECTORY, 1).path(1))
    indexes.write([made(1), made(2)])
    assert [list(LedgerIndexes(disk, each, 1).ledger_ids()) for each in (DIRECTORY, SECOND, third)] == [[1], [], [2]]


def test_a_file_whose_name_was_given_by_a_rename_that_has_failed_is_made_again_in_the_same_place(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = iter(ALL)
    indexes = opened(disk, lambda _: next(choices))
    rename = disk.rename

    def fail(path: str, new_path: str) -> None:
        rename(path, new_path)
        raise OSError(errno.EIO, "it was done all the same", path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "rename", fail)
        with pytest.raises(OSError, match="all the same"):
            indexes.write([made(1)])
    disk.rename(LedgerIndexes(disk, DIRECTORY, 1).path(1), "/away")
    with pytest.raises(FileNotFoundError, match="the index has vanished"):
        indexes.write([made(1)])
    disk.rename("/away", LedgerIndexes(disk, DIRECTORY, 1).path(1))
    indexes.write([made(1)])
    assert where(disk, 1) == [DIRECTORY]


def test_a_new_file_on_a_disk_that_is_broken_then_is_made_elsewhere(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = iter(ALL)
    indexes = opened(disk, lambda _: next(choices))

    def fail(path: str) -> None:
        disk.broken_directories = {DIRECTORY}
        raise OSError(errno.EIO, "names are not on the disk", path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "sync_directory", fail)
        with pytest.raises(OSError, match="names are not on the disk"):
            indexes.write([made(1)])
    indexes.write([made(1)])
    disk.broken_directories = ()
    assert LedgerIndexes(disk, SECOND, 1).read_header(1) is not None


def test_a_move_that_a_java_bookie_has_begun_is_finished(disk: CrashingDisk) -> None:
    """It was killed before, or after, it had removed the old file."""
    indexes = opened(disk)
    indexes.write([made(1), made(2)])
    for ledger_id, is_removed in ((1, False), (2, True)):
        path = indexes.path(ledger_id)
        data, moved = disk.read(path), path.replace(DIRECTORY, SECOND)
        disk.make_directories(os.path.dirname(moved))
        file = disk.create(moved + ".rloc")
        file.write(data, 0)
        file.sync()
        disk.sync_directory(os.path.dirname(moved))
        if is_removed:
            disk.remove(path)
    again = opened(disk)
    assert (where(disk, 1), where(disk, 2)) == ([DIRECTORY], [SECOND])
    assert again.read_header(2) == HEADER
    disk.crash()
    disk.restart()
    assert opened(disk).read_header(2) == HEADER
    assert not any(name.endswith(".rloc") for name in disk._names)


def test_a_move_that_cannot_be_ended_on_a_read_only_file_system_is_said(disk: CrashingDisk) -> None:
    indexes = opened(disk)
    indexes.write([made(1)])
    path = indexes.path(1)
    disk.rename(path, path + ".rloc")
    disk.read_only = True
    with pytest.raises(RefusedToStart, match=rf"{path}.rloc is the index of a ledger .* mounted for writing"):
        opened(disk)
    disk.read_only = False
    assert opened(disk).read_header(1) == HEADER


@pytest.mark.parametrize("seed", range(150))
def test_no_crash_leaves_two_files_of_a_ledger(seed: int) -> None:
    random, disk = Random(seed), both(new_disk(seed))
    for _ in range(4):
        disk.crash_at = random.randrange(120)
        try:
            indexes = opened(disk, random.choice)
            here = set(indexes.ledger_ids())
            for _ in range(6):
                ledger_ids = random.sample(range(1, 9), 3)
                if random.random() < 0.2:
                    disk.fail_syncs(1)
                try:
                    if random.random() < 0.4:
                        here.difference_update(indexes.delete(ledger_ids) or ledger_ids)
                    else:
                        indexes.write([made(each) for each in ledger_ids if each not in here])
                        here.update(ledger_ids)
                except OSError:
                    here.difference_update(ledger_ids)
        except Crashed:
            pass
        disk.restart()
        for each in range(1, 9):
            assert len(where(disk, each)) <= 1
