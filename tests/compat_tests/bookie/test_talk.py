"""What a reply must have, and what counts as the end of a connection."""

import time

import pytest

from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V3
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.line import Line
from compat_tests.wire.replies import parse
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EOK, EUA
from tests.compat_tests.fake_socket import FakeSocket
from tests.compat_tests.judge.fake_ground import made


@pytest.fixture
def talk():
    return Talk(Brief(made("BKW-X-001"), V3, 1), Site("127.0.0.1", 1))


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
