from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.garbage.counted_logs import MEMORY_BYTES_MAX
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.errors import MetadataCorrupt, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.model import LedgerState
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.garbage.bookies import ELSEWHERE, OPEN, TIME_S, Bench
from tests.bookie.seams import SCOPED, entry
from tests.bookie.workers import SteppedWorker
from tests.conftest import result_of


@pytest.fixture
def bench(disk: CrashingDisk) -> Bench:
    return Bench(disk)


# Garbage ledgers -----------------------------------------------------------------------------------------------------


def test_ledgers_that_the_store_does_not_know_are_deleted_with_their_logs(bench: Bench) -> None:
    for ledger_id in (1, 2, SCOPED, SCOPED + 1):
        bench.stored(ledger_id, 1000, 1000)
    bench.delete(2, SCOPED)
    assert bench.logs == ["0.log", "1.log", "2.log128", "3.log128"]
    bench.collect()
    assert bench.here == [1, SCOPED + 1]
    assert bench.logs == ["0.log", "3.log128"]
    status = bench.collector.status
    assert (status.deleted_ledger_count, status.deleted_log_count, status.ledger_count) == (2, 2, 2)
    assert status.reclaimed_deletion_bytes > 4000
    assert (status.last_error, status.running, status.collection_count) == ("", False, 1)
    assert bench.entries(1, [0, 1]) == [entry(each, 1000, 1) for each in (0, 1)]


def test_a_log_with_one_ledger_left_stays(bench: Bench) -> None:
    bench.stored(1, 100)
    bench.stored(2, 1000, 1000)
    bench.stored(3, 1000)
    bench.delete(2)
    bench.collect()
    assert bench.logs == ["0.log", "1.log"]
    bench.delete(1)
    bench.collect()
    assert bench.logs == ["1.log"]


