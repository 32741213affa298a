from bookkeeper_tx.bookie.integrity.lost_journals import forget_marks
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark, read_last_mark, write_last_mark
from protocol_specs.disk.last_mark import file_name
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk


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
