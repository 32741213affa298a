"""bookkeeper_tx.bookie.storage.conversion_state."""

from collections.abc import Sequence

import pytest

from bookkeeper_tx.bookie.directories import CONVERSION_NAME
from bookkeeper_tx.bookie.storage.conversion_state import COPYING, REMOVING, RENUMBERING, ConversionState
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.storage.several.several_storages import SECOND, two_disks

BOTH = [DIRECTORY, SECOND]


def state_of(
    disk: CrashingDisk, *directories: str, indexes: Sequence[str] = (), to: str = "DbLedgerStorage"
) -> ConversionState:
    return ConversionState(disk, directories, indexes or directories, to)


def test_it_is_there_until_the_end() -> None:
    disk = new_disk(0)
    state = state_of(disk, DIRECTORY)
    assert state.read() is None
    assert state.write(REMOVING) == REMOVING
    assert disk.read(f"{DIRECTORY}/{CONVERSION_NAME}") == b"DbLedgerStorage removing\n"
    disk.crash()
    disk.restart()
    assert state_of(disk, DIRECTORY).read() == REMOVING
    state.remove()
    disk.crash()
    disk.restart()
    assert state_of(disk, DIRECTORY).read() is None


@pytest.mark.parametrize("seed", range(8))
def test_what_a_killed_process_has_named_is_durable_once_it_was_read(seed: int) -> None:
    disk = new_disk(seed)
    disk.cuts_power, disk.crash_at = False, 4  # the sync of the directory
    with pytest.raises(Crashed):
        state_of(disk, DIRECTORY).write(COPYING)
    for cut in (disk.kill, disk.crash):
        cut()
        disk.restart()
        assert state_of(disk, DIRECTORY).read() == COPYING


def test_that_of_several_directories_has_them_and_how_far_apart_numbers_are() -> None:
    disk = two_disks()
    state = state_of(disk, *BOTH)
    state.stride = 12
    state.write(RENUMBERING)
    again = state_of(disk, *BOTH)
    assert (again.read(), again.stride) == (RENUMBERING, 12)
    assert f"DbLedgerStorage renumbering 12\n{DIRECTORY}\n{SECOND}\n".encode() in disk.read(
        f"{DIRECTORY}/{CONVERSION_NAME}"
    )
    for others in (BOTH[::-1], BOTH[:1]):
        with pytest.raises(RefusedToStart, match=f"conversion of {DIRECTORY}, {SECOND}: name these"):
            state_of(disk, *others).read()


def test_that_of_indexes_elsewhere_has_these_as_well() -> None:
    disk = two_disks()
    state_of(disk, DIRECTORY, indexes=[SECOND]).write(REMOVING)
    assert state_of(disk, DIRECTORY, indexes=[SECOND]).read() == REMOVING
    with pytest.raises(RefusedToStart, match=f"conversion of {DIRECTORY}, {SECOND}: name these"):
        state_of(disk, DIRECTORY).read()


@pytest.mark.parametrize("content", [b"SortedLedgerStorage copying\n", b"DbLedgerStorage ?\n", b"", b"\xff"])
def test_another_conversion_is_to_be_finished_first(content: bytes) -> None:
    disk = new_disk(0)
    disk.replace(f"{DIRECTORY}/{CONVERSION_NAME}", content)
    with pytest.raises(RefusedToStart, match="finish that first"):
        state_of(disk, DIRECTORY).read()