def test_each_ledger_is_looked_up_once_more(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.stored(2, 1000, 1000)
    bench.store.listed = []
    bench.delete(2)
    bench.collect()
    assert bench.here == [1]
    assert bench.store.calls == ["list", ("read", 1), ("read", 2)]


@pytest.mark.parametrize("where", ["error", "read_error"])
def test_nothing_is_deleted_while_the_store_does_not_answer(bench: Bench, where: str) -> None:
    bench.stored(1, 1000)
    bench.stored(2, 1000)
    bench.delete(1, 2)
    setattr(bench.store, where, MetadataUnavailable("away"))
    bench.collect()
    assert bench.here == [1, 2]
    assert bench.collector.status.last_error == "away"
    setattr(bench.store, where, None)
    bench.collect()
    assert bench.here == []


def test_a_record_that_cannot_be_understood_is_no_garbage(bench: Bench) -> None:
    bench.stored(1, 1000)
    bench.store.listed = []
    bench.store.read_error = MetadataCorrupt("rubbish")
    bench.collect()
    assert bench.here == [1]


@pytest.mark.parametrize(("name", "value"), [("instance", "another"), ("instance", None), ("cookie", None)])
def test_a_store_that_was_emptied_or_replaced_tells_nothing(bench: Bench, name: str, value: str | None) -> None:
    bench.stored(1, 1000)
    bench.delete(1)
    setattr(bench.store, name, value)
    bench.collect()
    assert bench.here == [1]
    assert "no ledger is deleted" in bench.collector.status.last_error


def test_a_ledger_that_comes_while_the_store_lists_is_not_looked_at(bench: Bench) -> None:
    bench.stored(1, 1000)
    bench.store.listed = []
    listing = bench.store.list_ledgers

    def list_late(scope_id: int | None = 0) -> object:
        bench.stored(2, 1000)
        return listing(scope_id)

    bench.store.list_ledgers = list_late  # type: ignore[assignment]
    bench.collect()
    assert ("read", 2) not in bench.store.calls
    assert bench.here == [1, 2]


def test_lookups_keep_to_their_rate(disk: CrashingDisk) -> None:
    bench = Bench(disk, gc_metadata_rate=64)
    for ledger_id in range(130):
        bench.stored(ledger_id, 45)
    bench.store.ledgers = {}
    done = bench.collector.force()
    for reads in (64, 128, 130):
        assert len(bench.store.calls) == 1 + reads
        bench.wait(1)
    bench.wait(1)
    result_of(done)
    assert bench.here == []


# Ledgers that are elsewhere ------------------------------------------------------------------------------------------


def elsewhere(disk: CrashingDisk) -> Bench:
    bench = Bench(disk, gc_overreplicated_wait_s=100.0)
    bench.stored(1, 1000)
    bench.stored(2, 1000, metadata=ELSEWHERE)
    bench.stored(3, 1000, metadata=ELSEWHERE.with_state(LedgerState.OPEN))
    bench.stored(SCOPED, 1000, metadata=ELSEWHERE)
    return bench


def test_closed_ledgers_that_no_ensemble_has_here_go_after_java_s_interval(disk: CrashingDisk) -> None:
    bench = elsewhere(disk)
    bench.collect()
    assert bench.here == [1, 2, 3, SCOPED]
    bench.clock.advance(101)
    bench.collect()
    assert bench.here == [1, 3]
    assert bench.collector.status.overreplicated_ledger_count == 2
    assert [each for each in bench.store.calls if each[0] in ("lock", "unlock")] == [
        ("lock", 2), ("unlock", 2), ("lock", SCOPED), ("unlock", SCOPED),
    ]  # fmt: skip
    bench.stored(4, 1000, metadata=ELSEWHERE)
    bench.collect()
    assert bench.here == [1, 3, 4]


def test_what_somebody_copies_here_stays(disk: CrashingDisk) -> None:
    bench = elsewhere(disk)
    bench.store.locked = {2}
    bench.clock.advance(101)
    bench.collect()
    assert bench.here == [1, 2, 3]
    assert ("unlock", 2) not in bench.store.calls


def test_under_the_lock_it_is_looked_again(disk: CrashingDisk) -> None:
    bench = elsewhere(disk)
    bench.store.on_lock = lambda: bench.store.ledgers.update({2: OPEN})
    bench.clock.advance(101)
    bench.collect()
    assert bench.here == [1, 2, 3]
    assert ("unlock", 2) in bench.store.calls


def test_an_interval_of_zero_means_never(disk: CrashingDisk) -> None:
    bench = Bench(disk, gc_overreplicated_wait_s=0.0)
    bench.stored(1, 1000, metadata=ELSEWHERE)
    bench.clock.advance(10**6)
    bench.collect()
    assert bench.here == [1]


# Logs ----------------------------------------------------------------------------------------------------------------


def test_a_log_that_cannot_be_read_to_its_end_stays(bench: Bench) -> None:
    """With a header that says another place for the map, Java deleted logs with live ledgers (BK#4607)."""
    bench.stored(1, 1000, 1000)
    bench.stored(2, 1000, 1000)
    bench.stored(3, 1000)
    bench.delete(1, 2)
    file = bench.disk.open(f"{DIRECTORY}/1.log", writable=True)
    file.write(b"\xff" * 40, 2028)
    file.write(b"\xff" * 8, file.size() - 8)  # in the map
    bench.collect()
    bench.collect()
    assert bench.logs == ["1.log", "2.log"]
    assert bench.collector.status.unreadable_logs == ("1.log",)


def test_a_header_with_a_wrong_map_offset_loses_no_live_log(bench: Bench) -> None:
    bench.stored(1, 1000)
    bench.stored(2, 900)
    bench.stored(3, 1000)
    bench.delete(1)
    bench.disk.open(f"{DIRECTORY}/0.log", writable=True).write((1024).to_bytes(8, "big"), 8)
    bench.collect()
    assert bench.logs == ["0.log", "1.log"]
    assert bench.entries(2, [0]) == [entry(0, 900, 2)]


def test_a_log_that_cannot_be_removed_is_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stored(1, 1000, 1000)
    bench.stored(2, 1000)
    bench.delete(1)

    def fail(_: object, path: str) -> None:
        raise OSError(5, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(LedgerDirectories, "remove", fail)
        bench.collect()
    assert bench.logs == ["0.log", "1.log"]
    assert bench.collector.status.failed_log_count == 1
    bench.collect()
    assert bench.logs == ["1.log"]


def test_logs_of_ledgers_deleted_before_go_while_the_store_is_away(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.stored(2, 1000)
    result_of(bench.storage.collection.delete_ledgers([1]))
    bench.store.error = MetadataUnavailable("away")
    bench.collect()
    assert bench.logs == ["1.log"]


# Compaction ----------------------------------------------------------------------------------------------------------


def fragmented(bench: Bench) -> None:
    """Have a log of which 20 %, and one of which 80 % are garbage."""
    bench.stored(1, 90)
    bench.stored(2, 350)
    bench.stored(3, 350)
    bench.stored(4, 350)
    bench.stored(5, 350)
    bench.stored(6, 1000, 1000)
    bench.stored(7, 400)
    bench.stored(8, 2550)


def test_a_minor_compaction_rewrites_nearly_empty_logs(bench: Bench) -> None:
    fragmented(bench)
    bench.delete(2, 3, 4, 5)
    bench.collect(minor=True)
    assert bench.here == [1, 6, 7, 8]
    assert "0.log" not in bench.logs
    status = bench.collector.status
    assert (status.minor_count, status.major_count, status.moved_entry_count) == (1, 0, 1)
    assert status.last_minor_s == TIME_S
    assert status.reclaimed_compaction_bytes > 1400
    assert bench.entries(1, [0]) == [entry(0, 90, 1)]
    bench.collect(minor=True)
    assert bench.collector.status.moved_entry_count == 1


def test_a_major_compaction_rewrites_logs_with_some_garbage(bench: Bench) -> None:
    fragmented(bench)
    bench.delete(2, 7)
    bench.collect(minor=True)
    assert bench.collector.status.moved_entry_count == 0
    bench.collect(major=True)
    assert bench.collector.status.moved_entry_count == 4
    assert bench.entries(6, [0, 1]) == [entry(each, 1000, 6) for each in (0, 1)]
    for ledger_id, size in ((1, 90), (3, 350), (4, 350), (5, 350)):
        assert bench.entries(ledger_id, [0]) == [entry(0, size, ledger_id)]


def test_what_is_left_of_logs_is_told_and_how_many_of_them_were_compacted(bench: Bench) -> None:
    fragmented(bench)
    bench.collect()
    status = bench.collector.status
    assert (status.log_usages, status.compaction_found_count) == ((9,) * status.log_count, 0)
    whole = status.remaining_bytes
    bench.delete(2, 3, 4, 5)
    bench.collect(major=True)
    assert status.log_usages[0] == 0
    assert whole - status.remaining_bytes == 4 * (350 + RECORD_LENGTH_SIZE)
    assert status.compaction_done_count == 1 < status.compaction_found_count == len(status.log_usages)


def test_scoped_entries_are_compacted(bench: Bench) -> None:
    for number in range(4):
        bench.stored(SCOPED + number, 900)
    bench.delete(SCOPED + 1)
    bench.collect(major=True)
    assert bench.collector.status.moved_entry_count == 1
    assert bench.entries(SCOPED, [0]) == [entry(0, 900, SCOPED)]


def test_unless_configured_compactions_come_every_hour_and_every_day() -> None:
    config = BookieConfig(metadata_uri="", journal_directory=DIRECTORY, ledger_directory=DIRECTORY)
    assert (config.minor_compaction_interval_s, config.major_compaction_interval_s) == (60 * 60, 24 * 60 * 60)


def test_compactions_come_by_their_intervals(disk: CrashingDisk) -> None:
    bench = Bench(disk, minor_compaction_interval_s=100.0, major_compaction_interval_s=1000.0)
    status = bench.collector.status
    bench.collector.start()
    bench.wait(95)
    assert status.collection_count >= 9
    assert (status.minor_count, status.major_count) == (0, 0)
    bench.wait(20)
    assert (status.minor_count, status.major_count) == (1, 0)
    bench.wait(910)
    assert status.major_count == 1
    assert status.minor_count in (8, 9)
    assert status.last_major_s == status.last_minor_s


@pytest.mark.parametrize(
    "off",
    [
        {"minor_compaction_threshold": 0.0, "major_compaction_threshold": -1.0},
        {"minor_compaction_interval_s": 0.0, "major_compaction_interval_s": -1.0},
    ],
)
def test_compactions_are_disabled_by_a_threshold_or_an_interval(disk: CrashingDisk, off: dict[str, float]) -> None:
    bench = Bench(disk, **off)
    fragmented(bench)
    bench.delete(2, 3, 4, 5)
    bench.collector.start()
    bench.clock.pump([10.0] * 20_000)
    assert "0.log" in bench.logs
    assert (bench.collector.status.minor_count, bench.collector.status.major_count) == (0, 0)


def test_suspended_compactions_wait_until_they_are_resumed(bench: Bench) -> None:
    fragmented(bench)
    bench.delete(2, 3, 4, 5)
    bench.collector.suspend(major=True, minor=True)
    bench.collect(major=None, minor=None)
    assert "0.log" in bench.logs
    bench.collector.resume(minor=True)
    assert (bench.collector.status.major_suspended, bench.collector.status.minor_suspended) == (True, False)
    bench.collect(major=None, minor=None)
    assert (bench.collector.status.minor_count, bench.collector.status.major_count) == (1, 0)


def test_without_a_word_a_forced_collection_makes_a_major_compaction(bench: Bench) -> None:
    fragmented(bench)
    bench.delete(2)
    bench.collect(major=None, minor=None)
    assert bench.collector.status.major_count == 1


@pytest.mark.parametrize("force_when_full", [True, False])
def test_a_full_disk_is_not_compacted_unless_that_is_configured(disk: CrashingDisk, force_when_full: bool) -> None:
    bench = Bench(disk, force_gc_when_full=force_when_full)
    fragmented(bench)
    bench.delete(2, 3, 4, 5)
    bench.look(0.01)
    bench.collect(major=True)
    assert ("0.log" in bench.logs) is not force_when_full
    bench.look(0.08)
    bench.collect(minor=True)
    assert "0.log" not in bench.logs


@pytest.mark.parametrize("reserve", ["entry_log_free_bytes_min", "index_file_free_bytes_min"])
def test_a_compaction_of_a_full_disk_needs_the_reserve_for_it(disk: CrashingDisk, reserve: str) -> None:
    bench = Bench(disk, force_gc_when_full=True, **{reserve: 2000})
    fragmented(bench)
    bench.delete(2, 3, 4, 5)
    for free, compacted in ((0.01, False), (0.03, True)):
        bench.look(free)
        bench.collect(major=True)
        assert ("0.log" not in bench.logs) is compacted


def test_garbage_goes_at_once_when_the_disk_is_full(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.delete(1)
    bench.collector.start()
    bench.collector.disk_filled()
    assert bench.here == []


def test_a_disk_that_is_full_at_the_start_needs_room_at_once(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.delete(1)
    bench.look(0.01)
    bench.collector.start()
    assert bench.here == []
    assert bench.collector.status.collection_count == 1
    bench.wait(11)
    assert bench.collector.status.collection_count == 2


def test_a_log_whose_index_is_broken_is_given_up_after_some_tries(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try leaves another copy of its first entries."""
    for ledger_id in (1, 2, 3):
        bench.stored(ledger_id, 500)
    bench.stored(9, 3000)
    bench.delete(2)
    opened = bench.disk.open

    def fail(path: str, writable: bool = False) -> File:
        if writable and path.endswith("/1.idx"):
            raise OSError(5, "broken", path)
        return opened(path, writable)

    monkeypatch.setattr(bench.disk, "open", fail)
    for _ in range(6):
        bench.collect(major=True)
    assert bench.collector.status.failed_log_count == 3
    assert "0.log" in bench.logs
    assert bench.entries(1, [0]) == [entry(0, 500, 1)]


def test_an_error_that_nobody_expects_is_told(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.stored(2, 1000)
    result_of(bench.storage.collection.delete_ledgers([1]))
    bench.store.error = ValueError("what is this?")
    with capture_logs("a garbage collection has failed") as told:
        bench.collect()
    assert len(told) == 1
    assert bench.collector.status.last_error == "ValueError('what is this?')"
    assert bench.logs == ["1.log"]


def test_each_log_that_goes_is_told(bench: Bench) -> None:
    fragmented(bench)
    bench.delete(2, 3, 4, 5, 6)
    with capture_logs("removed entry log") as told:
        bench.collect(minor=True)
    assert len(told) == bench.collector.status.deleted_log_count > 1


@contextmanager
def capture_logs(start: str) -> Iterator[list[Any]]:
    """Collect the events whose format starts so."""
    events: list[Any] = []

    def observe(event: Any) -> None:
        if event.get("log_format", "").startswith(start):
            events.append(event)

    globalLogPublisher.addObserver(observe)
    try:
        yield events
    finally:
        globalLogPublisher.removeObserver(observe)


@pytest.mark.parametrize("by_bytes", [True, False])
def test_a_compaction_keeps_to_its_rate(disk: CrashingDisk, by_bytes: bool) -> None:
    rate = {"compaction_rate_bytes": 450, "compaction_by_bytes": True} if by_bytes else {"compaction_rate_entries": 10}
    bench = Bench(disk, entry_log_bytes_max=20_000, **rate)
    bench.stored(1, *[41] * 100)
    bench.stored(2, 10_000)
    bench.stored(3, 10_000)
    bench.delete(2)
    bench.collector.force(major=True)
    moved = []
    for _ in range(12):
        moved.append(sum(each[0] > 0 for each in locations(bench, 1, 100)))
        bench.wait(1)
    assert moved[:3] == [10, 20, 30]
    assert moved[-2:] == [100, 100]
    assert bench.collector.status.major_count == 1
    assert bench.entries(1, range(100)) == [entry(each, 41, 1) for each in range(100)]


def locations(bench: Bench, ledger_id: int, count: int) -> list[tuple[int, int]]:
    from bookkeeper_tx.bookie.storage.entry_location import split_location

    page = bench.storage.indexes.read_page(ledger_id, 0)
    return [split_location(each) for each in page[:count]]


def test_a_time_limit_ends_a_compaction_between_two_logs(disk: CrashingDisk) -> None:
    bench = Bench(disk, compaction_rate_entries=1, minor_compaction_s_max=0.5)
    fragmented(bench)
    bench.stored(9, 90)
    bench.stored(10, 2000)
    bench.stored(11, 2000)
    bench.delete(2, 3, 4, 5, 10)
    bench.collector.force(major=False, minor=True)
    bench.wait(5)
    assert bench.collector.status.moved_entry_count == 1
    assert bench.collector.status.minor_count == 1


def test_one_log_that_fails_does_not_stop_the_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fragmented(bench)
    bench.stored(9, 90)
    bench.stored(10, 2000)
    bench.stored(11, 2000)
    bench.delete(2, 3, 4, 5, 10)
    mover, failed = bench.storage.collection._mover, []
    move = mover.move

    def fail_once(found: object, is_here: object) -> object:
        if not failed:
            failed.append(found)
            raise OSError(28, "full")
        return move(found, is_here)  # type: ignore[arg-type]

    monkeypatch.setattr(mover, "move", fail_once)
    bench.collect(minor=True)
    status = bench.collector.status
    assert (status.failed_log_count, status.moved_entry_count, status.deleted_log_count) == (1, 1, 1)
    bench.collect(minor=True)
    assert status.moved_entry_count == 2


def test_small_logs_count_as_full_ones_if_that_is_configured() -> None:
    for use_target, moved in ((False, 0), (True, 1)):
        bench = Bench(new_disk(), use_target_entry_log_size=use_target)
        bench.stored(1, 300)
        bench.stored(2, 3000)
        bench.stored(3, 3000)
        bench.collect(minor=True)
        assert bench.collector.status.moved_entry_count == moved


# Lifecycle -----------------------------------------------------------------------------------------------------------


def test_it_collects_when_it_is_time(bench: Bench) -> None:
    bench.stored(1, 1000)
    bench.delete(1)
    bench.collector.start()
    bench.clock.advance(9.9)
    assert bench.here == [1]
    bench.clock.advance(0.2)
    assert bench.here == []
    bench.stored(2, 1000)
    bench.delete(2)
    bench.clock.advance(10)
    assert bench.here == []
    status = bench.collector.status
    assert (status.last_begun_s, status.last_duration_s) == (TIME_S + 20.1, 0.0)


def test_a_second_force_waits_for_the_first(disk: CrashingDisk) -> None:
    bench = Bench(disk, gc_metadata_rate=1)
    bench.stored(1, 1000)
    bench.worker = SteppedWorker()
    bench.collector = bench.new_collector()
    first, second = bench.collector.force(False, False), bench.collector.force(False, False)
    assert bench.collector.status.forced
    assert bench.store.calls == ["list"]
    bench.worker.run_all()
    result_of(first)
    assert bench.store.calls == ["list", "list"]
    bench.worker.run_all()
    result_of(second)
    assert bench.collector.status.collection_count == 2


def test_those_that_wait_are_one_with_the_greatest_compaction(disk: CrashingDisk) -> None:
    bench = Bench(disk)
    bench.stored(1, 1000)
    bench.worker = SteppedWorker()
    bench.collector = bench.new_collector()
    status = bench.collector.status
    bench.collector.disk_filled()
    assert not status.forced
    waiting = [bench.collector.force(False, minor) for minor in (False, True, False)]
    waiting += [bench.collector.force(True, False), bench.collector.force(False, False)]
    assert status.forced
    bench.worker.run_all()
    for each in waiting:
        result_of(each)
    assert (status.collection_count, status.major_count, status.minor_count) == (2, 1, 0)
    assert not status.forced


def test_those_that_wait_end_with_a_stop(disk: CrashingDisk) -> None:
    bench = Bench(disk)
    bench.stored(1, 1000)
    bench.worker = SteppedWorker()
    bench.collector = bench.new_collector()
    waiting = [bench.collector.force() for _ in range(3)]
    bench.collector.stop()
    bench.worker.run_all()
    for each in waiting:
        result_of(each)
    assert bench.collector.status.collection_count == 1


def test_a_stop_waits_for_the_piece_under_way_and_nothing_more(disk: CrashingDisk) -> None:
    bench = Bench(disk, compaction_rate_entries=1)
    fragmented(bench)
    bench.stored(1, 90, 90, first=1)
    bench.delete(2, 3, 4, 5)
    bench.collector.start()
    bench.collector.force(major=False, minor=True)
    bench.collector.force(major=False, minor=True)
    assert bench.collector.status.minor_running
    stopped = bench.collector.stop()
    result_of(stopped)
    assert not bench.collector.status.running
    assert not bench.clock.getDelayedCalls()
    result_of(bench.collector.force())
    assert bench.collector.status.collection_count == 1
    assert bench.entries(1, [0]) == [entry(0, 90, 1)]


def test_a_stop_does_not_wait_long_for_the_store_and_nothing_is_deleted_after_it(bench: Bench) -> None:
    bench.stored(1, 1000, 1000)
    bench.delete(1)
    answer: Deferred[Any] = Deferred()
    bench.store.read_ledger = lambda ledger_id: answer  # type: ignore[method-assign]
    bench.collector.force()
    stopped = bench.collector.stop()
    bench.clock.advance(1.9)
    assert not stopped.called
    bench.clock.advance(0.2)
    result_of(stopped)
    answer.errback(NoSuchLedger())
    assert bench.here == [1]
    assert not bench.clock.getDelayedCalls()


def test_an_unexpected_error_is_kept_and_the_next_collection_comes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.stored(1, 1000, 1000)
    bench.delete(1)
    with monkeypatch.context() as patched:
        patched.setattr(bench.storage.collection, "finished_logs", lambda: 1 / 0)
        bench.collect()
    assert "ZeroDivisionError" in bench.collector.status.last_error
    bench.collect()
    assert (bench.logs, bench.collector.status.last_error) == ([], "")


def test_collectors_of_several_directories_know_as_many_ledgers_of_logs_as_one(bench: Bench) -> None:
    collector = bench.new_collector(sharer_count=4)
    assert collector._logs._memory_bytes_max == MEMORY_BYTES_MAX // 4
