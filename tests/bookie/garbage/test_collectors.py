"""bookkeeper_tx.bookie.garbage.collectors."""

from typing import Any

from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.bookie.garbage.collectors import GarbageCollectors, together
from bookkeeper_tx.bookie.garbage.status import GarbageStatus


class Collector:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.status = GarbageStatus()
        self.told: list[Any] = []
        self.ended: Deferred[None] = Deferred()

    def start(self) -> None:
        self.told.append("start")

    def stop(self) -> Deferred[None]:
        return succeed(self.told.append("stop"))

    def force(self, major: bool | None, minor: bool | None) -> Deferred[None]:
        self.told.append((major, minor))
        return self.ended

    def suspend(self, major: bool, minor: bool) -> None:
        self.told.append(("suspend", major, minor))

    def resume(self, major: bool, minor: bool) -> None:
        self.told.append(("resume", major, minor))

    def disk_filled(self) -> None:
        self.told.append("filled")


def test_each_is_told_and_a_collection_ends_with_the_last() -> None:
    each: Any = Collector(), Collector()
    collectors = GarbageCollectors(each)
    collectors.start()
    ended = collectors.force(True, None)
    collectors.suspend(minor=True)
    collectors.resume(major=True)
    collectors.disk_filled()
    assert collectors.stop().called
    expected = ["start", (True, None), ("suspend", False, True), ("resume", True, False), "filled", "stop"]
    assert each[0].told == each[1].told == expected
    each[0].ended.callback(None)
    assert not ended.called
    each[1].ended.callback(None)
    assert ended.called


def test_their_status_is_that_of_all() -> None:
    each: Any = Collector(), Collector()
    collectors = GarbageCollectors(each)
    first, second = collectors.statuses
    first.deleted_ledger_count, second.deleted_ledger_count = 3, 4
    first.forced = True
    second.last_major_s = 5.0
    first.last_minor_s, second.last_minor_s = 7.0, 6.0
    second.last_error = "the disk is full"
    first.unindexed_logs, second.unindexed_logs = ("0.log",), ("0.log", "1.log")
    status = collectors.status
    assert (status.deleted_ledger_count, status.forced, status.running) == (7, True, False)
    assert (status.last_major_s, status.last_minor_s, status.last_begun_s) == (5.0, 7.0, None)
    assert (status.last_error, status.unindexed_logs) == ("the disk is full", ("0.log", "0.log", "1.log"))


def test_that_of_one_is_its_own() -> None:
    status = GarbageStatus(running=True, major_count=2, last_error="away", last_ended_s=1.5)
    assert together([status]) == status
