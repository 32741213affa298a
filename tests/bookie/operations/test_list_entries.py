"""All that is stored, from memory and index, and no more work than is allowed."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.operations import list_entries
from bookkeeper_tx.bookie.operations.list_entries import ListEntries as Operation
from bookkeeper_tx.bookie.operations.list_entries import united
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import FRAME_SIZE_MAX
from protocol_specs.wire import status as statuses
from tests.bookie.seams import KEY, LEDGER, Client, ListEntries, MemoryStorage, SlowClient, run_of, runs_of
from tests.bookie.workers import InlineWorker, SteppedWorker


class Bench:
    def __init__(
        self, *runs: EntryRun, worker: Any = None, frame_size_max: int = FRAME_SIZE_MAX, bytes_max: int = 10**9
    ) -> None:
        self.storage, self.client = MemoryStorage(), Client()
        self.storage.store(*runs)
        storage: Any = self.storage
        self.runs = runs_of(storage, bytes_max=bytes_max)
        self.operation: Any = Operation(storage, self.runs, worker or InlineWorker(), frame_size_max)

    def ask(self, ledger_id: int = LEDGER) -> None:
        self.operation.serve(ListEntries(ledger_id), self.client)

    def answer(self) -> Any:
        """Return the ids listed, or the status, or None while there is no answer."""
        answers = self.client.take()
        if not answers:
            return None
        ((status, availability),) = answers
        assert (availability is None) == (status is not statuses.EOK)
        return status if availability is None else list(EntryList.decode(availability))

    def list(self, ledger_id: int = LEDGER) -> Any:
        self.ask(ledger_id)
        return self.answer()


def test_entries_come_from_memory_and_from_all_pages_of_the_index() -> None:
    bench = Bench(run_of(4000, 41, 41))
    bench.storage.store(run_of(0, 41, 41, 41), run_of(1023, 41, 41), run_of(3999, 41), cold=True)
    assert bench.list() == [0, 1, 2, 1023, 1024, 3999, 4000, 4001]


def test_an_entry_that_is_flushed_meanwhile_is_listed_once() -> None:
    bench = Bench(run_of(0, 41, 41))
    bench.storage.store(run_of(1, 41, 41), cold=True)
    assert bench.list() == [0, 1, 2]


def test_a_ledger_without_entries_has_an_empty_list_and_an_unknown_one_none() -> None:
    bench = Bench()
    assert bench.list() is statuses.ENOLEDGER
    bench.storage.open_for(LEDGER, KEY)
    assert bench.list() == []


def test_an_index_that_cannot_be_read_is_an_io_error() -> None:
    bench = Bench(run_of(0, 41))
    bench.storage.broken = True
    assert bench.list() is statuses.EIO


def test_a_list_that_fits_no_frame_is_a_bad_request() -> None:
    runs = [run_of(at * at, 41) for at in range(2, 40)]
    assert Bench(*runs).list() == [at * at for at in range(2, 40)]
    assert Bench(*runs, frame_size_max=600).list() is statuses.EBADREQ


def test_a_ledger_of_too_many_pages_or_stretches_is_a_bad_request(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(run_of(5000, 41), run_of(7000, 41))
    monkeypatch.setattr(list_entries, "PAGES_MAX", 6)
    assert bench.list() is statuses.EBADREQ
    monkeypatch.setattr(list_entries, "PAGES_MAX", 7)
    assert bench.list() == [5000, 7000]
    bench.storage.store(run_of(1, 41), run_of(3, 41), cold=True)
    monkeypatch.setattr(list_entries, "STRETCHES_MAX", 1)
    assert bench.list() is statuses.EBADREQ


def test_reads_of_the_index_are_cut_into_jobs_and_end_when_the_client_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_entries, "PAGES_AT_ONCE", 2)
    worker = SteppedWorker()
    bench = Bench(run_of(100_000, 41), worker=worker)
    bench.storage.store(run_of(0, 41), run_of(1024, 41), run_of(5000, 41), run_of(90_000, 41), cold=True)
    bench.ask()
    for _ in range(5):  # two pages at once, none of those between; then those after the index; one to encode
        assert bench.answer() is None
        worker.step()
    assert bench.answer() == [0, 1024, 5000, 90_000, 100_000]
    bench.ask()
    worker.step()
    bench.client.lose()
    worker.run_all()
    assert bench.answer() is None
    assert not worker.jobs


def test_lists_wait_until_their_client_takes_replies_within_a_bound() -> None:
    bench = Bench(run_of(0, 41))
    whole = bench.list()
    bench = Bench(run_of(0, 41), bytes_max=250)
    slow = bench.client = SlowClient()
    for _ in range(4):
        bench.ask()
    size = bench.runs.held_bytes // len(slow.next)
    assert bench.runs.held_bytes <= 250 < bench.runs.held_bytes + size
    refused, waiting = bench.client.take(), len(slow.next)
    assert {status for status, _ in refused} == {statuses.ETOOMANYREQUESTS}
    slow.take_replies()
    answers = bench.client.take()
    assert (len(answers), len(refused), bench.runs.held_bytes) == (waiting, 4 - waiting, 0)
    assert list(EntryList.decode(answers[0][1])) == whole


def test_few_are_made_at_once_and_few_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_entries, "LISTS_WAITING_MAX", 1)
    worker = SteppedWorker()
    bench = Bench(run_of(0, 41), worker=worker)
    for _ in range(list_entries.LISTS_AT_ONCE + 1):
        bench.ask()
    assert len(worker.jobs) == list_entries.LISTS_AT_ONCE
    assert bench.list() is statuses.ETOOMANYREQUESTS
    worker.run_all()
    assert len(bench.client.take()) == list_entries.LISTS_AT_ONCE + 1


@given(st.lists(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 10)), max_size=8), max_size=3))
def test_united_is_the_union(several: Sequence[Sequence[tuple[int, int]]]) -> None:
    ranges = [[range(start, start + size) for start, size in each] for each in several]
    found = list(united(*ranges))
    expected = {at for each in ranges for stretch in each for at in stretch}
    assert [at for each in found for at in each] == sorted(expected)
    assert all(before.stop < after.start for before, after in pairwise(found))
