"""Ledgers without metadata: the ids that are asked for, and the rows that follow from the bookies' answers."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

from bookkeeper_tx.entry.entry_list import EntryList, encode_ranges
from bookkeeper_tx.errors import (
    BadRequest,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    InvalidConfig,
    NoSuchLedger,
    RequestTimedOut,
    TooManyRequests,
)
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit
from bookkeeper_tx.spark.cluster.orphans_table import BUSY_TRIES, chunks_of, ids_without_metadata, orphans_on
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from tests.spark.stores import StoreOfDict, closed_ledger

Answer = EntryList | BookKeeperError


def stored(*ranges: range) -> EntryList:
    return EntryList.decode(encode_ranges(ranges))


class Bookie:
    """Answers requests for lists of entries: for each ledger one answer after the other, and the last one for ever."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers = {int(name.removeprefix("ledger_")): list(each) for name, each in answers.items()}
        self.asked: list[list[int]] = []
        self.closed = 0
        self.slept: list[float] = []
        self.one_by_one = False

    def connect(self, bookie_id: str) -> "Bookie":
        assert bookie_id == "b:1"
        return self

    def list_entries(self, ledger_ids: Iterable[int], *, one_by_one: bool) -> Iterator[tuple[int, Answer]]:
        self.asked.append([])
        self.one_by_one = one_by_one
        for each in ledger_ids:
            self.asked[-1].append(each)
            answers = self.answers.get(each, [NoSuchLedger()])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, (BookieUnavailable, RequestTimedOut)):
                raise answer
            yield each, answer

    def close(self) -> None:
        self.closed += 1

    def rows(
        self, *ranges: tuple[int, int], known: Iterable[int] = (), limit: RateLimit | None = None
    ) -> list[dict[str, Any]]:
        store: Any = StoreOfDict({each: closed_ledger(1) for each in known})
        connect: Any = self.connect
        found = orphans_on("b:1", IdRanges(ranges), store, connect, limit, self.slept.append)
        return [dict(row.values) for row in found]


def test_ids_without_metadata() -> None:
    assert ids_without_metadata([2, 3, 9], [(0, 5), (8, None)]) == IdRanges.of([0, 1, 4, 5, 8])
    assert ids_without_metadata([2], [(2, 2)]) == IdRanges()
    assert ids_without_metadata([], [(0, None)]) == IdRanges()
    assert ids_without_metadata([2**62], [(0, 9)]).count == 10
    with pytest.raises(InvalidConfig, match=r"4611686018427387903 ids have no metadata.* name fewer"):
        ids_without_metadata([2**62, 5], [(0, None)])


def test_they_are_cut_for_tasks() -> None:
    ids = IdRanges([(0, 4), (7, 7), (9, 12)])
    assert [each.text for each in chunks_of(ids, 4)] == ["0-3", "4,7,9-10", "11-12"]
    assert [each for chunk in chunks_of(ids, 3) for each in chunk.each()] == [0, 1, 2, 3, 4, 7, 9, 10, 11, 12]
    assert list(chunks_of(IdRanges(), 3)) == []


def test_what_a_bookie_stores_of_them() -> None:
    bookie = Bookie(ledger_3=[stored(range(2, 7), range(9, 10))], ledger_5=[stored()])
    assert bookie.rows((0, 9)) == [
        {"scope_id": 0, "ledger_id": 3, "bookie": "b:1", "first_entry": 2, "last_entry": 9, "entries": 6}
    ]
    assert (bookie.asked, bookie.one_by_one, bookie.closed) == ([list(range(10))], False, 1)


def test_a_ledger_that_was_created_meanwhile_is_no_orphan() -> None:
    bookie = Bookie(ledger_3=[stored(range(5))], ledger_4=[stored(range(5))])
    assert [row["ledger_id"] for row in bookie.rows((0, 9), known=[3])] == [4]


def test_a_busy_bookie_is_asked_again() -> None:
    busy = TooManyRequests("slower")
    bookie = Bookie(ledger_3=[busy, busy, stored(range(5))], ledger_4=[busy, NoSuchLedger()])
    assert [row["entries"] for row in bookie.rows((2, 5))] == [5]
    assert bookie.asked == [[2, 3, 4, 5], [3, 4], [3]]
    assert len(bookie.slept) == 2
    forever = Bookie(ledger_3=[busy])
    assert [row["error"] for row in forever.rows((2, 5))] == ["slower"]
    assert len(forever.slept) == BUSY_TRIES


def test_a_bookie_is_asked_no_faster_than_it_may_be() -> None:
    bookie = Bookie(ledger_3=[stored(range(5))])
    assert [row["entries"] for row in bookie.rows((0, 9), limit=RateLimit(entries_per_s=0.001))] == [5]
    assert bookie.asked == [list(range(10))]
    assert len(bookie.slept) == 9  # all but the first, for which the bucket has room
    assert bookie.slept[0] == pytest.approx(999, abs=1)
    assert bookie.one_by_one


def test_what_cannot_be_told_is_told_so() -> None:
    bookie = Bookie(ledger_3=[BadRequest("too large")], ledger_6=[stored(range(2))], ledger_7=[RequestTimedOut("late")])
    assert [(row.get("ledger_id"), row.get("entries"), row.get("error")) for row in bookie.rows((0, 9))] == [
        (3, None, "too large"),
        (6, 2, None),
        (None, None, "late"),
    ]
    assert bookie.closed == 1


def test_a_bookie_that_is_not_there() -> None:
    def refuse(bookie_id: str) -> Any:
        raise CannotConnect(f"cannot connect to {bookie_id}")

    rows = orphans_on("b:1", IdRanges([(0, 9)]), StoreOfDict({}), refuse)  # type: ignore[arg-type]
    assert [dict(row.values) for row in rows] == [{"bookie": "b:1", "error": "cannot connect to b:1"}]
