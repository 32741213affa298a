"""bookkeeper_tx.bookie.operations.fencing: no reply confirms a fence that is not durable."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.operations import fencing as fencing_module
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.read_entry import ReadEntry
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire import status as statuses
from tests.bookie.seams import (
    EIO,
    FENCE_RECORD,
    KEY,
    KEY_RECORD,
    LEDGER,
    OTHER_KEY,
    Add,
    Client,
    MemoryJournal,
    MemoryStorage,
    Read,
    SlowClient,
    open_brake,
    run_of,
    runs_of,
    watch_of,
)
from tests.sampling import examples


class Bench:
    def __init__(self) -> None:
        self.storage, self.journal = MemoryStorage(), MemoryJournal()
        parts: Any = (self.storage, self.journal, LedgerKeys(self.storage))  # type: ignore[arg-type]
        self.watch = watch_of()
        self.fencing: Any = Fencing(*parts, self.watch, open_brake())

    def fence(self, key: bytes | None = KEY) -> list[Any]:
        outcomes: list[Any] = []
        self.fencing.fence(LEDGER, key, Client(), outcomes.append)
        return outcomes


def test_the_key_record_of_an_unknown_ledger_goes_before_its_fence() -> None:
    bench = Bench()
    outcomes = bench.fence()
    assert outcomes == []
    bench.journal.sync()
    assert outcomes == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, FENCE_RECORD]


def test_a_second_fence_waits_for_the_sync_of_the_first() -> None:
    bench = Bench()
    first, second = bench.fence(), bench.fence()
    assert (first, second) == ([], [])
    bench.journal.sync()
    assert (first, second) == ([statuses.EOK], [statuses.EOK])
    assert bench.journal.records.count(FENCE_RECORD) == 1


def test_a_fence_that_is_durable_costs_nothing() -> None:
    bench = Bench()
    bench.fence()
    bench.journal.sync()
    assert bench.fence() == [statuses.EOK]
    assert bench.journal.waiting == []


def test_a_fence_whose_record_failed_is_written_again() -> None:
    bench = Bench()
    first = bench.fence()
    bench.journal.sync(error=EIO)
    assert first == [statuses.EIO]
    second = bench.fence()
    assert second == []
    bench.journal.sync()
    assert second == [statuses.EOK]
    assert bench.journal.records == [KEY_RECORD, FENCE_RECORD]


def test_a_wrong_or_missing_key_leaves_the_ledger_as_it_is() -> None:
    bench = Bench()
    bench.storage.store(run_of(0, 41))
    assert bench.fence(None) == [statuses.EUA]
    assert bench.fence(OTHER_KEY) == [statuses.EUA]
    assert not bench.storage.ledgers[LEDGER].fenced


def test_an_answer_of_no_entry_waits_for_the_sync_too() -> None:
    bench = Bench()
    client = Client()
    read: Any = ReadEntry(bench.storage, runs_of(bench.storage), bench.fencing)
    read.serve(Read((LAST_ENTRY,), fencing=True, master_key=KEY), client)
    assert client.take() == []
    bench.journal.sync()
    assert client.take() == [statuses.ENOENTRY, NO_ENTRY]


def test_a_fence_ends_the_waits_for_the_last_add_confirmed_and_a_second_one_does_not() -> None:
    bench, ended = Bench(), list[Any]()
    for _ in range(2):
        client: Any = Client()
        bench.watch.wait(LEDGER, 5, 1000, client, ended.append)
        bench.fence(OTHER_KEY)
        assert ended == [None]


def test_a_poll_that_waited_finds_the_fence_on_its_way() -> None:
    """Otherwise a second fence, asked for by the poll, would be confirmed before the journal has the first."""
    bench, client = Bench(), Client()
    outcomes: list[Any] = []
    poller: Any = client
    bench.watch.wait(LEDGER, 5, 1000, poller, lambda _: bench.fencing.fence(LEDGER, KEY, client, outcomes.append))
    bench.fence()
    assert outcomes == []
    bench.journal.sync()
    assert outcomes == [statuses.EOK]


def test_a_client_has_only_so_many_fences_that_wait_for_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencing_module, "FENCES_PER_CONNECTION_MAX", 3)
    bench, client, outcomes = Bench(), Client(), list[Any]()
    for expected in (0, 0, 1):
        bench.fencing.fence(LEDGER, KEY, client, outcomes.append)
        assert client.pauses == expected
    bench.fence()
    bench.journal.sync()
    assert (client.pauses, len(outcomes)) == (0, 3)


def test_who_waits_for_a_fence_is_answered_when_its_client_takes_replies() -> None:
    bench, outcomes, client = Bench(), list[Any](), SlowClient()
    bench.fencing.fence(LEDGER, KEY, client, outcomes.append)
    bench.journal.sync()
    assert outcomes == []
    client.take_replies()
    assert outcomes == [statuses.EOK]


def test_a_client_that_cannot_be_answered_keeps_no_other_from_its_answer() -> None:
    bench, broken = Bench(), Client()
    bench.fencing.fence(LEDGER, KEY, broken, lambda _: bytes(-1))
    outcomes = bench.fence()
    bench.journal.sync()
    assert outcomes == [statuses.EOK]


class FencesAndAdds(RuleBasedStateMachine):
    """Adds, fences, syncs and failures in any order: the replies agree with the journal, as replay reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), Client()
        keys: Any = LedgerKeys(self.storage)  # type: ignore[arg-type]
        parts: Any = (self.storage, self.journal, keys)
        force: Any = ForceLedger(self.journal)  # type: ignore[arg-type]
        self.adding: Any = AddEntry(*parts, Availability(), force, watch_of())
        self.fencing: Any = Fencing(*parts, watch_of(), open_brake())
        self.next_id = 0
        self.acknowledged: list[bytes] = []
        self.told_fenced = False
        self.fence_asked = False

    @rule(recovery=st.booleans())
    def add(self, recovery: bool) -> None:
        run = run_of(self.next_id, 41)
        self.next_id += 1
        request = Add(run, recovery=recovery)
        waiting = len(self.journal.waiting)
        self.adding.serve(request, _Acknowledgements(self, run.buffer))
        refused = len(self.journal.waiting) == waiting
        assert refused == (self.fence_asked and not recovery)

    @rule()
    def fence(self) -> None:
        self.fence_asked = True
        self.fencing.fence(LEDGER, KEY, self.client, self._fenced)

    def _fenced(self, status: Any) -> None:
        self.told_fenced |= status is statuses.EOK

    @rule(count=st.integers(0, 3), fails=st.booleans())
    def sync(self, count: int, fails: bool) -> None:
        self.journal.sync(min(count, len(self.journal.waiting)), EIO if fails else None)

    @invariant()
    def replay_finds_what_was_told(self) -> None:
        keyed, fenced, entries = False, False, []
        for record in self.journal.records:
            keyed |= record == KEY_RECORD
            if keyed:
                fenced |= record == FENCE_RECORD
                entries.append(record)
        assert set(self.acknowledged) <= set(entries)
        assert fenced or not self.told_fenced


class _Acknowledgements:
    def __init__(self, machine: FencesAndAdds, record: bytes) -> None:
        self._machine = machine
        self._record = record

    def reply(self, request: Any, status: Any, replies: list[Any]) -> None:
        if status is statuses.EOK:
            self._machine.acknowledged.append(self._record)


TestFencesAndAdds = FencesAndAdds.TestCase
TestFencesAndAdds.settings = settings(max_examples=examples(60), stateful_step_count=25, deadline=None)
