"""A client's side of a V3 connection: requests in flight, and every way they end."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import (
    BookieUnavailable,
    LedgerFenced,
    NoSuchEntry,
    ProtocolViolation,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieDisk
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer, bare

KEY = bytes(20)
LATER = 10.0


def entry(entry_id: int) -> bytes:
    return b"".join(each.to_bytes(8, "big", signed=True) for each in (1, entry_id, entry_id - 1, 5)) + b"hello"


@pytest.fixture
def client() -> V3ClientConnection:
    return V3ClientConnection(fields.FRAME_SIZE_MAX)


def asked(client: V3ClientConnection) -> list[Any]:
    """Return the requests made, one by one, as a bookie reads them."""
    data, requests, at = client.data_to_send(), [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        requests += ServerConnection().receive(data[at:end])
        at = end
    return requests


def plain(completions: list[Any]) -> list[Any]:
    return [(token, type(error) if error else None, value) for token, error, value in completions]


def test_unauthorized_says_whether_it_was_the_ledger_or_the_client(client: V3ClientConnection) -> None:
    def text(reply: bytes) -> str:
        ((_, error, _),) = client.receive(reply)
        assert isinstance(error, Unauthorized)
        return str(error)

    for _ in range(2):
        client.add_entry("add", LATER, 1, 4, entry(4), KEY)
    assert "authenticate: give ClientConfig.auth" in text(bare(V3Operation.ADD_ENTRY, 1, statuses.EUA.v3))
    of_the_ledger = answer(V3Operation.ADD_ENTRY, 2, statuses.EUA.v3, ledger_id=1, entry_id=4)
    assert "ledger's password" in text(of_the_ledger)


def test_each_operation_completes_with_its_value(client: V3ClientConnection) -> None:
    client.add_entry("add", LATER, 1, 4, entry(4), KEY)
    client.read_entry("read", LATER, 1, 4)
    client.send(ReadLastAddConfirmed(1), "lac", LATER)
    client.send(WriteLastAddConfirmed(1, 3, KEY, bytes(16)), "write", LATER)
    client.send(ReadBookieInfo(), "info", LATER)
    add, read, lac, write, info = asked(client)
    assert client.data_to_send() == b""
    replies = [
        info.reply(statuses.EOK, 9, 4),
        write.reply(statuses.EOK),
        lac.reply(statuses.EOK, b"blob", entry(4)),
        b"".join(read.replies([entry(4)], 3)),
        add.replies(statuses.EOK),
    ]
    assert client.receive(b"".join(replies)) == [
        ("info", None, BookieDisk(9, 4)),
        ("write", None, None),
        ("lac", None, (b"blob", entry(4))),
        ("read", None, entry(4)),
        ("add", None, None),
    ]
    assert not client.waiting


def test_errors(client: V3ClientConnection) -> None:
    client.add_entry("add", LATER, 1, 4, entry(4), KEY)
    client.read_entry("read", LATER, 1, 4)
    client.send(ReadLastAddConfirmed(1), "lac", LATER)
    add, read, lac = asked(client)
    read_reply = b"".join(read.replies([statuses.ENOENTRY], 0))
    data = add.replies(statuses.EFENCED) + read_reply + lac.reply(statuses.EIO, b"b", None)
    assert plain(client.receive(data)) == [
        ("add", LedgerFenced, None),
        ("read", NoSuchEntry, None),
        ("lac", StorageFailed, (b"b", None)),
    ]


def test_equal_requests_are_told_apart(client: V3ClientConnection) -> None:
    for token in "abc":
        client.read_entry(token, LATER, 1, 4)
    requests = asked(client)
    data = b"".join(b"".join(request.replies([statuses.ENOENTRY], 0)) for request in reversed(requests))
    assert [token for token, _, _ in client.receive(data)] == ["c", "b", "a"]


def test_a_reply_to_another_operation_or_to_nobody_is_dropped(client: V3ClientConnection) -> None:
    client.read_entry("read", LATER, 1, 4)
    other = V3ClientConnection(fields.FRAME_SIZE_MAX)
    other.add_entry("add", LATER, 1, 4, entry(4), KEY)
    (add,) = asked(other)
    assert client.receive(add.replies(statuses.EOK)) == []
    assert client.waiting
    (read,) = asked(client)
    reply = b"".join(read.replies([entry(4)], 0))
    assert len(client.receive(reply)) == 1
    assert client.receive(reply) == []


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_a_range_completes_once_whatever_the_order(order: list[int], missing: set[int]) -> None:
    client = V3ClientConnection(fields.FRAME_SIZE_MAX)
    client.read_range("range", LATER, 1, 10, 15)
    requests = asked(client)
    assert [request.entry_ids for request in requests] == [[each] for each in range(10, 16)]
    done = []
    for at in order:
        assert not done
        answer = statuses.ENOENTRY if at in missing else entry(10 + at)
        done = client.receive(b"".join(requests[at].replies([answer], 0)))
    ((token, error, run),) = done
    good = min(missing, default=6)
    assert token == "range"
    if good:
        assert (error, list(run)) == (None, [entry(10 + at) for at in range(good)])
    else:
        assert (type(error), run) == (NoSuchEntry, None)
    assert not client.waiting


@pytest.mark.parametrize("end", ["late answers", "time-out", "lost"])
def test_a_range_of_enough_bytes_is_complete_and_what_is_left_is_nobodys(client: V3ClientConnection, end: str) -> None:
    client.read_range("range", 20.0, 1, 0, 9, 3 * len(entry(0)))
    requests = asked(client)
    answers = [b"".join(request.replies([entry(each)], 0)) for each, request in enumerate(requests)]
    ((token, error, run),) = [each for answer in answers[:4] for each in client.receive(answer)]
    assert (token, error, list(run)) == ("range", None, [entry(0), entry(1), entry(2)])
    if end == "late answers":
        assert client.receive(b"".join(answers[4:])) == []
    elif end == "time-out":
        assert client.expire(20.0) == []
    else:
        assert client.fail_all(BookieUnavailable()) == []
    assert not client.waiting


def test_what_is_overdue_times_out_adds_and_others_apart(client: V3ClientConnection) -> None:
    client.read_entry("read", 20.0, 1, 4)
    client.add_entry("add", 5.0, 1, 4, entry(4), KEY)
    client.read_range("range", 20.0, 1, 0, 1)
    requests = asked(client)
    assert client.receive(b"".join(requests[2].replies([entry(0)], 0))) == []
    assert client.expire(4.9) == []
    assert plain(client.expire(5.0)) == [("add", RequestTimedOut, None)]
    read, (token, error, run) = client.expire(20.0)
    assert plain([read]) == [("read", RequestTimedOut, None)]
    assert (token, error, list(run)) == ("range", None, [entry(0)])
    assert not client.waiting
    assert client.receive(b"".join(requests[0].replies([entry(4)], 0))) == []


def test_a_lost_connection_fails_everything_once(client: V3ClientConnection) -> None:
    client.add_entry("add", LATER, 1, 4, entry(4), KEY)
    client.read_range("range", LATER, 1, 0, 3)
    client.send(ReadBookieInfo(), "info", LATER)
    client.send(ReadBatch(1, 0, 1, 1), "batch", LATER)
    error = BookieUnavailable()
    failed = client.fail_all(error)
    assert sorted(token for token, _, _ in failed) == ["add", "batch", "info", "range"]
    assert all(each is error for _, each, _ in failed)
    assert client.fail_all(error) == []
    assert not client.waiting


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x04junk", (2**31).to_bytes(4, "big")])
def test_what_is_no_reply_is_a_violation(client: V3ClientConnection, data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        client.receive(data)


def test_what_was_answered_before_garbage_is_delivered(client: V3ClientConnection) -> None:
    client.add_entry("add", LATER, 1, 4, entry(4), KEY)
    client.read_entry("read", LATER, 1, 4)
    add, _ = asked(client)
    with pytest.raises(ProtocolViolation) as raised:
        client.receive(add.replies(statuses.EOK) + b"\xff\xff\xff\xff")
    assert client.fail_all(raised.value) == [("add", None, None), ("read", raised.value, None)]
    assert client.fail_all(raised.value) == []


def test_an_entry_as_large_as_an_add_may_be_can_be_read() -> None:
    limit = 4096
    client = V3ClientConnection(limit)
    client.read_entry("read", LATER, 2**63 - 1, 2**63 - 1)
    (read,) = asked(client)
    largest = bytes(limit - 28)
    reply = b"".join(read.replies([largest], 2**63 - 1))
    assert limit < len(reply) <= limit + v3.REPLY_OVERHEAD_MAX
    assert client.receive(reply) == [("read", None, largest)]


@given(st.lists(st.integers(0, 400), max_size=6))
def test_replies_may_arrive_in_pieces(cuts: list[int]) -> None:
    client = V3ClientConnection(fields.FRAME_SIZE_MAX)
    client.read_range("range", LATER, 1, 0, 3)
    data = b"".join(b"".join(request.replies([entry(at)], 0)) for at, request in enumerate(asked(client)))
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    done = [each for a, b in pairwise(edges) for each in client.receive(data[a:b])]
    ((token, error, run),) = done
    assert (token, error, list(run)) == ("range", None, [entry(at) for at in range(4)])
