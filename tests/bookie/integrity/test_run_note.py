"""bookkeeper_tx.bookie.integrity.run_note: whether a kill has lost entries."""

import pytest

from bookkeeper_tx.bookie.integrity.run_note import CONTENT, NAME, RunNote
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk

PATH = f"{DIRECTORY}/{NAME}"


def killed(disk: CrashingDisk) -> None:
    disk.crash()
    disk.restart()


@pytest.mark.parametrize("journaled", [True, False])
def test_a_run_without_entries_in_the_journal_that_was_killed_is_known_whatever_the_next_one_does(
    disk: CrashingDisk, journaled: bool
) -> None:
    assert not RunNote(disk, [DIRECTORY], journaled).tells_of_loss()
    RunNote(disk, [DIRECTORY], journaled=False).write()
    killed(disk)
    next_run = RunNote(disk, [DIRECTORY], journaled)
    assert next_run.tells_of_loss()
    next_run.remove()
    killed(disk)
    assert not disk.exists(PATH)


def test_with_entries_in_the_journal_nothing_is_noted(disk: CrashingDisk) -> None:
    RunNote(disk, [DIRECTORY], journaled=True).write()
    assert not disk.exists(PATH)


@pytest.mark.parametrize("journaled", [True, False])
def test_the_note_of_a_java_bookie_counts_if_the_configuration_is_that_of_a_loss(
    disk: CrashingDisk, journaled: bool
) -> None:
    disk.replace(PATH, b"")
    note = RunNote(disk, [DIRECTORY], journaled)
    assert note.tells_of_loss() == (not journaled)
    note.remove()
    assert disk.exists(PATH) == journaled


def test_it_is_written_anew_over_that_of_a_java_bookie(disk: CrashingDisk) -> None:
    disk.replace(PATH, b"")
    RunNote(disk, [DIRECTORY], journaled=False).write()
    assert disk.read(PATH) == CONTENT


def test_a_full_disk_has_room_for_a_name(disk: CrashingDisk) -> None:
    disk.fail_writes(1)
    note = RunNote(disk, [DIRECTORY], journaled=False)
    note.write()
    killed(disk)
    assert RunNote(disk, [DIRECTORY], journaled=True).tells_of_loss()
    note.remove()
    killed(disk)
    assert not note.tells_of_loss()


@pytest.mark.parametrize("journaled", [True, False])
def test_a_loss_counts_in_any_directory_whatever_the_configuration_is_until_it_is_removed(
    disk: CrashingDisk, journaled: bool
) -> None:
    other = "/other"
    disk.make_directories(other)
    RunNote(disk, [DIRECTORY, other], journaled=True).write_loss()
    killed(disk)
    for left in (DIRECTORY, other):
        assert RunNote(disk, [left], journaled).tells_of_loss()
    RunNote(disk, [other, DIRECTORY], journaled).remove()
    killed(disk)
    assert not disk.list_directory(DIRECTORY) + disk.list_directory(other)


def test_a_run_that_was_noted_in_another_directory_than_the_first_is_known(disk: CrashingDisk) -> None:
    disk.make_directories("/new")
    RunNote(disk, [DIRECTORY], journaled=False).write()
    killed(disk)
    note = RunNote(disk, ["/new", DIRECTORY], journaled=True)
    assert note.tells_of_loss()
    note.remove()
    assert not disk.exists(PATH)
