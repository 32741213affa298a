"""bookkeeper_tx.bookie.operations.read_entry and stored_runs: what is answered, from memory and from the disk."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.operations import read_entry, stored_runs
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.read_entry import ReadEntry, entries_of
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire import status as statuses
from tests.bookie.seams import (
    LEDGER,
    OTHER_KEY,
    Client,
    MemoryJournal,
    MemoryStorage,
    Read,
    entry,
    open_brake,
    run_of,
    runs_of,
    watch_of,
)


class Bench:
    def __init__(self, *runs: EntryRun, cold: bool = False) -> None:
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), Client()
        self.storage.store(*runs, cold=cold)
        storage: Any = self.storage
        fencing: Any = Fencing(storage, self.journal, LedgerKeys(storage), watch_of(), open_brake())  # type: ignore[arg-type]
        self.read_entry: Any = ReadEntry(storage, runs_of(storage), fencing)

    def read(self, *ids: int, **kwargs: Any) -> list[Any]:
        entry_ids = (
            ids if len(ids) == 1 or list(ids) != list(range(ids[0], ids[-1] + 1)) else range(ids[0], ids[-1] + 1)
        )
        self.read_entry.serve(Read(entry_ids, **kwargs), self.client)
        return self.client.take()


def test_a_ledger_that_was_never_added_to_is_unknown() -> None:
    assert Bench().read(0, LAST_ENTRY) == [statuses.ENOLEDGER, statuses.ENOLEDGER, NO_ENTRY]


def test_an_entry_that_is_not_there_is_not_the_others_fault() -> None:
    bench = Bench(run_of(0, 41, 42))
    assert bench.read(1, 5, 0) == [entry(1, 42), statuses.ENOENTRY, entry(0), 0]
    assert bench.read(1, -2, 5) == [entry(1, 42), statuses.EBADREQ, statuses.ENOENTRY, 0]
    assert bench.read(1, 0) == [entry(1, 42), entry(0), 0]
    assert bench.client.statuses == [statuses.ENOENTRY, statuses.EBADREQ, statuses.EOK]


def test_the_last_entry_is_the_highest_stored_whatever_its_id() -> None:
    bench = Bench(run_of(0, 41), run_of(7, 50))
    assert bench.read(LAST_ENTRY) == [entry(7, 50), 6]
    assert bench.read(-2) == [statuses.EBADREQ, 6]


@pytest.mark.parametrize("sizes", [[41] * 10, range(41, 51)])
def test_a_run_of_reads_that_begins_with_the_last_entry(sizes: Sequence[int]) -> None:
    run = run_of(4, *sizes)
    if len(set(sizes)) == 1:
        run = EntryRun(run.ledger_id, run.first_entry_id, run.buffer, range(0, len(run.buffer) + 1, 45))
    expected = [statuses.EBADREQ, entry(13, sizes[-1]), *[statuses.ENOENTRY] * 4]
    assert Bench(run).read(*range(-2, 6)) == [*expected, entry(4, sizes[0]), entry(5, sizes[1]), 12]


@pytest.mark.parametrize("ids", [range(6), (5, 1, 3, 2, 0, 4)])
@pytest.mark.parametrize("cold", [False, True])
def test_large_entries_leave_before_the_rest_is_looked_for(
    ids: Sequence[int], cold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_entry, "PART_SIZE_MIN", 5000)
    bench = Bench(*(run_of(i, 2000) for i in range(6)), cold=cold)
    asked: list[Any] = [Read(ids)]
    found: list[Any] = []
    while asked:
        bench.read_entry.serve(asked.pop(), bench.client)
        while bench.storage.loads:
            bench.storage.load_next()
        *part, last_add_confirmed = bench.client.take()
        assert last_add_confirmed == 4
        assert len(part) <= 4
        found += part
        asked, bench.client.rests = bench.client.rests, []
    assert found == [entry(i, 2000) for i in ids]


def test_a_known_ledger_without_entries_has_no_last_entry() -> None:
    bench = Bench()
    bench.storage.open_for(LEDGER, OTHER_KEY)
    assert bench.read(LAST_ENTRY) == [statuses.ENOENTRY, NO_ENTRY]


def test_a_range_over_several_runs_and_the_disk_keeps_its_order() -> None:
    bench = Bench(run_of(0, 41, 42))
    bench.storage.store(run_of(2, 43, 44), cold=True)
    bench.storage.store(run_of(4, 45))
    assert bench.read(*range(6)) == []
    assert bench.storage.load_next() == 2
    assert bench.client.take() == [entry(i, 41 + i) for i in range(5)] + [statuses.ENOENTRY, 3]


def test_a_disk_that_fails_is_an_io_error_and_never_a_missing_entry() -> None:
    bench = Bench(run_of(0, 41), cold=True)
    bench.storage.broken = True
    assert bench.read(0, 1) == [statuses.EIO, statuses.EIO, NO_ENTRY]


def test_a_wrong_key_on_a_fencing_read_reads_nothing() -> None:
    bench = Bench(run_of(0, 41))
    assert bench.read(0, fencing=True, master_key=OTHER_KEY) == [statuses.EUA, NO_ENTRY]
    assert bench.read(0, fencing=True) == [statuses.EUA, NO_ENTRY]


def test_a_client_with_many_reads_on_the_disk_is_not_read_from() -> None:
    loads_max, waiting_max = stored_runs.LOADS_PER_CONNECTION_MAX, stored_runs.WAITING_PER_CONNECTION_MAX
    bench = Bench(*(run_of(10 * i, 41) for i in range(loads_max + waiting_max)), cold=True)
    for i in range(loads_max + waiting_max):
        assert bench.client.pauses == 0
        bench.read(10 * i)
        assert len(bench.storage.loads) <= loads_max
    assert bench.client.pauses == 1
    bench.storage.load_next()
    assert bench.client.pauses == 0
    loaded = 1
    while bench.storage.loads:
        bench.storage.load_next()
        loaded += 1
    assert (bench.client.pauses, loaded) == (0, loads_max + waiting_max)


def test_too_many_reads_on_the_disk_are_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(stored_runs, "LOADS_MAX", 2)
    bench = Bench(*(run_of(10 * i, 41) for i in range(4)), cold=True)
    assert bench.read(0) == bench.read(10) == []
    assert bench.read(20)[0] is statuses.ETOOMANYREQUESTS
    bench.storage.load_next()
    bench.client.take()
    assert bench.read(30) == []


@given(
    st.lists(st.integers(24, 60), min_size=1, max_size=6) | st.lists(st.integers(500, 700), min_size=4, max_size=8),
    st.booleans(),
    st.data(),
)
def test_entries_of_a_run_are_cut_out_right(sizes: list[int], equal: bool, data: st.DataObject) -> None:
    if equal:
        sizes = sizes[:1] * len(sizes)
    run = run_of(0, *sizes)
    if equal:
        step = sizes[0] + 4
        run = EntryRun(LEDGER, 0, run.buffer, range(0, len(sizes) * step + 1, step))
    index = data.draw(st.integers(0, len(sizes) - 1))
    count = data.draw(st.integers(0, len(sizes) - index))
    assert entries_of(run, index, count) == [entry(i, sizes[i]) for i in range(index, index + count)]
