"""Following a ledger, entry by entry, to its end."""

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_tx.client.tailing import TAIL_WAIT_S
from bookkeeper_tx.errors import NO_ANSWER, BookieUnavailable, BookKeeperError, TlsFailed, TooManyRequests
from tests.client.tailed import Tailed
from tests.client.tailed import tailed as tailed


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 3, 2), (4, 2, 1)])
@pytest.mark.parametrize("polls", ["waits", "closes"])
def test_a_tail_has_every_entry_in_order_to_the_end(sizes: tuple[int, int, int], polls: str) -> None:
    tailed = Tailed(sizes)
    for bookie in tailed.cluster.bookies.values():
        bookie.polls = polls
    entries: list[bytes] = []

    async def follow() -> str:
        async for each in tailed.reader.tail(0):
            entries.append(each.payload)
            assert each.entry_id <= tailed.reader.last_add_confirmed
        return "end"

    ended = tailed.outcome(Deferred.fromCoroutine(follow()))
    assert entries == [b"entry %d" % each for each in range(2)]
    for round_ in range(4):
        tailed.append(round_)
        tailed.advance(2)
    tailed.cluster.result(tailed.writer.close())
    tailed.advance(1)
    assert entries == [b"entry %d" % each for each in range(9)]
    assert ended == ["end"]
    tailed.assert_nothing_is_left()


def test_a_tail_begins_with_the_next_entry_unless_told_otherwise(tailed: Tailed) -> None:
    tailed.cluster.result(tailed.writer.close())
    tailed.cluster.result(tailed.reader.read_last_add_confirmed())

    async def follow(*arguments: Any) -> list[int]:
        return [each.entry_id async for each in tailed.reader.tail(*arguments)]

    assert tailed.cluster.result(Deferred.fromCoroutine(follow())) == []
    assert tailed.cluster.result(Deferred.fromCoroutine(follow(1))) == [1, 2]


def test_leaving_a_tail_leaves_nothing(tailed: Tailed) -> None:
    async def follow() -> None:
        async for _ in tailed.reader.tail(0):
            pass

    following = Deferred.fromCoroutine(follow())
    following.addErrback(lambda failure: failure.trap(CancelledError))
    tailed.cluster.network.run()
    tailed.advance(2)
    following.cancel()
    tailed.assert_nothing_is_left()


def test_a_tail_outlives_a_minute_without_a_replica_while_it_reads(tailed: Tailed) -> None:
    found: list[int] = []

    async def follow() -> str:
        async for each in tailed.reader.tail(0):
            found.append(each.entry_id)
        return "end"

    tailed.cluster.result(tailed.reader.read_last_add_confirmed())
    for bookie in tailed.cluster.bookies.values():
        bookie.down = True
    ended = tailed.outcome(Deferred.fromCoroutine(follow()))
    tailed.advance(TAIL_WAIT_S - 5)
    assert (found, ended) == ([], [])
    for bookie in tailed.cluster.bookies.values():
        bookie.down = False
    tailed.advance(1)
    assert found == [0, 1]
    tailed.cluster.result(tailed.writer.close())
    tailed.advance(1)
    assert (found, ended) == ([0, 1, 2], ["end"])
    tailed.assert_nothing_is_left()


@pytest.mark.parametrize("error", [*NO_ANSWER, TlsFailed, TooManyRequests], ids=lambda error: str(error.__name__))
def test_a_tail_outlives_bookies_that_fail_in_any_way_that_may_end(
    tailed: Tailed, error: type[BookKeeperError]
) -> None:
    found: list[int] = []

    async def follow() -> None:
        async for each in tailed.reader.tail(0):
            found.append(each.entry_id)

    tailed.cluster.result(tailed.reader.read_last_add_confirmed())
    for bookie in tailed.cluster.bookies.values():
        bookie.fails = error("for a while")
    ended = tailed.outcome(Deferred.fromCoroutine(follow()))
    tailed.advance(TAIL_WAIT_S - 5)
    for bookie in tailed.cluster.bookies.values():
        bookie.fails = None
    tailed.advance(1)
    assert (found, ended) == ([0, 1], [])
    tailed.cluster.result(tailed.writer.close())
    tailed.advance(1)
    assert (found, ended) == ([0, 1, 2], [None])


def follow_without_bookies(tailed: Tailed) -> Deferred[None]:
    """Begin to follow what is confirmed, when every bookie is down."""

    async def follow() -> None:
        async for _ in tailed.reader.tail(0):
            pass

    tailed.cluster.result(tailed.reader.read_last_add_confirmed())
    for bookie in tailed.cluster.bookies.values():
        bookie.down = True
    return Deferred.fromCoroutine(follow())


def test_after_a_minute_it_fails(tailed: Tailed) -> None:
    ended = tailed.outcome(follow_without_bookies(tailed))
    tailed.advance(TAIL_WAIT_S + 1)
    assert [type(error) for error in ended] == [BookieUnavailable]
    tailed.assert_nothing_is_left()


def test_leaving_it_while_it_waits_for_a_replica_leaves_nothing(tailed: Tailed) -> None:
    following = follow_without_bookies(tailed)
    following.addErrback(lambda failure: failure.trap(CancelledError))
    tailed.advance(2)
    following.cancel()
    tailed.assert_nothing_is_left()
