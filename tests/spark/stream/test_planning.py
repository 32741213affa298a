from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.offsets import Edge, Offsets
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.stream.planning import LedgerEnd, Limit, entries_between, first_offset, plan_end
from tests.sampling import examples


def sealed(ledger_id: int, end: int, entry_bytes: int = 0) -> LedgerEnd:
    return LedgerEnd(ledger_id, end, True, entry_bytes)


def still_open(ledger_id: int, end: int, entry_bytes: int = 0) -> LedgerEnd:
    return LedgerEnd(ledger_id, end, False, entry_bytes)


def shares(known: list[LedgerEnd], limit: Limit) -> dict[int, int]:
    start = StreamOffset()
    return {each.ledger_id: each.last + 1 for each in entries_between(start, plan_end(start, known, limit))}


def test_no_limit_is_all() -> None:
    assert shares([sealed(3, 10), still_open(5, 4), still_open(6, 0)], Limit()) == {3: 10, 5: 4}


def test_open_ledgers_share_evenly() -> None:
    assert shares([still_open(1, 100), still_open(2, 100), still_open(3, 100)], Limit(entries=30)) == {
        1: 10,
        2: 10,
        3: 10,
    }


def test_what_a_small_ledger_leaves_is_for_the_others() -> None:
    assert shares([still_open(1, 100), still_open(2, 2), still_open(3, 100)], Limit(entries=30)) == {1: 14, 2: 2, 3: 14}


def test_an_odd_entry_is_given_out_too() -> None:
    assert sum(shares([still_open(1, 9), still_open(2, 9), still_open(3, 9)], Limit(entries=8)).values()) == 8


def test_nothing_passes_a_sealed_ledger() -> None:
    known = [sealed(1, 20), sealed(2, 20), still_open(3, 20)]
    assert shares(known, Limit(entries=10)) == {1: 10}
    assert shares(known, Limit(entries=25)) == {1: 20, 2: 5}
    assert shares(known, Limit(entries=45)) == {1: 20, 2: 20, 3: 5}


def test_an_older_open_ledger_does_not_hold_up_others() -> None:
    assert shares([still_open(1, 20), sealed(2, 20), still_open(3, 20)], Limit(entries=10)) == {1: 5, 2: 5}


def test_the_order_given_counts_not_the_number() -> None:
    assert shares([sealed(9, 20), sealed(2, 20)], Limit(entries=25)) == {9: 20, 2: 5}


def test_bytes_by_average_size() -> None:
    assert shares([still_open(1, 100, 10), still_open(2, 100, 50)], Limit(bytes=200)) == {1: 10, 2: 2}
    assert shares([sealed(1, 5, 10), sealed(2, 100, 30)], Limit(bytes=140)) == {1: 5, 2: 3}


def test_small_entries_do_not_slip_past_large_ones() -> None:
    known = [sealed(1, 10, 100), sealed(2, 10, 10)]
    assert shares(known, Limit(bytes=250)) == {1: 2}


def test_an_entry_larger_than_a_batch_is_a_batch() -> None:
    assert shares([still_open(1, 10, 1000), still_open(2, 10, 1000)], Limit(bytes=999)) == {1: 1}


def test_nothing_new_is_the_same_offset() -> None:
    start = StreamOffset(IdRanges.of([1]), {2: 5})
    known = [sealed(1, 9), still_open(2, 5), sealed(3, 0), still_open(4, 0)]
    assert plan_end(start, known, passed=IdRanges.of([7, 8])) is start


def test_an_answer_from_the_past_changes_nothing() -> None:
    start = StreamOffset(open={2: 5})
    assert plan_end(start, [still_open(2, 3)]) is start


def test_a_ledger_read_to_its_end_is_closed_then_finished() -> None:
    first = plan_end(StreamOffset(), [sealed(0, 3), still_open(1, 2)])
    assert first.to_json() == {"closed": {"0": 3}, "closedThrough": -1, "open": {"1": 2}, "unread": "", "v": 2}
    second = plan_end(first, [still_open(1, 4)])
    assert second.to_json() == {"closed": {}, "closedThrough": 0, "open": {"1": 4}, "unread": "", "v": 2}


def test_the_close_of_a_ledger_read_to_its_end_is_put_on_record() -> None:
    start = StreamOffset(open={1: 4})
    end = plan_end(start, [sealed(1, 4)])
    assert end.closed == {1: 4}
    assert entries_between(start, end) == []
    assert plan_end(end, [sealed(1, 4)]) is end


