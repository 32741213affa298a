"""Checks of replies, and of the end of a connection."""

import time

import pytest

from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V2, V3
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.line import Line, with_length
from compat_tests.wire.replies import parse
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import ENOLEDGER, EOK, EUA
from tests.compat_tests.fake_socket import FakeSocket
from tests.compat_tests.judge.fake_environment import make_case


@pytest.fixture
def talk():
    return Talk(Brief(make_case("BKW-X-001"), V3, 1), Site("127.0.0.1", 1))


def reply(*parts: str, status: int = EOK.v3, part_status: int | None = None):
    """A reply to a read, with parts of any operation."""
    message = v3_pb2.Response(status=status)
    message.header.version, message.header.operation, message.header.txn_id = 3, 1, 5
    for name in parts:
        part = getattr(message, name)
        part.status, part.ledger_id, part.entry_id = status if part_status is None else part_status, 7, 3
    return parse(message.SerializeToString())


def test_a_whole_reply(talk):
    talk.check_reply(reply("read_response"), EOK, ledger_id=7, entry_id=3)
    talk.check_reply(reply("read_response", status=EUA.v3), EUA)


def test_a_refusal_may_have_no_part(talk):
    talk.check_reply(reply(status=EUA.v3), EUA)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda: reply(), "the parts of the reply"),
        (lambda: reply("add_response"), "the parts of the reply"),
        (lambda: reply("read_response", "add_response"), "the parts of the reply"),
        (lambda: reply("read_response", part_status=EUA.v3), "status of the part"),
    ],
)
def test_a_reply_has_the_part_of_its_operation_with_the_same_status(talk, wrong, what):
    with pytest.raises(Mismatch, match=what):
        talk.check_reply(wrong(), EOK)


def line(talk, *pieces):
    return Line("main", FakeSocket(*pieces), talk.recording, time.monotonic() + 60)


def test_half_a_reply_is_one(talk):
    talk.expect_closed(line(talk, "end"))
    with pytest.raises(Mismatch, match="before the end"):
        talk.expect_closed(line(talk, b"\0\0\0\x18\2", "end"))
    talk.expect_silence(line(talk))
    with pytest.raises(Mismatch, match="meanwhile"):
        talk.expect_silence(line(talk, b"\0"))


@pytest.mark.parametrize(
    ("site", "statuses"), [("plain", (EOK, EOK)), ("tls", (EOK, EOK)), ("read-only", (ENOLEDGER, ENOLEDGER))]
)
@pytest.mark.parametrize("harmed", [False, True])
def test_a_client_beside_the_case_is_served_before_and_after(monkeypatch, site, statuses, harmed):
    talk = Talk(Brief(make_case("BKW-X-001", site=site), V2, 1), Site("127.0.0.1", 1))
    ledger_id = Talk(Brief(make_case("BKW-X-001", site=site), V2, 1), Site("127.0.0.1", 1)).new_ledger()
    first, second = (Operation.ADD_ENTRY if site != "read-only" else Operation.READ_ENTRY), Operation.READ_ENTRY
    replies = [
        b"".join([framing.join_header(2, operation).to_bytes(4, "big"), status.v2.to_bytes(4, "big"),
                  ledger_id.to_bytes(8, "big"), bytes(8)])
        for operation, status in zip((first, second), statuses, strict=True)
    ]  # fmt: skip
    pieces = [with_length(replies[0]), "end" if harmed else with_length(replies[1])]
    monkeypatch.setattr(Line, "to", lambda address, name, recording, *more: line(talk, *pieces))
    talk.begin()
    if not harmed:
        talk.finish()
        return
    with pytest.raises(Mismatch, match="a client beside this one"):
        talk.finish()
