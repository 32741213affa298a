"""bookkeeper_tx.bookie.operations.add_entry: order of the checks, of the records, and of reply and sync."""

import weakref
from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.wire import status as statuses
from tests.bookie.seams import (
    EIO,
    FENCE_RECORD,
    KEY_RECORD,
    LEDGER,
    OTHER_KEY,
    Add,
    Client,
    Force,
    MemoryJournal,
    MemoryStorage,
    open_brake,
    run_of,
    watch_of,
)


class Bench:
    def __init__(self, read_only: bool = False, journals_entries: bool = True) -> None:
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), Client()
        self.availability = Availability(read_only)
        parts: Any = (self.storage, self.journal, LedgerKeys(self.storage))  # type: ignore[arg-type]
        self.force = ForceLedger(self.journal)  # type: ignore[arg-type]
        self.clock = Clock()
        self.watch = watch_of(self.clock)
        self.add_entry = AddEntry(*parts, self.availability, self.force, self.watch, journals_entries)
        self.fencing = Fencing(*parts, self.watch, open_brake())

    def add(self, *args: Any, **kwargs: Any) -> list[Any]:
        self.add_entry.serve(Add(*args, **kwargs), self.client)  # type: ignore[arg-type]
        return self.client.take()

    def ask_force(self) -> list[Any]:
        self.force.serve(Force(), self.client)  # type: ignore[arg-type]
        return self.client.take()

    def fence(self) -> list[Any]:
        outcomes: list[Any] = []
        self.fencing.fence(LEDGER, Add(run_of(0, 41)).master_key, self.client, outcomes.append)
        return outcomes


def test_an_add_is_acknowledged_after_the_sync_and_not_before() -> None:
    bench = Bench()
    run = run_of(0, 41, 50)
    assert bench.add(run) == []
    assert bench.storage.cached_run(LEDGER, 1) is run
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, run.buffer]


def test_the_key_record_goes_with_every_change_until_one_is_synced() -> None:
    bench = Bench()
    first, second, third = run_of(0, 41), run_of(1, 41), run_of(2, 41)
    bench.add(first)
    bench.add(second)
    bench.journal.sync()
    bench.add(third)
    bench.journal.sync()
    assert bench.journal.records == [KEY_RECORD, first.buffer, KEY_RECORD, second.buffer, third.buffer]


def test_what_is_synced_of_a_ledger_holds_its_key_when_the_group_that_made_it_failed() -> None:
    bench = Bench()
    bench.add(run_of(0, 41))
    second = run_of(1, 41)
    bench.add(second)
    bench.journal.sync(1, EIO)
    bench.journal.sync(1)
    assert bench.client.take() == [statuses.EIO, statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, second.buffer]
    third = run_of(2, 41)
    bench.add(third)
    bench.journal.sync()
    assert bench.journal.records[2:] == [third.buffer]


def test_the_key_is_checked_before_the_fence_and_both_before_anything_is_stored() -> None:
    bench = Bench()
    bench.add(run_of(0, 41))
    bench.fence()
    bench.journal.sync()
    bench.client.take()
    assert bench.add(run_of(1, 41), OTHER_KEY) == [statuses.EUA]
    assert bench.add(run_of(1, 41), OTHER_KEY, recovery=True) == [statuses.EUA]
    assert bench.add(run_of(1, 41)) == [statuses.EFENCED]
    assert bench.add(run_of(0, 41)) == [statuses.EFENCED]
    assert len(bench.storage.runs) == 1
    assert bench.journal.waiting == []


def test_a_recovering_client_adds_to_a_fenced_ledger() -> None:
    bench = Bench()
    bench.fence()
    assert bench.add(run_of(0, 41), recovery=True) == []
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, FENCE_RECORD, KEY_RECORD, run_of(0, 41).buffer]


def test_check_fence_and_append_are_one_step() -> None:
    """An add that got past the fence is in the journal before the fence record; one after it is refused."""
    bench = Bench()
    before = run_of(0, 41)
    bench.add(before)
    outcomes = bench.fence()
    assert bench.add(run_of(1, 41)) == [statuses.EFENCED], "the fence holds before its record is synced"
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]
    assert outcomes == [statuses.EOK]
    records = bench.journal.records
    assert records.index(before.buffer) < records.index(FENCE_RECORD)


@pytest.mark.parametrize("first", [-1, -2, -0x1000, -0x2000, -0x4000, -0x8000])
def test_negative_entry_ids_are_refused(first: int) -> None:
    bench = Bench()
    assert bench.add(run_of(first, 41)) == [statuses.EBADREQ]
    assert bench.storage.ledgers == {}
    assert bench.journal.waiting == []


def test_an_entry_without_room_for_its_last_add_confirmed_is_refused() -> None:
    bench = Bench()
    assert bench.add(EntryRun(LEDGER, 0, bytes(27), (0, 27))) == [statuses.EBADREQ]
    assert bench.add(run_of(0, 24)) == []


def test_a_read_only_bookie_takes_high_priority_adds_only_and_says_so_before_anything_else() -> None:
    bench = Bench(read_only=True)
    assert bench.add(run_of(0, 41)) == [statuses.EREADONLY]
    assert bench.add(run_of(0, 41), recovery=True) == [statuses.EREADONLY]
    assert bench.add(run_of(-5, 41), OTHER_KEY) == [statuses.EREADONLY]
    assert bench.add(run_of(0, 41), high_priority=True) == []
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]


