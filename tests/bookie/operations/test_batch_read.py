"""bookkeeper_tx.bookie.operations.batch_read: which entries a batch holds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.operations.batch_read import BatchRead as Operation
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs import codecs
from protocol_specs.fields import FRAME_SIZE_MAX, LAST_ENTRY
from protocol_specs.wire import status as statuses
from tests.bookie.seams import (
    KEY,
    LEDGER,
    OTHER_KEY,
    BatchRead,
    Client,
    MemoryJournal,
    MemoryStorage,
    entry,
    open_brake,
    run_of,
    runs_of,
    watch_of,
)


class Bench:
    def __init__(
        self, *runs: EntryRun, cold: bool = False, size_max: int = FRAME_SIZE_MAX, entry_size_max: int = 10**9
    ) -> None:
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), Client()
        self.storage.store(*runs, cold=cold)
        self.clock = Clock()
        watch = self.watch = watch_of(self.clock)
        storage: Any = self.storage
        fencing: Any = Fencing(storage, self.journal, LedgerKeys(storage), watch, open_brake())  # type: ignore[arg-type]
        self.operation: Any = Operation(storage, runs_of(storage), fencing, watch, size_max, entry_size_max)

    def read(self, *args: Any, **kwargs: Any) -> Any:
        self.operation.serve(BatchRead(*args, **kwargs), self.client)
        return self.answer()

    def answer(self) -> Any:
        """Return the ids in the reply, None while there is none, or the status."""
        replies = self.client.take()
        if not replies or not isinstance(replies[0], bytes):
            return replies[0] if replies else None
        offsets = codecs.record_offsets("reply", replies[0], 0, len(replies[0]))
        return [int.from_bytes(replies[0][at + 12 : at + 20], "big", signed=True) for at in offsets[:-1]]

    def count(self, max_count: int, max_size: int) -> int:
        return len(self.read(0, max_count, max_size))


# The table of Java 4.17: stored sizes, count and size asked for, entries returned.
ROWS = [
    ([41] * 10, 3, 1000, 3),
    ([41] * 10, 0, 1000, 10),
    ([41] * 10, -5, 1000, 10),
    ([41] * 10, 10, 0, 1),
    ([41] * 10, 10, -1, 1),
    ([41] * 10, 10, 81, 1),
    ([41] * 10, 10, 125, 1),
    ([41] * 10, 10, 126, 2),
    ([41] * 10, 10, 171, 3),
    ([1000] + [100] * 50, 100, 5000, 39),
    ([1000] + [100] * 50, 20, 5000, 20),
    ([100] + [1000] * 50, 100, 5000, 5),
    ([2_000_000] * 5, 10, 10**9, 2),
]


@pytest.mark.parametrize(("sizes", "max_count", "max_size", "returned"), ROWS)
@pytest.mark.parametrize("run_length", [1, 3, 100])
def test_the_table_of_java(sizes: list[int], max_count: int, max_size: int, returned: int, run_length: int) -> None:
    runs = [run_of(at, *sizes[at : at + run_length]) for at in range(0, len(sizes), run_length)]
    assert Bench(*runs).count(max_count, max_size) == returned


def test_a_gap_ends_the_batch() -> None:
    bench = Bench(run_of(0, 41, 41), run_of(3, 41))
    assert bench.read(0) == [0, 1]
    assert bench.read(3) == [3]
    assert bench.read(2) is statuses.ENOENTRY


def test_the_first_entry_comes_whatever_its_size_and_alone() -> None:
    bench = Bench(run_of(0, 500), run_of(1, 41), size_max=100)
    assert bench.read(0) == [0]


def test_what_fits_the_first_run_but_not_the_second_is_not_exceeded() -> None:
    bench = Bench(run_of(0, 41), run_of(1, 41))
    assert bench.read(0, max_size=36 + 45 + 44) == [0]
    assert bench.read(0, max_size=36 + 45 + 45) == [0, 1]


def test_unknown_ledgers_and_bad_ids_are_answered_as_by_single_reads() -> None:
    assert Bench().read(0) is statuses.ENOLEDGER
    bench = Bench(run_of(0, 41))
    assert bench.read(-2) is statuses.EBADREQ
    assert bench.read(1) is statuses.ENOENTRY


def test_the_last_entry_and_then_those_from_the_first_on() -> None:
    """A quirk of Java: the ids are start, start + 1, …"""
    bench = Bench(run_of(0, 41, 41, 41))
    assert bench.read(LAST_ENTRY) == [2, 0, 1, 2]
    assert bench.read(LAST_ENTRY, max_count=2) == [2, 0]


def test_runs_on_the_disk_are_fetched_and_an_error_there_ends_the_batch() -> None:
    bench = Bench(run_of(0, 41))
    bench.storage.store(run_of(1, 41), cold=True)
    bench.storage.store(run_of(2, 41))
    assert bench.read(0) is None
    bench.storage.load_next()
    assert bench.answer() == [0, 1, 2]
    bench.storage.broken = True
    assert bench.read(0) == [0]
    assert bench.read(1) is statuses.EIO


def test_an_add_while_the_last_entry_is_read_from_the_disk_comes_too_late() -> None:
    bench = Bench(run_of(0, 41))
    bench.storage.store(run_of(1, 41), cold=True)
    assert bench.read(LAST_ENTRY, max_count=1) is None
    bench.storage.store(run_of(2, 41))
    bench.storage.load_next()
    assert bench.answer() == [1]


def test_a_full_batch_does_not_wait_for_the_disk() -> None:
    bench = Bench(run_of(0, 41))
    bench.storage.store(run_of(1, 41), cold=True)
    assert bench.read(0, max_size=36 + 45 + 20) == [0]
    assert bench.read(0, max_count=1) == [0]


def test_a_fencing_batch_is_answered_after_the_sync() -> None:
    bench = Bench(run_of(0, 41))
    assert bench.read(0, fencing=True, master_key=OTHER_KEY) is statuses.EUA
    assert bench.read(0, fencing=True) is statuses.EUA
    assert bench.read(0, fencing=True, master_key=KEY) is None
    bench.journal.sync()
    assert bench.answer() == [0]


@given(
    st.lists(st.integers(24, 90), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(-1, 14),
    st.integers(-10, 900),
    st.integers(0, 11),
)
def test_the_rule_entry_by_entry(sizes: list[int], run_length: int, max_count: int, max_size: int, start: int) -> None:
    """The same as adding one entry after the other while count and size allow."""
    start = min(start, len(sizes) - 1)
    runs = [run_of(at, *sizes[at : at + run_length]) for at in range(0, len(sizes), run_length)]
    expected, used = [start], 36 + 4 + sizes[start]
    for at in range(start + 1, len(sizes)):
        used += 4 + sizes[at]
        if 0 < max_count <= len(expected) or used > min(max_size, 600):
            break
        expected.append(at)
    assert Bench(*runs, size_max=600).read(start, max_count, max_size) == expected


def test_the_records_are_the_stored_bytes() -> None:
    bench = Bench(run_of(0, 41, 50, 60))
    bench.operation.serve(BatchRead(1, 2), bench.client)
    assert bench.client.take() == [run_of(1, 50, 60).buffer]
    assert run_of(1, 50, 60).entry(2) == entry(2, 60)


# As V3 has it --------------------------------------------------------------------------------------------------------


def test_an_entry_that_fits_no_frame_is_a_bad_request() -> None:
    bench = Bench(run_of(0, 41, 100), size_max=50, entry_size_max=99)
    assert bench.read(0) == [0]
    assert bench.read(1) is statuses.EBADREQ


def test_a_batch_waits_for_the_last_add_confirmed_to_pass() -> None:
    bench = Bench(run_of(0, 41, 41))
    assert bench.read(0, previous_last_add_confirmed=-1, timeout_ms=1000) == [0, 1]
    assert bench.read(0, previous_last_add_confirmed=0) == [0, 1]
    assert bench.read(0, previous_last_add_confirmed=0, timeout_ms=1000) is None
    bench.clock.advance(1)
    assert bench.answer() == [0, 1]
    assert bench.read(0, previous_last_add_confirmed=0, timeout_ms=1000, ledger_id=99) is statuses.ENOLEDGER


def test_a_batch_that_an_update_has_let_go_says_when() -> None:
    bench = Bench(run_of(0, 41, 41))
    request: Any = BatchRead(0, previous_last_add_confirmed=0, timeout_ms=1000)
    bench.operation.serve(request, bench.client)
    bench.clock.advance(0.25)
    bench.storage.store(run_of(2, 41))
    ledger: Any = bench.storage.ledger(LEDGER)
    bench.watch.advanced(ledger)
    assert (bench.answer(), request.updated_at_ms) == ([0, 1, 2], 250)


def test_too_many_batches_that_wait_are_refused() -> None:
    bench = Bench(run_of(0, 41))
    answers = [bench.read(0, previous_last_add_confirmed=0, timeout_ms=1000) for _ in range(11)]
    assert answers == [None] * 10 + [statuses.ETOOMANYREQUESTS]
