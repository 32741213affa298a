from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    EntriesMissing,
    RequestTimedOut,
    TooManyRequests,
    Unauthorized,
)
from bookkeeper_tx.model import Versioned
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed, OpenLedger
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger
from bookkeeper_tx.spark.stream.planning import LedgerEnd
from tests.spark.memory_store import MemoryStore
from tests.spark.stores import open_ledger

pytest.importorskip("pyspark")

from bookkeeper_tx.spark.plan import last_confirmed
from bookkeeper_tx.spark.stream import ends as stream_ends

LEDGERS = [SelectedLedger(each, Versioned(open_ledger(), 0)) for each in (3, 4)]


class Bookies:
    """Answers requests for the last add confirmed: in each round, a number or an error for each ledger."""

    def __init__(self, *rounds: list[int | BookKeeperError]) -> None:
        self.rounds = list(rounds)
        self.asked: list[list[int]] = []
        self.slept_s: list[float] = []
        self.newest = (-1, 0)
        """The newest entry of each ledger, and its length up to there."""

    def last_adds_confirmed(self, _: None, ledgers: list[OpenLedger]) -> Iterator[LastConfirmed | BookKeeperError]:
        self.asked.append([each.ledger_id for each in ledgers])
        for each in self.rounds.pop(0):
            yield LastConfirmed(each, *self.newest) if isinstance(each, int) else each


def ends_of(bookies: Bookies, monkeypatch: pytest.MonkeyPatch, **more: str) -> list[LedgerEnd]:
    @contextmanager
    def channels(*_: Any) -> Iterator[None]:
        yield

    monkeypatch.setattr(stream_ends, "channels_to", channels)
    monkeypatch.setattr(last_confirmed, "last_adds_confirmed", bookies.last_adds_confirmed)
    values = {"metadataServiceUri": "sqlite:///m", "ledgers": "0-", "numRetries": "2", "retryIntervalMs": "250", **more}
    asked = stream_ends.OpenEnds(Options.from_spark(values, Use.STREAM), Secret(), bookies.slept_s.append)
    return asked(MemoryStore(), LEDGERS)  # type: ignore[arg-type]


def test_an_open_ledger_ends_behind_its_last_add_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    bookies = Bookies([7, -1])
    assert ends_of(bookies, monkeypatch) == [LedgerEnd(3, 8, False), LedgerEnd(4, 0, False)]
    assert bookies.asked == [[3, 4]]


def test_bookies_that_do_not_answer_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bookies = Bookies([BookieUnavailable("down"), 8], [RequestTimedOut("late")], [7])
    assert [each.end for each in ends_of(bookies, monkeypatch)] == [8, 9]
    assert bookies.asked == [[3, 4], [3], [3]]
    assert bookies.slept_s == [0.25, 0.25]


def test_then_the_query_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    bookies = Bookies([7, BookieUnavailable("first")], [TooManyRequests("second")], [BookieUnavailable("third")])
    with pytest.raises(BookieUnavailable, match="third"):
        ends_of(bookies, monkeypatch)


def test_a_wrong_password_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bookies = Bookies([BookieUnavailable("down"), Unauthorized("no")])
    with pytest.raises(Unauthorized):
        ends_of(bookies, monkeypatch)
    assert bookies.slept_s == []


@pytest.mark.parametrize("error", [EntriesMissing(3, 7, 7, {}), DigestMismatch("corrupt")])
def test_a_size_that_cannot_be_had_does_not_end_the_query(
    monkeypatch: pytest.MonkeyPatch, error: BookKeeperError
) -> None:
    """The task that reads an entry decides whether it may be missing."""

    class Reader:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def runs(self) -> Iterator[Any]:
            raise error

    monkeypatch.setattr(stream_ends, "LedgerReader", Reader)
    assert ends_of(Bookies([7, -1]), monkeypatch, maxBytesPerTrigger="1m")[0] == LedgerEnd(3, 8, False, 0)


@pytest.mark.parametrize("limit", [{}, {"maxBytesPerTrigger": "1m"}])
def test_the_newest_entry_says_how_large_entries_are(monkeypatch: pytest.MonkeyPatch, limit: dict[str, str]) -> None:
    bookies = Bookies([7, -1])
    bookies.newest = (9, 95)
    monkeypatch.setattr(stream_ends, "LedgerReader", None)
    ends = ends_of(bookies, monkeypatch, **limit)
    assert ends == [LedgerEnd(3, 8, False, 10), LedgerEnd(4, 0, False, 0)]
