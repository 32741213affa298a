"""Many requests at once: those that the bookie refuses as too many are sent again."""

import time

import pytest

from compat_tests.bookie.pipeline import ask_all, ask_until_served, statuses
from compat_tests.judge.recording import Recording
from compat_tests.wire import v2_requests
from compat_tests.wire.line import Line
from protocol_specs.wire import framing, v2
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import EOK, ETOOMANYREQUESTS, Status
from tests.compat_tests.fake_socket import FakeSocket

LEDGER = 7
READS = [v2_requests.read(LEDGER, entry_id) for entry_id in range(3)]


def reply(entry_id: int, status: Status) -> bytes:
    header = framing.join_header(2, Operation.READ_ENTRY)
    fields = {"header": header, "status": status.v2, "ledger_id": LEDGER, "entry_id": entry_id, "entry": b""}
    body = v2.READ_REPLY.build(fields)
    return len(body).to_bytes(4, "big") + body


def line(*replies: bytes) -> Line:
    return Line("main", FakeSocket(*replies), Recording(), time.monotonic() + 60)


def test_what_was_one_too_many_is_asked_again() -> None:
    asked = line(reply(0, EOK), reply(2, ETOOMANYREQUESTS), reply(1, EOK), reply(2, EOK))
    assert statuses(ask_until_served(asked, READS)) == ["EOK"] * 3


@pytest.mark.parametrize("ask", [ask_all, ask_until_served])
def test_it_is_not_asked_for_ever(ask) -> None:
    asked = line(*(reply(entry_id, ETOOMANYREQUESTS) for entry_id in (0, 1, 2, 0, 1, 2)))
    assert statuses(ask(asked, READS)) == ["ETOOMANYREQUESTS"] * 3
