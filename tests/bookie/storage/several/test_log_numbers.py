"""bookkeeper_tx.bookie.storage.several.log_numbers."""

from array import array

import pytest

from bookkeeper_tx.bookie.storage.entry_location import location, split_location
from bookkeeper_tx.bookie.storage.several.log_numbers import renumber, shift_of, shifted, stride_of
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.storage.several.several_storages import SECOND, two_disks

BOTH = (DIRECTORY, SECOND)


def put(disk: CrashingDisk, directory: str, *names: str) -> None:
    for name in names:
        disk.create(f"{directory}/{name}").close()


def names(disk: CrashingDisk) -> list[list[str]]:
    return [sorted(disk.list_directory(directory)) for directory in BOTH]


def test_no_two_logs_have_one_number_afterwards_however_often_it_is_begun() -> None:
    disk = two_disks()
    put(disk, DIRECTORY, "0.log", "b.log", "lastMark")
    put(disk, SECOND, "0.log", "1.log", "a.log128")
    stride = stride_of(disk, BOTH)
    assert stride == 12
    for _ in range(2):
        renumber(disk, BOTH, stride)
        assert names(disk) == [["0.log", "b.log", "lastId", "lastMark"], ["16.log128", "c.log", "d.log", "lastId"]]
    assert disk.read(f"{SECOND}/lastId") == b"17\n"
    page = array("Q", [0, location(1, 5000)])
    moved = shifted(page, shift_of(1, stride))
    assert moved[0] == 0
    assert split_location(moved[1]) == (13, 5000)
    assert shifted(page, shift_of(0, stride)) is page


def test_the_numbers_of_logs_that_are_gone_are_not_given_again() -> None:
    disk = two_disks()
    put(disk, DIRECTORY, "0.log")
    put(disk, SECOND, "1.log")
    disk.replace(f"{DIRECTORY}/lastId", b"?")
    disk.replace(f"{SECOND}/lastId", b"1f\n")
    assert stride_of(disk, BOTH) == 0x20


def test_numbers_that_do_not_suffice_are_refused() -> None:
    disk = two_disks()
    put(disk, SECOND, "7ffffff0.log")
    with pytest.raises(RefusedToStart, match=r"entry log 7ffffff0 .* none left"):
        stride_of(disk, BOTH)
