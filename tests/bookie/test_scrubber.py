"""The local scrubber: when it runs, at what rate, and what it says."""

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.scrubber import Scrubber
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.bookie.storage.scrub import ScrubFailed
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of

LEDGERS, ENTRIES = (3, 5, 9), 100


class Bench:
    """A storage with some ledgers, and a scrubber that runs every ten seconds."""

    def __init__(self, disk: CrashingDisk, rate: float = 0.0) -> None:
        self.disk = disk
        self.storage: LedgerStorage = new_storage(disk, DIRECTORY)
        for ledger_id in LEDGERS:
            self.storage.open_for(ledger_id, KEY)
            add(self.storage, run_of(0, *[50] * ENTRIES, ledger_id=ledger_id))
        flush(self.storage)
        self.rate = rate
        self.scrub(self.storage)

    def scrub(self, storage: LedgerStorage) -> None:
        """Have a storage scrubbed."""
        self.storage = storage
        self.clock, self.thread = Clock(), SteppedWorker()
        self.fatal: list[BaseException] = []
        self.runs: list[bool] = []
        self.pages: list[bool] = []
        config: Any = {"local_scrub_interval_s": 10.0, "local_scrub_rate": self.rate}
        config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **config)
        self.scrubber = Scrubber(self.clock, config, self.storage, self.thread, self.fatal.append, chance=lambda: 0.25)
        self.scrubber.on_run = lambda took_s, succeeded: self.runs.append(succeeded)
        self.scrubber.on_page = lambda took_s, succeeded: self.pages.append(succeeded)
        self.scrubber.start()

    def run(self) -> None:
        """Let the time of a run come, and run it to its end."""
        self.clock.advance(12.5)
        self.thread.run_all()

    def damage(self, entry_id: int = 1) -> None:
        """Have an entry of the first ledger be another one's."""
        file = self.disk.open(f"{DIRECTORY}/0.log", writable=True)
        file.write(bytes(16), 1024 + 54 * entry_id + 4)

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.scrubber.error_count, self.scrubber.fatal_count, self.scrubber.retry_count


@pytest.fixture
def bench(disk: CrashingDisk) -> Bench:
    return Bench(disk)


@pytest.fixture
def errors() -> Iterator[list[Any]]:
    events: list[Any] = []

    def note(event: Any) -> None:
        if event["log_level"].name == "error":
            events.append(event)

    globalLogPublisher.addObserver(note)
    yield events
    globalLogPublisher.removeObserver(note)


def test_a_run_comes_after_each_interval_and_finds_nothing(bench: Bench) -> None:
    bench.clock.advance(12.4)
    assert not bench.thread.jobs
    bench.clock.advance(0.1)
    bench.thread.run_all()
    assert (bench.runs, len(bench.pages), all(bench.pages)) == ([True], 6, True)
    bench.run()
    assert (bench.runs, bench.counts, bench.fatal) == ([True, True], (0, 0, 0), [])


def test_what_is_wrong_is_said_and_counted_in_each_run(bench: Bench, errors: list[Any]) -> None:
    bench.damage(1)
    bench.damage(7)
    bench.run()
    assert (bench.runs, bench.counts, bench.pages.count(False)) == ([True], (2, 0, 0), 1)
    assert [(each["ledger"], each["entry"]) for each in errors] == [("3", "entry 1"), ("3", "entry 7")]
    bench.run()
    assert bench.counts == (4, 0, 0)


def test_what_another_look_does_not_find_was_not_wrong(bench: Bench) -> None:
    """As an entry that was moved to another log between the look at the index and that at the log."""
    data = bench.disk.read(f"{DIRECTORY}/0.log")
    bench.damage(1)
    bench.clock.advance(12.5)
    bench.thread.step()
    bench.damage(2)
    bench.thread.step()
    bench.disk.open(f"{DIRECTORY}/0.log", writable=True).write(data, 0)
    bench.thread.run_all()
    assert (bench.runs, bench.counts) == ([True], (0, 0, 1))


def test_a_ledger_that_is_deleted_meanwhile_is_not_wrong(bench: Bench) -> None:
    bench.damage(1)
    bench.clock.advance(12.5)
    bench.thread.execute()
    result_of(bench.storage.collection.delete_ledgers([3, 5]))
    bench.thread.run_all()
    assert (bench.runs, bench.counts) == ([True], (0, 0, 0))


def test_what_will_be_flushed_anew_is_not_wrong(bench: Bench) -> None:
    """After a crash the journal may have entries again that a flush has put into logs."""
    bench.damage(1)
    again = new_storage(bench.disk, DIRECTORY, serving=False)
    ledger, _ = again.open_for(3, KEY)
    again.replay(ledger, run_of(1, 50, ledger_id=3))
    StorageSink(again).finish()
    bench.scrub(again)
    bench.run()
    assert (bench.runs, bench.counts) == ([True], (0, 0, 0))


def test_it_keeps_to_its_rate_without_bursts(disk: CrashingDisk) -> None:
    bench = Bench(disk, rate=20.0)
    bench.clock.advance(12.5)
    looks = 0
    while not bench.runs:
        before = bench.clock.seconds()
        bench.thread.run_all()
        looks += 1
        while not (bench.thread.jobs or bench.runs):
            bench.clock.advance(0.5)
        assert bench.clock.seconds() - before <= 1.0
    assert looks >= 15
    assert bench.clock.seconds() - 12.5 >= 300 / 20


def test_a_disk_that_does_not_give_what_is_stored_is_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> object:
        raise ScrubFailed("Input/output error")

    monkeypatch.setattr(bench.storage.scrub, "look", look)
    bench.run()
    assert (bench.runs, bench.counts, len(bench.fatal)) == ([False], (0, 1, 0), 1)
    assert bench.clock.getDelayedCalls() == []


def test_a_run_without_descriptors_is_begun_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> object:
        raise StorageFailed("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(bench.storage.scrub, "look", look)
        bench.run()
    bench.run()
    assert (bench.runs, bench.counts, bench.fatal) == ([False, True], (0, 0, 0), [])


def test_a_run_that_an_unforeseen_error_ends_is_told_and_begun_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: object) -> object:
        raise IndexError("array assignment index out of range")

    events: list[Any] = []
    globalLogPublisher.addObserver(events.append)
    with monkeypatch.context() as patched:
        patched.setattr(bench.storage.scrub, "look", look)
        bench.run()
    globalLogPublisher.removeObserver(events.append)
    assert [each["log_failure"].type for each in events if "log_failure" in each] == [IndexError]
    bench.run()
    assert (bench.runs, bench.counts, bench.fatal) == ([False, True], (0, 0, 0), [])


@pytest.mark.parametrize("rate", [0.0, 20.0])
def test_a_stop_ends_a_run_after_what_is_read_now(disk: CrashingDisk, rate: float) -> None:
    bench = Bench(disk, rate)
    bench.clock.advance(12.5)
    bench.thread.execute()
    stopped = bench.scrubber.stop()
    assert not stopped.called
    bench.thread.run_all()
    result_of(stopped)
    assert (bench.runs, bench.clock.getDelayedCalls()) == ([], [])


def test_a_stop_between_two_runs(bench: Bench) -> None:
    result_of(bench.scrubber.stop())
    bench.run()
    assert (bench.runs, bench.clock.getDelayedCalls()) == ([], [])