def test_without_space_no_add_is_taken_and_with_space_all_are_again() -> None:
    bench = Bench()
    told: list[bool] = []
    bench.availability.changed = lambda: told.append(bench.availability.read_only)
    bench.availability.note(Reason.FLUSH_FAILED, True)
    bench.availability.note(Reason.FLUSH_FAILED, True)
    assert bench.add(run_of(0, 41), high_priority=True) == [statuses.EREADONLY]
    bench.availability.note(Reason.FLUSH_FAILED, False)
    assert bench.add(run_of(0, 41)) == []
    assert told == [True, False]


def test_a_failed_journal_is_an_io_error() -> None:
    bench = Bench()
    bench.add(run_of(0, 41))
    bench.journal.sync(error=EIO)
    assert bench.client.take() == [statuses.EIO]


# Without entries in the journal -------------------------------------------------------------------------------------


def test_without_entries_in_the_journal_an_add_is_acknowledged_at_once_and_its_key_journaled() -> None:
    bench = Bench(journals_entries=False)
    assert bench.add(run_of(0, 41)) == [statuses.EOK]
    assert bench.storage.cached_run(LEDGER, 0) is not None
    bench.journal.sync()
    assert bench.add(run_of(1, 41), deferred_sync=True) == [statuses.EOK]
    assert bench.client.take() == []
    assert bench.journal.waiting == []
    assert bench.journal.records == [KEY_RECORD]


def test_without_entries_in_the_journal_a_key_that_was_refused_is_journaled_again() -> None:
    bench = Bench(journals_entries=False)
    bench.add(run_of(0, 41))
    bench.journal.sync(error=EIO)
    assert bench.add(run_of(1, 41)) == [statuses.EOK]
    bench.journal.sync()
    assert bench.journal.records == [KEY_RECORD]


def test_without_entries_in_the_journal_fences_are_there_and_hold() -> None:
    bench = Bench(journals_entries=False)
    bench.add(run_of(0, 41))
    outcomes = bench.fence()
    assert bench.add(run_of(1, 41)) == [statuses.EFENCED]
    assert outcomes == []
    bench.journal.sync()
    assert outcomes == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, KEY_RECORD, FENCE_RECORD]


# Deferred sync -------------------------------------------------------------------------------------------------------


def test_a_deferred_add_is_acknowledged_before_the_sync_and_journaled_all_the_same() -> None:
    bench, run = Bench(), run_of(0, 41)
    assert bench.add(run, deferred_sync=True) == [statuses.EOK]
    assert bench.journal.records == []
    bench.journal.sync()
    assert bench.client.take() == []
    assert bench.journal.records == [KEY_RECORD, run.buffer]


def test_a_deferred_add_does_not_keep_its_request_until_the_sync() -> None:
    """Nothing counts it: its reply is sent, and the journal counts the records."""
    bench = Bench()
    request: Any = Add(run_of(0, 41), deferred_sync=True)
    kept = weakref.ref(request)
    client: Any = bench.client
    bench.add_entry.serve(request, client)
    assert client.take() == [statuses.EOK]
    del request
    assert kept() is None
    bench.journal.sync()


def test_force_waits_for_the_deferred_adds_before_it() -> None:
    bench = Bench()
    bench.add(run_of(0, 41), deferred_sync=True)
    assert bench.ask_force() == []
    bench.journal.sync(1)
    assert bench.client.take() == []
    bench.journal.sync(1)
    assert bench.client.take() == [statuses.EOK]


def test_a_deferred_add_that_was_lost_is_never_told_to_be_safe() -> None:
    bench = Bench()
    bench.add(run_of(0, 41), deferred_sync=True)
    bench.journal.sync(error=EIO)
    for _ in range(2):
        assert bench.ask_force() == []
        bench.journal.sync()
        assert bench.client.take() == [statuses.EIO]


def test_a_deferred_add_that_the_journal_refuses_at_once_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(bench.journal, "append", lambda records, done: done(EIO))
    assert bench.add(run_of(0, 41), deferred_sync=True) == [statuses.EIO]
    monkeypatch.undo()
    assert bench.ask_force() == []
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]


@pytest.mark.parametrize("fenced", [False, True])
def test_a_deferred_add_is_refused_like_any_other(fenced: bool) -> None:
    bench = Bench(read_only=not fenced)
    if fenced:
        bench.fence()
    assert bench.add(run_of(0, 41), deferred_sync=True) == [statuses.EFENCED if fenced else statuses.EREADONLY]


# Who waits for the last add confirmed --------------------------------------------------------------------------------


def test_an_add_ends_the_waits_that_its_last_add_confirmed_passes() -> None:
    bench = Bench()
    bench.add(run_of(0, 41))
    ended: list[Any] = []
    for previous in (-1, 0, 1):
        client: Any = Client()
        assert bench.watch.wait(LEDGER, previous, 1000, client, lambda at, previous=previous: ended.append(previous))
    bench.add(run_of(1, 41, 41, ledger_id=LEDGER + 1))
    assert ended == []
    bench.add(run_of(1, 41))
    assert ended == [-1]
    bench.add(run_of(2, 41, 41))
    assert sorted(ended) == [-1, 0, 1]
    assert not bench.watch.ledgers


def test_an_ordinary_add_does_not_begin_a_ledger_anew_that_was_deleted_when_it_was_fenced() -> None:
    bench = Bench()
    bench.storage.deleted.add(LEDGER)
    assert bench.add(run_of(0, 41)) == [statuses.EFENCED]
    assert not bench.storage.ledgers
    bench.add(run_of(0, 41), recovery=True)
    bench.journal.sync()
    assert bench.client.take() == [statuses.EOK]
