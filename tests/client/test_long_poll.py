"""Waiting for new entries of a ledger that is being written."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.long_poll import AGAIN_S, POLL_MAX_S, SPECULATION_S
from bookkeeper_tx.errors import (
    BookieUnavailable,
    ClientClosed,
    InvalidArgument,
    MetadataUnavailable,
    NoSuchLedger,
    RequestTimedOut,
    TooManyRequests,
)
from bookkeeper_tx.transport.pace import FIRST
from tests.client.puppet_bookie import PuppetBookie
from tests.client.tailed import Tailed, entry
from tests.client.tailed import tailed as tailed


def test_what_is_known_needs_no_wait(tailed: Tailed) -> None:
    assert tailed.wait(beyond=0) == [1]
    assert tailed.polls() == []
    tailed.assert_nothing_is_left()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 3, 2), (4, 2, 2), (5, 3, 2)])
@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_wait_ends_with_the_next_append(sizes: tuple[int, int, int], protocol: str) -> None:
    tailed = Tailed(sizes, protocol=protocol)
    found = tailed.wait()
    assert found == []
    tailed.append(1)
    assert found == [2]
    assert tailed.reader.last_add_confirmed == 2
    tailed.assert_nothing_is_left()


def test_a_wait_ends_with_what_the_writer_publishes(tailed: Tailed) -> None:
    found = tailed.wait()
    tailed.publish()
    assert found == [2]


def test_the_first_question_to_a_bookie_is_how_it_stands(tailed: Tailed) -> None:
    tailed.append(1)
    tailed.cluster.bookies["b1"].polls = "waits"
    assert tailed.wait() == [2]
    (request,) = [each for bookie in tailed.cluster.bookies.values() for each in bookie.requests if " poll " in each]
    assert request.endswith("for 0")


def test_when_the_time_is_over_it_tells_what_is_known(tailed: Tailed) -> None:
    found = tailed.wait(timeout_s=10)
    tailed.advance(9.5)
    assert found == []
    tailed.advance(0.5)
    assert found == [1]
    tailed.assert_nothing_is_left()


def test_what_was_heard_on_the_way_is_kept(tailed: Tailed) -> None:
    found = tailed.wait(beyond=50, timeout_s=20)
    tailed.append(3)
    tailed.advance(20)
    assert found == [4]
    assert tailed.reader.last_add_confirmed == 4


def test_bookies_are_asked_one_after_another(tailed: Tailed) -> None:
    tailed.wait()
    assert len(set(tailed.polls())) == 1
    tailed.advance(SPECULATION_S)
    assert len(set(tailed.polls())) == 2
    tailed.advance(SPECULATION_S)
    assert len(set(tailed.polls())) == 3
    tailed.advance(20)
    assert len(tailed.polls()) == 6, "how it stands, and then to wait: at each of them, and no more"


def test_one_that_is_behind_does_not_hold_it_up(tailed: Tailed) -> None:
    found = tailed.wait()
    (slow,) = set(tailed.polls())
    tailed.writer.append(b"entry")
    tailed.run_except(f"{slow} add")
    assert found == []
    tailed.cluster.clock.advance(SPECULATION_S)
    tailed.run_except(f"{slow} add")
    assert found == [2]


def test_one_that_should_answer_at_once_and_does_not_is_given_the_time_of_a_read(tailed: Tailed) -> None:
    for bookie_id in tailed.cluster.bookies:
        for _ in range(FIRST):
            tailed.reader.context.reads.pace(bookie_id).took(0.2)
    tailed.reader.wait_last_add_confirmed(timeout_s=100)
    for asked in (1, 2, 3):
        tailed.cluster.clock.advance(0.1)
        assert len(set(tailed.polls())) == asked
        tailed.cluster.clock.advance(0.1)


def test_a_bookie_that_owes_an_answer_is_asked_last(tailed: Tailed) -> None:
    tailed.wait(timeout_s=1)
    (first,) = set(tailed.polls())
    tailed.advance(1)
    tailed.reader.context.reads.owes(first)
    tailed.wait()
    assert len(set(tailed.polls())) == 2


def test_a_bookie_that_fails_is_passed_over_at_once(tailed: Tailed) -> None:
    waiting = tailed.reader.wait_last_add_confirmed(timeout_s=100)
    first = tailed.cluster.network.messages[tailed.cluster.network.find("poll")].bookie_id
    assert first is not None
    tailed.cluster.bookies[first].down = True
    found = tailed.outcome(waiting)
    assert len(set(tailed.polls())) == 2
    tailed.append(1)
    assert found == [2]
    tailed.assert_nothing_is_left()


@pytest.mark.parametrize("polls", ["at once", "closes"])
def test_bookies_that_do_not_long_poll_are_asked_every_so_often(tailed: Tailed, polls: str) -> None:
    for bookie in tailed.cluster.bookies.values():
        bookie.polls = polls
    found = tailed.wait()
    tailed.advance(10)
    asked = len(tailed.polls())
    assert 3 < asked <= 3 * (2 + 10 / AGAIN_S)
    assert found == []
    tailed.append(1)
    tailed.advance(2 * AGAIN_S)
    assert found == [2]
    tailed.assert_nothing_is_left()


def test_a_ledger_without_entries_is_asked_for_every_so_often() -> None:
    tailed = Tailed(entries=0)
    found = tailed.wait()
    tailed.append(2)
    tailed.advance(AGAIN_S)
    assert found == [0]


@pytest.mark.parametrize("down", [BookieUnavailable(), RequestTimedOut()])
def test_when_no_bookie_answers_it_fails_when_the_time_is_over(tailed: Tailed, down: Any) -> None:
    for bookie in tailed.cluster.bookies.values():
        bookie.fails = down
    found = tailed.wait(timeout_s=5)
    tailed.advance(4.5)
    assert found == []
    tailed.advance(0.5)
    (error,) = found
    assert type(error) is type(down)
    assert "ledger 0" in str(error)
    assert all(bookie in str(error) for bookie in tailed.writer.metadata.last_fragment.ensemble)
    tailed.assert_nothing_is_left()


def test_too_many_long_polls_are_no_fault_of_a_bookie(tailed: Tailed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: PuppetBookie, *arguments: Any) -> Any:
        raise TooManyRequests

    monkeypatch.setattr(PuppetBookie, "poll", refuse)
    found = tailed.wait()
    tailed.advance(2)
    assert tailed.reader.context.bookies.quarantined == {}
    tailed.append(1)
    tailed.advance(1)
    assert found == [2], "plain reads serve"


def test_bookies_that_come_back_are_found_again(tailed: Tailed) -> None:
    for bookie in tailed.cluster.bookies.values():
        bookie.down = True
    found = tailed.wait()
    tailed.advance(5)
    for bookie in tailed.cluster.bookies.values():
        bookie.down = False
    tailed.advance(1)
    tailed.append(1)
    tailed.advance(1)
    assert found == [2]


def test_a_long_wait_is_many_long_polls(tailed: Tailed) -> None:
    tailed.wait(timeout_s=200)
    tailed.advance(10)
    requests = [each for bookie in tailed.cluster.bookies.values() for each in bookie.requests if " poll " in each]
    assert {int(each.rsplit(" ", 1)[1]) for each in requests} == {0, POLL_MAX_S * 1000}


def test_a_wait_ends_when_the_ledger_is_closed(tailed: Tailed) -> None:
    found = tailed.wait(beyond=10)
    tailed.cluster.result(tailed.writer.close())
    tailed.cluster.network.run()
    assert found == [2]
    assert tailed.reader.closed
    assert tailed.wait(beyond=10) == [2]
    tailed.assert_nothing_is_left()


def test_a_wait_goes_on_where_the_ledger_goes_on(tailed: Tailed) -> None:
    found = tailed.wait(beyond=3)
    victim = tailed.writer.metadata.last_fragment.ensemble[0]
    tailed.cluster.bookies[victim].down = True
    tailed.append(1)
    fresh = tailed.writer.metadata.last_fragment.ensemble[0]
    assert fresh != victim
    assert tailed.reader.metadata == tailed.writer.metadata
    tailed.advance(2 * SPECULATION_S)
    assert fresh in tailed.polls()
    tailed.append(2)
    assert found == [4]
    tailed.assert_nothing_is_left()


def test_a_deleted_ledger_ends_the_wait(tailed: Tailed) -> None:
    found = tailed.wait()
    del tailed.cluster.state.ledgers[tailed.writer.ledger_id]
    tailed.reader._changed()
    tailed.cluster.network.run()
    assert [type(each) for each in found] == [NoSuchLedger]
    tailed.assert_nothing_is_left()


def test_a_store_that_is_away_only_delays(tailed: Tailed) -> None:
    found = tailed.wait(beyond=5)
    closing = tailed.writer.close()
    tailed.cluster.network.run(until=lambda: any("store read" in each.text for each in tailed.cluster.network.messages))
    tailed.cluster.network.lose(tailed.cluster.network.find("store read"), MetadataUnavailable())
    tailed.cluster.result(closing)
    assert found == []
    tailed.advance(AGAIN_S)
    assert found == [2]


@pytest.mark.parametrize("when", ["at once", "polling", "reading", "refreshing"])
def test_cancelling_leaves_nothing(tailed: Tailed, when: str) -> None:
    if when == "reading":
        for bookie in tailed.cluster.bookies.values():
            bookie.polls = "closes"
    waiting = tailed.reader.wait_last_add_confirmed(timeout_s=100)
    failed: list[Any] = []
    waiting.addErrback(lambda failure: failed.append(failure.type))
    if when == "polling":
        tailed.cluster.network.run()
        tailed.advance(2)
    elif when == "reading":
        tailed.cluster.network.run(
            until=lambda: any(
                "request" in each.text and " read " in each.text for each in tailed.cluster.network.messages
            )
        )
    elif when == "refreshing":
        tailed.reader._changed()
    sent = sum(len(bookie.requests) for bookie in tailed.cluster.bookies.values())
    waiting.cancel()
    assert failed == [CancelledError]
    assert sum(len(bookie.requests) for bookie in tailed.cluster.bookies.values()) == sent, "cancelling sends nothing"
    tailed.assert_nothing_is_left()
    tailed.cluster.network.run()
    tailed.append(1)
    tailed.assert_nothing_is_left()


def test_a_reader_that_watches_nothing_any_more_notices_the_end_at_the_next_wait(tailed: Tailed) -> None:
    tailed.cluster.result(tailed.reader.read_last_add_confirmed())
    tailed.reader.close()
    tailed.cluster.result(tailed.writer.close())
    assert tailed.wait(beyond=5) == [2]
    assert tailed.reader.closed
    assert tailed.cluster.clock.getDelayedCalls() == []


def test_a_closed_client_ends_the_wait(tailed: Tailed) -> None:
    waiting = tailed.reader.wait_last_add_confirmed(timeout_s=100)
    tailed.cluster.network.lose(tailed.cluster.network.find("poll"), ClientClosed())
    assert [type(each) for each in tailed.outcome(waiting)] == [ClientClosed]
    tailed.assert_nothing_is_left()


@pytest.mark.parametrize(
    "ask",
    [
        lambda reader: reader.wait_last_add_confirmed(-2),
        lambda reader: reader.wait_last_add_confirmed("1"),
        lambda reader: reader.wait_last_add_confirmed(timeout_s=0),
        lambda reader: reader.wait_last_add_confirmed(timeout_s=float("inf")),
        lambda reader: reader.read_last_add_confirmed_and_entry(-1),
        lambda reader: reader.read_last_add_confirmed_and_entry(2**63),
    ],
)
def test_arguments_are_checked(tailed: Tailed, ask: Callable[[LedgerReader], "Deferred[Any]"]) -> None:
    with pytest.raises(InvalidArgument):
        tailed.cluster.result(ask(tailed.reader))


def test_the_entry_comes_along(tailed: Tailed) -> None:
    found = tailed.outcome(tailed.reader.read_last_add_confirmed_and_entry(2, 100))
    tailed.append(1)
    assert found == [(2, entry(2, 21))]
    reads = [each for bookie in tailed.cluster.bookies.values() for each in bookie.requests if " read " in each]
    assert reads == []


def test_an_entry_that_does_not_come_along_is_read(tailed: Tailed) -> None:
    assert tailed.cluster.result(tailed.reader.read_last_add_confirmed_and_entry(0)) == (1, entry(0, 7))
    found = tailed.outcome(tailed.reader.read_last_add_confirmed_and_entry(2, 100))
    for bookie in tailed.cluster.bookies.values():
        for each in list(bookie.watchers):
            bookie.watchers.remove(each)
    tailed.append(1)
    tailed.advance(SPECULATION_S)
    assert found == [(2, entry(2, 21))]


def test_no_entry_when_the_ledger_ends_before_it(tailed: Tailed) -> None:
    found = tailed.outcome(tailed.reader.read_last_add_confirmed_and_entry(7, 100))
    tailed.cluster.result(tailed.writer.close())
    tailed.cluster.network.run()
    assert found == [(2, None)]


def test_a_corrupt_entry_is_taken_from_another_bookie(tailed: Tailed) -> None:
    found = tailed.outcome(tailed.reader.read_last_add_confirmed_and_entry(2, 100))
    (asked,) = set(tailed.polls())
    stored = tailed.cluster.bookies[asked].ledgers[0].entries
    stored[2] = stored[2][:-1] + b"?"
    tailed.append(1)
    assert found == [(2, entry(2, 21))]
    assert len(set(tailed.polls())) == 2
