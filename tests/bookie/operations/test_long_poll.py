"""bookkeeper_tx.bookie.operations.long_poll: what a poll is answered, and when."""

from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.last_add_confirmed import WriteLac
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.long_poll import LongPoll as Operation
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire import status as statuses
from tests.bookie import seams
from tests.bookie.seams import (
    KEY,
    LEDGER,
    Add,
    Client,
    LongPoll,
    MemoryJournal,
    MemoryStorage,
    entry,
    open_brake,
    run_of,
    runs_of,
    watch_of,
)

WAIT = 1000
EMPTY = (LAST_ENTRY, statuses.EOK)


class Bench:
    def __init__(self, *runs: EntryRun, cold: bool = False) -> None:
        self.storage, self.journal, self.client, self.clock = MemoryStorage(), MemoryJournal(), Client(), Clock()
        self.storage.store(*runs, cold=cold)
        self.watch = watch_of(self.clock)
        storage: Any = self.storage
        keys = LedgerKeys(storage)
        parts: Any = (storage, self.journal, keys)
        self.operation: Any = Operation(storage, runs_of(storage), self.watch)
        force = ForceLedger(parts[1])
        self.adding: Any = AddEntry(*parts, Availability(), force, self.watch)
        self.writing: Any = WriteLac(*parts, Availability(), self.watch)
        self.fencing: Any = Fencing(*parts, self.watch, open_brake())

    def poll(self, *args: Any, **kwargs: Any) -> Any:
        self.operation.serve(LongPoll(*args, **kwargs), self.client)
        return self.answer()

    def answer(self) -> Any:
        answers = self.client.take()
        assert len(answers) <= 1
        return answers[0] if answers else None

    def add(self, entry_id: int) -> None:
        self.adding.serve(Add(run_of(entry_id, 41)), Client())

    def write_lac(self, last_add_confirmed: int) -> None:
        body = b"".join(each.to_bytes(8, "big") for each in (LEDGER, last_add_confirmed)) + bytes(4)
        self.writing.serve(seams.WriteLac(body), Client())


def test_what_is_confirmed_already_comes_at_once_however_long_the_client_would_wait() -> None:
    bench = Bench(run_of(0, 41, 41, 41))
    assert bench.poll(0, WAIT) == (1, entry(1), 1, None)
    assert bench.poll(NO_ENTRY, WAIT) == (0, entry(0), 1, None)
    assert bench.watch.count == 0


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_poll_that_does_not_wait_is_answered_with_nothing(timeout_ms: int) -> None:
    bench = Bench(run_of(0, 41, 41, 41))
    assert bench.poll(1, timeout_ms) == (*EMPTY, 1, None)


def test_an_add_brings_the_poll_its_entry_and_when() -> None:
    bench = Bench(run_of(0, 41))
    assert bench.poll(NO_ENTRY, WAIT) is None
    bench.clock.advance(0.5)
    bench.add(1)
    assert bench.answer() == (0, entry(0), 0, 500)
    assert bench.poll(0, WAIT) is None


def test_time_that_is_over_is_no_error() -> None:
    bench = Bench(run_of(0, 41, 41))
    assert bench.poll(0, WAIT) is None
    bench.clock.advance(1)
    assert bench.answer() == (*EMPTY, 0, None)


def test_a_fence_answers_who_waits() -> None:
    bench = Bench(run_of(0, 41, 41))
    assert bench.poll(0, WAIT) is None
    bench.fencing.fence(LEDGER, KEY, Client(), lambda status: None)
    assert bench.answer() == (*EMPTY, 0, None)


def test_an_explicit_last_add_confirmed_that_passes_what_the_reader_knows_answers_it() -> None:
    bench = Bench(run_of(0, 41, 41))
    assert bench.poll(0, WAIT) is None
    bench.clock.advance(0.5)
    bench.write_lac(1)
    assert bench.answer() == (1, entry(1), 1, 500)


@pytest.mark.parametrize("written", [0, 10, 12])
def test_an_explicit_last_add_confirmed_that_passes_nothing_leaves_it_waiting(written: int) -> None:
    bench = Bench(run_of(0, *[41] * 14))
    assert bench.poll(12, WAIT) is None
    bench.write_lac(written)
    assert bench.answer() is None
    bench.write_lac(13)
    assert bench.answer() == (13, entry(13), 13, 0)


def test_without_piggyback_it_is_a_read_that_waits() -> None:
    bench = Bench(run_of(0, 41, 41))
    plain: dict[str, Any] = {"piggyback": False}
    assert bench.poll(NO_ENTRY, WAIT, entry_id=1, **plain) == (1, entry(1), 0, None)
    assert bench.poll(0, WAIT, entry_id=LAST_ENTRY, **plain) is None
    bench.add(2)
    assert bench.answer() == (LAST_ENTRY, entry(2), 1, None)
    assert bench.poll(0, 0, entry_id=9, **plain) == (9, statuses.ENOENTRY, 1, None)
    assert bench.poll(0, 0, entry_id=-2, **plain) == (-2, statuses.EBADREQ, 1, None)


def test_an_entry_that_is_on_another_bookie_is_not_brought() -> None:
    bench = Bench(run_of(5, 41))
    assert bench.poll(2) == (*EMPTY, 4, None)


def test_a_piggyback_for_any_entry_but_the_last_is_a_bad_request() -> None:
    bench = Bench(run_of(0, 41))
    assert bench.poll(0, WAIT, entry_id=0) == (0, statuses.EBADREQ, NO_ENTRY, None)
    assert bench.poll(-2, WAIT) == (LAST_ENTRY, statuses.EBADREQ, NO_ENTRY, None)


def test_an_unknown_ledger_is_not_waited_for() -> None:
    assert Bench().poll(0, WAIT) == (LAST_ENTRY, statuses.ENOLEDGER, NO_ENTRY, None)


def test_a_ledger_without_entries_is_waited_for_and_then_has_none() -> None:
    bench = Bench()
    bench.storage.open_for(LEDGER, KEY)
    assert bench.poll(NO_ENTRY, WAIT) is None
    bench.clock.advance(1)
    assert bench.answer() == (LAST_ENTRY, statuses.ENOENTRY, NO_ENTRY, None)


def test_an_entry_on_the_disk_is_brought_when_it_is_loaded() -> None:
    bench = Bench(run_of(0, 41, 41), cold=True)
    assert bench.poll(NO_ENTRY, WAIT) is None
    bench.storage.load_next()
    assert bench.answer() == (0, entry(0), 0, None)


def test_too_many_are_refused_and_hold_back_nothing_else() -> None:
    bench = Bench(run_of(0, 41, 41))
    assert [bench.poll(0, WAIT) for _ in range(10)] == [None] * 10
    assert bench.poll(0, WAIT) == (LAST_ENTRY, statuses.ETOOMANYREQUESTS, NO_ENTRY, None)
    assert bench.poll(NO_ENTRY, WAIT) == (0, entry(0), 0, None)
    assert bench.client.pauses == 0


def test_a_poll_of_a_client_that_goes_is_forgotten() -> None:
    bench = Bench(run_of(0, 41, 41))
    bench.poll(0, WAIT)
    bench.client.lose()
    bench.add(2)
    bench.clock.advance(5)
    assert bench.answer() is None