def test_empty_and_foreign_ledgers_are_passed_over_with_the_next_entries() -> None:
    end = plan_end(StreamOffset(), [sealed(1, 0), still_open(2, 0), still_open(5, 1)], passed=IdRanges.of([0, 3]))
    assert end.to_json() == {"closed": {}, "closedThrough": 3, "open": {"5": 1}, "unread": "2", "v": 2}


def test_a_late_ledger_is_read_once() -> None:
    start = plan_end(StreamOffset(), [sealed(3, 2), sealed(9, 2)])
    start = plan_end(start, [still_open(12, 1)])
    late = plan_end(start, [sealed(3, 2), sealed(5, 2), sealed(9, 2), still_open(12, 1)])
    assert [(each.ledger_id, each.first, each.last) for each in entries_between(start, late)] == [(5, 0, 1)]
    assert plan_end(late, [sealed(3, 2), sealed(5, 2), sealed(9, 2), still_open(12, 1)]) is late


def test_a_ledger_that_is_gone_is_closed_where_the_stream_stands() -> None:
    start = StreamOffset(open={4: 7})
    end = plan_end(start, [sealed(4, start.position(4))])
    assert end.closed == {4: 7}
    assert entries_between(start, end) == []


KNOWN = [sealed(1, 10), sealed(2, 0), still_open(3, 5), still_open(4, 0)]


def test_a_stream_from_the_earliest() -> None:
    start = first_offset(KNOWN, Offsets(Edge.EARLIEST), IdRanges.of([0]))
    assert start == StreamOffset()


def test_a_stream_from_the_latest() -> None:
    start = first_offset(KNOWN, Offsets(Edge.LATEST), IdRanges.of([0]))
    assert start.to_json() == {"closed": {}, "closedThrough": 2, "open": {"3": 5}, "unread": "", "v": 2}
    end = plan_end(start, [*KNOWN[:3], still_open(4, 2), sealed(5, 1)])
    assert [(each.ledger_id, each.first, each.last) for each in entries_between(start, end)] == [(4, 0, 1), (5, 0, 0)]


def test_a_stream_from_offsets_by_ledger() -> None:
    start = first_offset(KNOWN, Offsets(Edge.EARLIEST, {1: 10, 3: 2}))
    assert start == StreamOffset(IdRanges.of([1]), {3: 2})
    start = first_offset(KNOWN, Offsets(Edge.EARLIEST, {1: Edge.LATEST, 3: Edge.LATEST}))
    assert start == StreamOffset(IdRanges.of([1]), {3: 5})
    assert first_offset(KNOWN, Offsets(Edge.EARLIEST, {1: 9})).position(1) == 9


def test_offsets_of_a_ledger_that_is_not_there() -> None:
    with pytest.raises(InvalidConfig, match=r"startingOffsets names ledgers that are not there.*: 7, 8"):
        first_offset(KNOWN, Offsets(Edge.EARLIEST, {8: 1, 7: 1, 1: 0}))


def test_a_start_behind_the_end_waits_for_it() -> None:
    start = first_offset(KNOWN, Offsets(Edge.EARLIEST, {3: 8}))
    assert plan_end(start, [still_open(3, 6)]) is start
    end = plan_end(start, [still_open(3, 10)])
    assert [(each.first, each.last) for each in entries_between(start, end)] == [(8, 9)]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 9)), max_size=8),
    st.integers(1, 60),
    st.booleans(),
)
def test_a_limit_is_used_up_and_kept(ledgers: list[tuple[int, bool, int]], budget: int, by_bytes: bool) -> None:
    known = [LedgerEnd(index, end, is_sealed, size) for index, (end, is_sealed, size) in enumerate(ledgers)]
    taken = shares(known, Limit(bytes=budget) if by_bytes else Limit(entries=budget))
    cost = {each.ledger_id: each.entry_bytes if by_bytes else 1 for each in known}
    spent = sum(cost[each] * count for each, count in taken.items())
    total = sum(cost[each.ledger_id] * each.end for each in known)
    assert spent <= budget or sum(taken.values()) == 1
    if by_bytes:
        assert taken or not total
    else:
        assert spent == min(budget, total)


