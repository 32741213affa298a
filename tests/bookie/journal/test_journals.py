"""bookkeeper_tx.bookie.journal.journals: each record is in the journal of its ledger, and all are done together."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.bookie.journal.at_start import JournalsAtStart
from bookkeeper_tx.bookie.journal.journal import Journal, State
from bookkeeper_tx.bookie.journal.journals import Journals
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, CombinedMark, LogMark, combined, marks_of
from bookkeeper_tx.bookie.journal.records import fence_record, key_record
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.journal.journals import CLOCK_S, FIRST_ID, SALT, Config, Sink, entry
from tests.bookie.seams import KEY
from tests.bookie.workers import InlineWorker, SteppedWorker
from tests.conftest import result_of

DIRECTORIES = ["/first/current", "/second/current", "/third/current"]
LEDGER_DIRECTORY = "/ledger/current"


class Bench:
    """Three journals whose groups are written step by step."""

    def __init__(self, disk: CrashingDisk, **settings: Any) -> None:
        self.disk = disk
        self.workers = [SteppedWorker() for _ in DIRECTORIES]
        self.errors: list[BaseException] = []
        made = [
            Journal(
                disk,
                directory,
                Config(),
                threads=worker,
                on_fatal=self.errors.append,
                clock=lambda: CLOCK_S,
                salt=lambda size: SALT[:size],
                **settings,
            )
            for directory, worker in zip(DIRECTORIES, self.workers, strict=True)
        ]
        self.journals = Journals(made)
        self.at_start = JournalsAtStart(disk, DIRECTORIES, [LEDGER_DIRECTORY])
        self.done: list[Any] = []
        starting = self.journals.start(combined([BEGINNING] * 3))
        self.run_all()
        result_of(starting)

    def run_all(self) -> None:
        for worker in self.workers:
            worker.run_all()

    def append(self, *records: bytes) -> None:
        self.journals.append(records, self.done.append)

    def replayed(self) -> list[list[Any]]:
        """Return what each journal has."""
        found = []
        for directory in DIRECTORIES:
            sink = Sink()
            JournalsAtStart(self.disk, [directory], [LEDGER_DIRECTORY]).replay(BEGINNING, sink, read_only=False)
            found.append(sink.found)
        return found


@pytest.fixture
def disk(disk: CrashingDisk) -> CrashingDisk:
    for directory in (*DIRECTORIES, LEDGER_DIRECTORY):
        disk.make_directories(directory)
    return disk


@pytest.fixture
def bench(disk: CrashingDisk) -> Bench:
    return Bench(disk)


def test_a_ledger_is_in_the_journal_of_its_id_modulo_their_count(bench: Bench) -> None:
    for ledger_id in range(6):
        bench.append(key_record(ledger_id, KEY), entry(ledger_id, 0), fence_record(ledger_id))
    bench.run_all()
    assert bench.done == [None] * 6
    assert bench.replayed() == [
        [
            found
            for ledger_id in (first, first + 3)
            for found in (("key", ledger_id, KEY), (ledger_id, 0), ("fence", ledger_id))
        ]
        for first in range(3)
    ]


@pytest.mark.parametrize(
    ("ledger_id", "index"), [(join(1, 4), 1), (join(-7, 5), 2), (join(2, -1), 2), (join(2, 2**63 - 1), 1)]
)
def test_of_a_scoped_ledger_the_lower_half_counts(bench: Bench, ledger_id: int, index: int) -> None:
    bench.append(key_record(ledger_id, KEY), entry(ledger_id, 0), fence_record(ledger_id))
    bench.run_all()
    assert [len(found) for found in bench.replayed()] == [3 if each == index else 0 for each in range(3)]


def test_an_append_is_done_when_it_is_in_all_its_journals(bench: Bench) -> None:
    bench.append(entry(0, 0), entry(1, 0), entry(3, 0))
    assert bench.journals.queued_count == 2
    assert bench.journals.queued_bytes == 3 * len(entry(0, 0))
    bench.workers[0].run_all()
    assert bench.done == []
    bench.workers[1].run_all()
    assert bench.done == [None]
    assert bench.journals.queued_bytes == bench.journals.queued_count == 0


def test_without_records_it_is_done_when_all_before_is_synced(bench: Bench) -> None:
    bench.append(entry(2, 0))
    bench.append()
    bench.workers[0].run_all()
    bench.workers[1].run_all()
    assert bench.done == []
    bench.workers[2].run_all()
    assert bench.done == [None, None]


def test_what_one_journal_refuses_is_refused(bench: Bench) -> None:
    told: list[bool] = []
    bench.journals.on_failing_changed = lambda: told.append(bench.journals.failing)
    bench.append(entry(0, 0), entry(1, 0))
    bench.disk.fail_writes(1)
    bench.run_all()
    assert [type(error) for error in bench.done] == [StorageFailed]
    assert told == [True]
    bench.journals.try_again()
    bench.run_all()
    assert told == [True, False]


def test_the_marks_of_all_are_written_and_read_in_javas_files(bench: Bench) -> None:
    bench.append(entry(1, 0))
    bench.run_all()
    marks = [LogMark(FIRST_ID, 1024), LogMark(FIRST_ID, 1536), LogMark(FIRST_ID, 1024)]
    mark = bench.journals.mark
    assert mark == CombinedMark(FIRST_ID, 1024, tuple(marks[1:]))
    assert list(marks_of(mark)) == marks
    bench.at_start.write_mark(mark)
    assert bench.disk.list_directory(LEDGER_DIRECTORY) == ["lastMark.0", "lastMark.1", "lastMark.2"]
    assert bench.at_start.read_mark() == mark
    assert str(mark).count(".txn") == 3


def test_no_mark_is_written_for_a_journal_that_has_none_yet(bench: Bench) -> None:
    mark = combined([LogMark(FIRST_ID, 1024), BEGINNING, BEGINNING])
    bench.at_start.write_mark(mark)
    assert bench.disk.list_directory(LEDGER_DIRECTORY) == ["lastMark.0"]
    assert bench.at_start.read_mark() == mark


def test_each_journal_is_replayed_behind_its_own_mark(bench: Bench) -> None:
    for entry_id in range(2):
        bench.append(*(entry(ledger_id, entry_id) for ledger_id in range(3)))
        bench.run_all()
    sink = Sink()
    marks = [LogMark(FIRST_ID, 1024), LogMark(FIRST_ID, 1536), LogMark(FIRST_ID, 2048)]
    replayed = bench.at_start.replay(combined(marks), sink, read_only=False)
    assert sink.found == [(0, 0), (0, 1), (1, 1)]
    assert (replayed.entry_count, replayed.mark) == (3, bench.journals.mark)


def test_a_missing_file_of_one_journal_is_refused(bench: Bench) -> None:
    bench.at_start.write_mark(bench.journals.mark)
    bench.disk.remove(f"{DIRECTORIES[1]}/{FIRST_ID:x}.txn")
    with pytest.raises(RefusedToStart, match=f"missing: {DIRECTORIES[1]}"):
        bench.at_start.replay(bench.at_start.read_mark(), Sink(), read_only=False)


def test_old_files_of_each_journal_are_removed(bench: Bench, disk: CrashingDisk) -> None:
    again = Bench(disk)
    again.journals.short_of_space = True
    assert again.journals.short_of_space
    removing = again.journals.remove_before(again.journals.mark)
    again.run_all()
    assert result_of(removing) == [f"{directory}/{FIRST_ID:x}.txn" for directory in DIRECTORIES]
    Bench(disk)
    removed = again.at_start.give_up_old(combined([LogMark(FIRST_ID + 2, 0)] * 3), short=True)
    assert removed == [f"{directory}/{FIRST_ID + 1:x}.txn" for directory in DIRECTORIES]


def test_only_a_journal_whose_disk_is_short_gives_up_old_files_at_a_start(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bench(disk)
    bench = Bench(disk)
    free = {DIRECTORIES[0]: 10**9, DIRECTORIES[1]: 10, DIRECTORIES[2]: 10**9}
    monkeypatch.setattr(disk, "free_bytes", free.__getitem__)
    assert bench.at_start.give_up_old(bench.journals.mark, short=False) == [f"{DIRECTORIES[1]}/{FIRST_ID:x}.txn"]


@pytest.mark.parametrize("end", [Journals.stop, Journals.sync])
def test_all_are_synced_and_stopped(disk: CrashingDisk, end: Callable[[Journals], Any]) -> None:
    bench = Bench(disk, sync_data=False)
    bench.append(*(entry(ledger_id, 0) for ledger_id in range(3)))
    bench.run_all()
    assert bench.journals.unsynced
    ending = end(bench.journals)
    bench.run_all()
    assert not bench.journals.unsynced
    if ending is not None:
        result_of(ending)
        assert {journal.state for journal in bench.journals._journals} == {State.STOPPED}
    disk.restart()
    assert bench.replayed() == [[(ledger_id, 0)] for ledger_id in range(3)]


def test_a_start_fails_with_the_error_of_the_journal(disk: CrashingDisk) -> None:
    disk.fail_syncs(1)
    inline = InlineWorker()
    made = [
        Journal(disk, directory, Config(), threads=inline, on_fatal=lambda _: None, clock=lambda: CLOCK_S)
        for directory in DIRECTORIES
    ]
    with pytest.raises(StorageFailed, match="sync"):
        result_of(Journals(made).start(combined([BEGINNING] * 3)))
