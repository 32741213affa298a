"""A context is logged with what the bookie fails, and changes nothing else."""

from typing import Any

import pytest
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.operations.request_context import ContextConnection
from bookkeeper_tx.protocol.bookie import v3_replies
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from tests.bookie.seams import Client


@pytest.fixture
def logged() -> Any:
    events: list[dict[str, Any]] = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)


@pytest.mark.parametrize(
    ("status", "is_logged"), [(statuses.EOK, False), (statuses.ENOENTRY, False), (statuses.EIO, True)]
)
def test_what_the_bookie_fails_is_logged_with_its_context(status: Status, is_logged: bool, logged: list[Any]) -> None:
    client: Any = Client()
    reply = v3_replies.reply(V3Operation.FORCE_LEDGER, 7, status, ledger_id=9)
    ContextConnection(client, "job=4711").send([reply[:4], reply[4:]])
    assert client.take() == [reply[:4], reply[4:]]
    assert [event["context"] for event in logged if "context" in event] == ["job=4711"] * is_logged


def test_it_counts_as_the_connection_that_it_is() -> None:
    client: Any = Client()
    first, second = ContextConnection(client, "a"), ContextConnection(client, "b")
    assert {first: 1, second: 2, client: 3} == {client: 3}
    first.pause()
    assert client.pauses == 1
