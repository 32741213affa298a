"""A context is logged with what the bookie fails, and changes nothing else."""

from typing import Any

import pytest
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.operations import request_context
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status
from tests.bookie.seams import Client, Force


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
    client, request = Client(), Force()
    client.observe(request, request_context.logged(client, "job=4711"))
    client.reply(request, status, [b"repl", b"y"])
    assert client.take() == [b"repl", b"y"]
    found = [(event["connection"], event["context"]) for event in logged if "context" in event]
    assert found == [(client, "job=4711")] * is_logged
