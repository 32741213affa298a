import pytest

from bookkeeper_tx.bookie.integrity.lost_journals import forget_marks
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark, read_last_mark, write_last_mark
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.last_mark import file_name
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.test_several_directories import FIRST, INDEX, OK, SECOND, Started


def test_the_marks_of_journals_without_a_file_are_forgotten_and_no_others(disk: CrashingDisk) -> None:
    journals = [f"{DIRECTORY}/j{index}" for index in range(3)]
    for journal in journals:
        disk.make_directories(journal)
    for index in range(3):
        write_last_mark(disk, [DIRECTORY], LogMark(4, 512), file_name(index, 3))
    disk.replace(f"{journals[1]}/4.txn", b"a journal")
    assert forget_marks(disk, journals, [DIRECTORY]) == [f"{DIRECTORY}/{file_name(index, 3)}" for index in (0, 2)]
    disk.crash()
    disk.restart()
    marks = [read_last_mark(disk, [DIRECTORY], file_name(index, 3)) for index in range(3)]
    assert marks == [BEGINNING, LogMark(4, 512), BEGINNING]
    assert forget_marks(disk, journals, [DIRECTORY]) == []


def test_an_old_mark_is_forgotten_if_the_newer_one_is_gone_and_a_short_one_is_left(disk: CrashingDisk) -> None:
    old, short = f"{DIRECTORY}/old", f"{DIRECTORY}/short"
    for directory in (old, short):
        disk.make_directories(directory)
    write_last_mark(disk, [old], LogMark(4, 512))
    disk.replace(f"{short}/lastMark", b"half")
    disk.replace(f"{DIRECTORY}/5.txn", b"a journal")
    assert forget_marks(disk, [DIRECTORY], [old, short]) == [f"{old}/lastMark"]
    assert read_last_mark(disk, [old, short]) == BEGINNING


def test_a_bookie_starts_that_has_only_an_old_mark_left() -> None:
    disk, settings = new_disk(), {"journal_size_bytes_max": 2000, "journal_backups_max": 0}
    bookie = Started(disk, (INDEX,), **settings)
    assert bookie.add(0) == OK
    bookie.wait()
    disk.broken_directories = {FIRST}
    for entry_id in range(1, 8):
        assert bookie.add(entry_id) == OK
        for _ in range(3):
            bookie.wait()
    disk.broken_directories = ()
    assert disk.read(f"{FIRST}/lastMark") != disk.read(f"{SECOND}/lastMark")
    disk.crash()
    disk.restart()
    disk.remove(f"{SECOND}/lastMark")
    with pytest.raises(RefusedToStart):
        Started(disk, (INDEX,), **settings)
    assert f"{FIRST}/lastMark" in forget_marks(disk, [DIRECTORY], [FIRST, SECOND])
    Started(disk, (INDEX,), **settings)