class Streaming(RuleBasedStateMachine):
    """A cluster that changes under a stream which is stopped and started again at will.

    The model is the promise to a reader: every entry of every chosen ledger, once, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[int, int] = {}
        self.closed: set[int] = set()
        self.foreign: set[int] = set()
        self.log = [StreamOffset()]
        """The planned offsets, as in the checkpoint."""
        self.rows: defaultdict[int, list[int]] = defaultdict(list)
        self.seals_at_entry: dict[int, int] = {}

    def known(self) -> list[LedgerEnd]:
        return [
            LedgerEnd(each, self.ends[each], each in self.closed, each % 7 + 1)
            for each in sorted(self.ends)
            if each not in self.foreign
        ]

    @rule(
        ledger_id=st.integers(0, 15) | st.integers(2**127, 2**127 + 2),
        is_foreign=st.booleans(),
        count=st.integers(0, 5),
    )
    def create(self, ledger_id: int, is_foreign: bool, count: int) -> None:
        """Create a ledger, above or below the existing ones."""
        if ledger_id not in self.ends:
            self.ends[ledger_id] = count
            if is_foreign:
                self.foreign.add(ledger_id)

    @precondition(lambda self: self.ends.keys() - self.closed)
    @rule(data=st.data(), count=st.integers(1, 9))
    def grow(self, data: st.DataObject, count: int) -> None:
        self.ends[data.draw(st.sampled_from(sorted(self.ends.keys() - self.closed)))] += count

    @precondition(lambda self: self.ends.keys() - self.closed)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        self.closed.add(data.draw(st.sampled_from(sorted(self.ends.keys() - self.closed))))

    @rule(limit=st.none() | st.integers(1, 12), by_bytes=st.booleans())
    def batch(self, limit: int | None, by_bytes: bool) -> None:
        """Plan a batch and read it in a process that knows only the checkpoint."""
        start = StreamOffset.of_json(self.log[-1].to_json())
        before = self.waiting(start)
        bound = Limit(bytes=limit) if by_bytes else Limit(entries=limit)
        end = plan_end(start, self.known(), bound, IdRanges.of(self.foreign))
        if end is start:
            assert not before
            return
        assert end.to_json() != start.to_json()
        read = entries_between(start, end)
        for each in read:
            assert self.rows[each.ledger_id] == list(range(each.first))
            self.rows[each.ledger_id] += range(each.first, each.last + 1)
        if limit is not None and not by_bytes:
            assert sum(each.last - each.first + 1 for each in read) == min(limit, sum(before.values()))
        self.check_order(read, before)
        self.log.append(end)

    @precondition(lambda self: len(self.log) > 1)
    @rule()
    def replay(self) -> None:
        """A batch whose commit was lost is read again: it is the same batch."""
        start, end = (StreamOffset.of_json(each.to_json()) for each in self.log[-2:])
        for each in entries_between(start, end):
            assert self.rows[each.ledger_id][each.first :] == list(range(each.first, each.last + 1))

    def waiting(self, start: StreamOffset) -> dict[int, int]:
        counts = {
            each.ledger_id: 0 if start.is_finished(each.ledger_id) else each.end - start.position(each.ledger_id)
            for each in self.known()
        }
        return {each: count for each, count in counts.items() if count}

    def check_order(self, read: list, before: dict[int, int]) -> None:
        """Nothing is read after a sealed ledger that is not read to its end."""
        done = {each.ledger_id: each.last - each.first + 1 for each in read}
        unread = [each for each in before if each in self.closed and done.get(each, 0) < before[each]]
        assert not unread or max(done, default=0) <= min(unread)

    @invariant()
    def nothing_is_lost_or_read_twice(self) -> None:
        last = self.log[-1]
        for each in self.ends:
            count = 0 if each in self.foreign else self.ends[each] if last.is_finished(each) else last.position(each)
            assert len(self.rows[each]) == count

    def teardown(self) -> None:
        """In the end everything is read, in batches of one entry, and then there is no further batch."""
        for _ in range(sum(self.ends.values()) + len(self.ends) + 1):
            self.batch(1, False)
        assert plan_end(self.log[-1], self.known(), passed=IdRanges.of(self.foreign)) is self.log[-1]
        assert all(len(self.rows[each]) == (0 if each in self.foreign else self.ends[each]) for each in self.ends)


TestStreaming = Streaming.TestCase
TestStreaming.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
