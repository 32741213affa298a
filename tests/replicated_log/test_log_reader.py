"""Reading a log across its ledgers, following it, finding positions."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.tailing import TAIL_WAIT_S
from bookkeeper_tx.errors import AlreadyTruncated, BookieUnavailable, MetadataUnavailable, NoSuchLedger, NoSuchLog
from bookkeeper_tx.replicated_log import DLSN, LogRecord, Namespace
from bookkeeper_tx.replicated_log.log_writer import PUBLISH_AFTER_S
from bookkeeper_tx.replicated_log.segment_list import CHUNK_COUNT
from tests.replicated_log.logs import LOG, Logs, payloads


class Follower:
    """Collects the records of a log as they come."""

    def __init__(self, logs: Logs, start: DLSN | None = None, client: BookKeeper | None = None) -> None:
        self.records: list[LogRecord] = []
        self.errors: list[BaseException] = []
        self._following = Namespace(client or logs.client()).read(LOG, start, follow=True)
        self._running = Deferred.fromCoroutine(self._follow(self._following))
        self._running.addErrback(lambda each: self.errors.append(each.value))
        logs.cluster.network.run()

    def end(self) -> None:
        self._running.cancel()

    async def _follow(self, following: AsyncGenerator[LogRecord, None]) -> None:
        async for record in following:
            self.records.append(record)


def settle(logs: Logs, seconds: int = 5) -> None:
    for _ in range(seconds * 10):
        logs.cluster.network.run()
        logs.cluster.clock.advance(0.1)
    logs.cluster.network.run()


def test_a_follower_goes_on_across_ledgers_and_writers() -> None:
    logs = Logs()
    follower = Follower(logs)
    writer = logs.open()
    settle(logs)
    logs.write(writer, b"a", b"b")
    logs.result(writer.roll())
    settle(logs)
    assert payloads(follower.records) == [b"a", b"b"]
    logs.write(writer, b"c")
    new = logs.open(logs.client())
    logs.write(new, b"d")
    logs.result(new.close())
    settle(logs)
    assert payloads(follower.records) == [b"a", b"b", b"c", b"d"]
    assert [str(each.dlsn) for each in follower.records] == ["0:0", "0:1", "1:0", "2:0"]
    assert follower.errors == []
    follower.end()


def test_a_follower_starts_behind_what_it_has() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    logs.result(writer.roll())
    follower = Follower(logs, DLSN(0, 0).next())
    logs.write(writer, b"b", b"c")
    logs.result(writer.close())
    settle(logs)
    assert payloads(follower.records) == [b"b", b"c"]
    follower.end()


def test_a_follower_whose_next_records_are_truncated_is_told() -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    logs.result(writer.close())
    follower = Follower(logs)
    settle(logs, 1)
    for number in range(3):
        writer = logs.open()
        logs.write(writer, b"%d" % number)
        logs.result(writer.close())
    logs.result(logs.logs().truncate(LOG, DLSN(3, 0)))
    settle(logs)
    assert payloads(follower.records) == [b"a"]
    assert isinstance(follower.errors[0], AlreadyTruncated)
    assert "the log starts at 3:0" in str(follower.errors[0])


@pytest.mark.parametrize("seconds", [5, 70])
@pytest.mark.parametrize("away", ["store", "bookies"])
def test_a_follower_waits_for_the_store_and_the_bookies_as_a_tail_does(away: str, seconds: int) -> None:
    logs = Logs()
    writer = logs.open()
    logs.write(writer, b"a")
    logs.result(writer.close())
    follower = Follower(logs)
    settle(logs, 2)
    writer = logs.open(logs.client())
    logs.write(writer, b"b")
    logs.result(writer.close())
    logs.cluster.state.away = away == "store"
    for bookie in logs.cluster.bookies.values():
        bookie.down = away == "bookies"
    settle(logs, seconds)
    logs.cluster.state.away = False
    for bookie in logs.cluster.bookies.values():
        bookie.down = False
    settle(logs)
    if seconds < TAIL_WAIT_S:
        assert follower.errors == []
        assert payloads(follower.records) == [b"a", b"b"]
        follower.end()
    else:
        assert isinstance(follower.errors[0], MetadataUnavailable if away == "store" else BookieUnavailable)


def test_a_follower_of_a_log_that_is_deleted_is_told() -> None:
    logs = Logs()
    logs.write(logs.open(), b"a")
    follower = Follower(logs)
    logs.result(logs.logs().delete_log(LOG))
    settle(logs, 120)
    assert isinstance(follower.errors[0], NoSuchLog)


def test_a_ledger_that_others_have_deleted_is_not_called_truncated() -> None:
    logs = Logs()
    logs.result(logs.open().close())
    logs.result(logs.first.delete_ledger(logs.ledger_ids[0]))
    with pytest.raises(NoSuchLedger):
        logs.read()


def test_a_follower_hears_of_the_last_record_at_once_though_nothing_is_written_behind_it() -> None:
    logs = Logs(3)
    writer = logs.open()
    logs.write(writer, b"bookies know the ledger from now on")
    follower = Follower(logs)
    settle(logs, 3)
    for number in range(3):
        logs.write(writer, b"%d" % number)
        logs.cluster.network.run()
        logs.cluster.clock.advance(PUBLISH_AFTER_S)
        logs.cluster.network.run()
        assert len(follower.records) == number + 2
        settle(logs, 1)
    follower.end()


def test_a_reader_that_does_not_follow_ends_at_what_is_confirmed() -> None:
    logs = Logs()
    writer = logs.open()
    assert logs.read() == []
    for payload in (b"a", b"b"):
        logs.write(writer, payload)
    assert payloads(logs.read()) == [b"a"]  # the next write says that b is confirmed
    assert logs.result(logs.logs(logs.client()).last_dlsn(LOG)) == DLSN(0, 0)
    logs.result(writer.roll())
    assert logs.result(logs.logs().last_dlsn(LOG)) == DLSN(0, 1)
    assert payloads(logs.read()) == [b"a", b"b"]


def test_a_log_that_is_rolled_while_it_is_read_has_no_gap() -> None:
    logs = Logs()
    writer = logs.open()
    for payload in (b"a", b"b"):
        logs.write(writer, payload)
    found: list[LogRecord] = []
    reading = Namespace(logs.client()).read(LOG)

    async def read() -> None:
        async for record in reading:
            found.append(record)
            if len(found) == 1:
                # The next ledger is there before the reader looks again.
                await writer.roll()
                await writer.write(b"c")
                await writer.close()

    logs.result(Deferred.fromCoroutine(read()))
    assert payloads(found) == [b"a", b"b", b"c"][: len(found)]
    assert payloads(logs.read()) == [b"a", b"b", b"c"]


def test_positions_at_the_ends() -> None:
    logs = Logs()
    namespace = logs.logs()
    assert logs.result(namespace.first_dlsn(LOG)) == DLSN(0, 0)
    assert logs.result(namespace.last_dlsn(LOG)) is None
    assert logs.read(DLSN(7, 0)) == []


def test_from_a_time_on_nothing_is_missed() -> None:
    logs = Logs()
    writer: Any = None
    now = [0.0]
    logs.first.driver.epoch_s = lambda: now[0]  # type: ignore[method-assign]
    count = 5 * CHUNK_COUNT + 7
    for number in range(count):
        now[0] = 1000.0 + number
        writer = logs.open()
    logs.result(writer.close())
    namespace = logs.logs()
    for second in (0, 999.9, 1000, 1000.5, 1127, 1128, 1300, 1000 + count - 1, 1e9):
        expected = min(max(0, int(second - 1000) - 1), count - 2)  # the one before the newest of then
        assert logs.result(namespace.dlsn_at(LOG, second)) == DLSN(expected, 0)
    for first in (3, CHUNK_COUNT, 3 * CHUNK_COUNT + 1, count - 1):
        logs.result(namespace.truncate(LOG, DLSN(first, 0)))
        for second in (0, 1127, 1300, 1e9):
            expected = max(first, min(int(second - 1000) - 1, count - 2))
            assert logs.result(namespace.dlsn_at(LOG, second)) == DLSN(expected, 0)


@pytest.mark.parametrize("answer_lost", [False, True])
def test_from_a_time_on_nothing_is_missed_that_was_written_while_a_ledger_was_added(answer_lost: bool) -> None:
    logs = Logs()
    now = [1000.0]
    logs.first.driver.epoch_s = lambda: now[0]  # type: ignore[method-assign]
    writer = logs.open()
    logs.write(writer, b"a")
    network = logs.cluster.network
    now[0] += 100
    writer.roll().addErrback(lambda failure: failure.trap(MetadataUnavailable))
    reply = network.deliver_until("reply store write record list")
    if answer_lost:
        network.lose(reply)
        network.run()
    now[0] += 3
    assert logs.write(writer, b"written in the ledger before") == [DLSN(0, 1)]
    logs.cluster.clock.advance(5)
    network.run()
    logs.result(writer.close())
    start = logs.result(logs.logs().dlsn_at(LOG, now[0]))
    assert b"written in the ledger before" in payloads(logs.read(start))
