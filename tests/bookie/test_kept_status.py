"""bookkeeper_tx.bookie.kept_status: a bookie is after a restart as an operator has left it."""

from collections.abc import Sequence

import pytest

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.kept_status import KeptStatus, read_status
from protocol_specs.disk.bookie_status import BookieStatus
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.workers import InlineWorker, SteppedWorker
from tests.conftest import result_of

SECOND = "/second/current"
PATHS = [f"{DIRECTORY}/BOOKIE_STATUS", f"{SECOND}/BOOKIE_STATUS"]


class Kept:
    """The status of a bookie that was just started, with two directories."""

    def __init__(
        self, disk: CrashingDisk, worker: InlineWorker | SteppedWorker | None = None, writes: bool = True
    ) -> None:
        self.now_s = 100.0
        self.availability = Availability()
        directories = [DIRECTORY, SECOND]
        worker = worker or InlineWorker()
        self.status = KeptStatus(disk, directories, self.availability, worker, lambda: self.now_s, writes)
        self.availability.reasons_changed = self.status.keep


@pytest.fixture
def disk(disk: CrashingDisk) -> CrashingDisk:
    disk.make_directories(SECOND)
    return disk


def lines(disk: CrashingDisk) -> Sequence[bytes]:
    return [disk.read(path) if disk.exists(path) else b"" for path in PATHS]


def test_each_change_is_written_to_each_directory(disk: CrashingDisk) -> None:
    kept = Kept(disk)
    assert lines(disk) == [b"", b""]
    kept.availability.note(Reason.DISK_FULL, True)
    assert lines(disk) == [b"1,READ_ONLY,100000,false\n"] * 2
    kept.now_s = 101.5
    kept.availability.set_manual(True)
    assert lines(disk) == [b"1,READ_ONLY,101500,true\n"] * 2
    kept.availability.note(Reason.DISK_FULL, False)
    assert lines(disk) == [b"1,READ_ONLY,101500,true\n"] * 2
    kept.availability.set_manual(False)
    assert lines(disk) == [b"1,READ_WRITE,101501,false\n"] * 2


def test_what_an_operator_has_set_is_restored_over_a_crash(disk: CrashingDisk) -> None:
    Kept(disk).availability.set_manual(True)
    disk.crash()
    disk.restart()
    kept = Kept(disk)
    result_of(kept.status.restore())
    assert kept.availability.reasons == {Reason.MANUAL}
    kept.availability.set_manual(False)
    disk.crash()
    disk.restart()
    kept = Kept(disk)
    result_of(kept.status.restore())
    assert not kept.availability.read_only


def test_a_full_disk_is_not_restored(disk: CrashingDisk) -> None:
    Kept(disk).availability.note(Reason.DISK_FULL, True)
    kept = Kept(disk)
    result_of(kept.status.restore())
    assert not kept.availability.read_only
    kept.status.keep()
    assert lines(disk) == [b"1,READ_WRITE,100001,false\n"] * 2


def test_the_newest_of_all_directories_counts(disk: CrashingDisk) -> None:
    disk.replace(PATHS[0], b"1,READ_WRITE,18,false\n")
    disk.replace(PATHS[1], b"1,READ_ONLY,19\n")
    assert read_status(disk, [DIRECTORY, SECOND]) == BookieStatus(True, 19, manual=True)
    disk.replace(PATHS[1], b"2,something new\n")
    assert read_status(disk, [DIRECTORY, SECOND]) == BookieStatus(False, 18)


def test_a_directory_that_cannot_be_written_is_passed_over(disk: CrashingDisk) -> None:
    disk.fail_opens(1)
    Kept(disk).availability.set_manual(True)
    assert lines(disk) == [b"", b"1,READ_ONLY,100000,true\n"]


def test_what_could_not_be_written_is_written_when_it_is_kept_again(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    kept = Kept(disk, worker)
    disk.fail_writes(2)
    kept.availability.set_manual(True)
    worker.run_all()
    assert lines(disk) == [b"", b""]
    kept.status.keep()
    worker.run_all()
    assert lines(disk) == [b"1,READ_ONLY,100001,true\n"] * 2
    kept.status.keep()
    assert not worker.jobs


def test_a_change_while_one_is_written_comes_after_it(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    kept = Kept(disk, worker)
    kept.availability.set_manual(True)
    kept.availability.set_manual(False)
    worker.run_all()
    assert lines(disk) == [b"1,READ_WRITE,100001,false\n"] * 2


def test_nothing_is_written_where_nothing_may_be(disk: CrashingDisk) -> None:
    Kept(disk, writes=False).availability.set_manual(True)
    assert lines(disk) == [b"", b""]
