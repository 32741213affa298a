"""When a log goes on in another ledger, and that no write is lost by it."""

from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import LogClosed
from bookkeeper_tx.replicated_log import DLSN, LogWriter
from tests.client.puppet_network import AtOnce
from tests.replicated_log.logs import LOG, SMALL_CONFIG, Logs, payloads

Write = Callable[[LogWriter, bytes], "Deferred[DLSN]"]


def rolled_by_size(config: ClientConfig | None = None, store_answers_at_once: bool = False) -> tuple[Logs, LogWriter]:
    """Return a log that goes on in another ledger after 10 bytes, and its writer."""
    logs = Logs()
    if store_answers_at_once:
        logs.cluster.store_network = AtOnce()
    return logs, logs.open(logs.client(config), roll_size_bytes=10)


def in_bulk(writer: LogWriter, payload: bytes) -> "Deferred[DLSN]":
    return writer.write_bulk([payload]).addCallback(lambda positions: positions[0])


@pytest.mark.parametrize("write", [LogWriter.write, in_bulk])
@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("config", [None, SMALL_CONFIG, ClientConfig(protocol="v3")])
def test_no_write_fails_in_a_roll_that_is_over_at_once(write: Write, window: int, config: ClientConfig | None) -> None:
    """The store answers before it is waited for, and bookies when all has been sent to them."""
    logs, writer = rolled_by_size(config, store_answers_at_once=True)
    found: list[DLSN] = []
    for start in range(0, 42, window):
        writes = [write(writer, b"%05d" % number) for number in range(start, start + window)]
        found += [logs.result(each) for each in writes]
        logs.cluster.clock.advance(0)
    assert found == sorted(found)
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"%05d" % number for number in range(42)]
    assert len(logs.ledger_ids) > 2
    assert all(logs.cluster.metadata(ledger_id).closed for ledger_id in logs.ledger_ids)


def test_a_write_that_a_callback_makes_is_stored_behind_the_one_that_it_waited_for() -> None:
    logs, writer = rolled_by_size(store_answers_at_once=True)
    found: list[DLSN] = []

    async def write_on() -> None:
        for number in range(20):
            found.append(await writer.write(b"%05d" % number))

    logs.result(Deferred.fromCoroutine(write_on()))
    assert found == sorted(found)
    assert len(found) == 20
    logs.result(writer.close())
    assert payloads(logs.read()) == [b"%05d" % number for number in range(20)]


def test_a_roll_begins_with_the_first_write_behind_the_size() -> None:
    logs, writer = rolled_by_size()
    logs.write(writer, b"x" * 10)
    logs.cluster.clock.advance(60)
    logs.cluster.network.run()
    assert len(logs.ledger_ids) == 1
    assert logs.write(writer, b"y") == [DLSN(0, 1)]
    logs.cluster.clock.advance(0)
    logs.cluster.network.run()
    assert logs.write(writer, b"z") == [DLSN(1, 0)]


def test_a_roll_that_is_about_to_begin_is_given_up_when_the_writer_is_closed() -> None:
    logs, writer = rolled_by_size(store_answers_at_once=True)
    writes = [writer.write(b"x" * 10), writer.write(b"y")]
    closing = writer.close()
    assert logs.cluster.clock.getDelayedCalls() == []
    logs.result(closing)
    assert [logs.result(each) for each in writes] == [DLSN(0, 0), DLSN(0, 1)]
    with pytest.raises(LogClosed):
        logs.write(writer, b"z")
    assert len(logs.ledger_ids) == 1
    assert logs.cluster.metadata(logs.ledger_ids[0]).closed
    assert logs.noted == []


def test_a_roll_that_is_about_to_begin_is_the_one_that_is_asked_for() -> None:
    logs, writer = rolled_by_size()
    logs.write(writer, b"x" * 10, b"y")
    logs.result(writer.roll())
    logs.cluster.clock.advance(0)
    logs.cluster.network.run()
    assert logs.write(writer, b"z") == [DLSN(1, 0)]
    assert logs.result(logs.logs().log_state(LOG)).segment_count == 2
