"""bookkeeper_tx.bookie.journal: records that are acknowledged before they are synced, and what a power cut may lose."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.bookie.journal.journal import Journal, State
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk import journal as spec
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.journal.journals import FIRST_ID, Config, entry, new_journal, path_of, read_as_java, replayed
from tests.bookie.workers import SteppedWorker

FIRST_GROUP = spec.HEADER_SIZE + spec.ALIGNMENT
GROUP = spec.ALIGNMENT
"""Bytes of a group of one small entry."""


def lazy_journal(disk: CrashingDisk, **changes: Any) -> Journal:
    """Return a started journal that does not sync its groups."""
    journal = new_journal(disk, sync_data=False, **changes)
    journal.start()
    return journal


def append(journal: Journal, *entry_ids: int) -> None:
    """Write a group of each of these entries."""
    for entry_id in entry_ids:
        done: list[Any] = []
        journal.append([entry(1, entry_id)], done.append)
        assert done == [None]


def damage(disk: CrashingDisk, offset: int) -> None:
    """Zero a group's first sector, durably."""
    file = disk.open(path_of(), writable=True)
    file.write(bytes(GROUP), offset)
    file.sync()


def test_records_are_acknowledged_when_they_are_written(disk: CrashingDisk) -> None:
    journal = lazy_journal(disk)
    disk.fail_syncs(1)
    append(journal, 0, 1)
    assert journal.unsynced
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP), "what is not synced is not marked"
    assert read_as_java(disk.read(path_of())) == [(1, 0), (1, 1)]
    disk.fail_syncs(0)
    assert replayed(disk)[0] == [(1, 0), (1, 1)], "a kill loses nothing"


def test_a_sync_moves_the_mark_over_what_was_appended_before(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    journal = new_journal(disk, sync_data=False, threads=worker)
    journal.start()
    worker.step()
    journal.append([entry(1, 0)], lambda _: None)
    journal.append([entry(1, 1)], lambda _: None)
    journal.sync()
    worker.run_all()
    assert not journal.unsynced
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP + 2 * GROUP)
    disk.restart()
    assert replayed(disk)[0] == [(1, 0), (1, 1)]


@pytest.mark.parametrize("seed", range(30))
def test_a_power_cut_loses_what_was_not_synced_and_no_more(seed: int) -> None:
    disk = CrashingDisk(seed)
    disk.make_directories(path_of().rpartition("/")[0])
    journal = lazy_journal(disk)
    append(journal, 0, 1)
    journal.sync()
    append(journal, 2, 3, 4, 5)
    disk.restart()
    found, result = replayed(disk)
    assert found == [(1, entry_id) for entry_id in range(len(found))]
    assert len(found) >= 2
    append(lazy_journal(disk), 9)
    assert replayed(disk) == ([*found, (1, 9)], result.__class__(
        LogMark(FIRST_ID + 1, FIRST_GROUP + GROUP), len(found) + 1, ()
    ))  # fmt: skip


@pytest.mark.parametrize("lost", [0, 1])
def test_damage_before_a_sync_is_refused(disk: CrashingDisk, lost: int) -> None:
    journal = lazy_journal(disk)
    append(journal, 0, 1)
    journal.sync()
    append(journal, 2, 3)
    damage(disk, FIRST_GROUP + lost * GROUP)
    with pytest.raises(RefusedToStart, match=f"damaged at offset {FIRST_GROUP + lost * GROUP}: acknowledged records"):
        replayed(disk)


def test_groups_that_were_not_synced_may_be_lost_in_the_middle(disk: CrashingDisk) -> None:
    journal = lazy_journal(disk)
    append(journal, 0)
    journal.sync()
    append(journal, 1, 2, 3)
    damage(disk, FIRST_GROUP + 3 * GROUP)
    found, result = replayed(disk)
    assert found == [(1, 0), (1, 1)]
    assert result.dropped == (LogMark(FIRST_ID, FIRST_GROUP + 3 * GROUP),)
    append(lazy_journal(disk), 4)
    assert replayed(disk)[0] == [(1, 0), (1, 1), (1, 4)]


def test_a_lost_start_in_front_of_unsynced_groups_is_refused(disk: CrashingDisk) -> None:
    append(lazy_journal(disk), 0, 1)
    damage(disk, 0)
    damage(disk, spec.HEADER_SIZE)
    damage(disk, FIRST_GROUP)
    with pytest.raises(RefusedToStart, match="damaged before offset"):
        replayed(disk)


def test_a_full_file_is_synced_before_the_next_is_begun(disk: CrashingDisk) -> None:
    journal = lazy_journal(disk, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    append(journal, 0, 1, 2)
    assert journal.mark == LogMark(FIRST_ID + 2, FIRST_GROUP)
    disk.restart()
    assert replayed(disk)[0][:2] == [(1, 0), (1, 1)]


@pytest.mark.parametrize("stop", [Journal.stop, Journal.sync])
def test_a_stop_syncs_the_rest(disk: CrashingDisk, stop: Callable[[Journal], Any]) -> None:
    journal = lazy_journal(disk)
    append(journal, 0, 1)
    stop(journal)
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP + 3 * GROUP)
    disk.restart()
    assert replayed(disk)[0] == [(1, 0), (1, 1)]


def test_a_stop_syncs_what_is_being_written(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    journal = new_journal(disk, sync_data=False, threads=worker)
    journal.start()
    worker.step()
    journal.append([entry(1, 0)], lambda _: None)
    worker.execute()
    journal.stop()
    worker.run_all()
    assert journal.state is State.STOPPED
    disk.restart()
    assert replayed(disk)[0] == [(1, 0)]


def test_a_failed_sync_is_final(disk: CrashingDisk) -> None:
    errors: list[BaseException] = []
    journal = lazy_journal(disk, on_fatal=errors.append)
    append(journal, 0)
    disk.fail_syncs(1)
    journal.sync()
    assert len(errors) == 1
    assert journal.state is State.FAILED
    journal.sync()
