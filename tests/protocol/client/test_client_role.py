"""Whatever bytes a bookie sends, a client's connection completes every request once and stays small.

Streams are made of good replies in any order, repeated, to nobody, with changed bytes, cut and run together, and of
noise; they arrive in pieces of any size.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, ProtocolViolation
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from protocol_specs import ledger_id as ids
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer, bare, framed
from tests.sampling import examples

FRAME_SIZE_MAX = 4096
KEY = bytes(20)
LEDGERS = (1, 2, ids.join(7, 1))
V2_STATUSES = (0, 0, 0, 1, 2, 100, 104, 107, 999)
V3_STATUSES = (0, 0, 0, 402, 403, 404, 501, 504, 507)

Asked = tuple[str, int, int]
"""Kind, ledger and first entry of a request; its number on the connection counts up."""


def ask(connection: Any, token: int, asked: Asked) -> Any:
    """Make the request; for one that is a value, return the function that withdraws it."""
    kind, ledger_id, entry_id = asked
    deadline = 10.0 + token % 7
    common = (token, deadline, ledger_id)
    if kind == "add":
        ids = (ledger_id % 2**64).to_bytes(8, "big") + entry_id.to_bytes(8, "big")
        return connection.add_entry(*common, entry_id, ids + bytes(24), KEY)
    if kind == "read":
        return connection.read_entry(*common, entry_id)
    if kind == "range":
        return connection.read_range(*common, entry_id, entry_id + 3, 60 if token % 2 else None)
    values: dict[str, Callable[[], Request]] = {
        "batch": lambda: ReadBatch(ledger_id, entry_id, 10, 1000),
        "poll": lambda: AwaitLastAddConfirmed(ledger_id, entry_id, 1000, True),
        "lac": lambda: ReadLastAddConfirmed(ledger_id),
        "write-lac": lambda: WriteLastAddConfirmed(ledger_id, entry_id, KEY, bytes(20)),
        "force": lambda: ForceLedger(ledger_id),
        "list": lambda: ListEntries(ledger_id),
        "info": ReadBookieInfo,
    }
    return connection.send(values[kind](), token, deadline)


# Streams of a bookie -------------------------------------------------------------------------------------------------


def v2_reply(number: int, asked: Asked, offset: int, status: int, body: bytes) -> bytes:
    kind, ledger_id, entry_id = asked
    operation = {"add": 1, "batch": 7}.get(kind, 2)
    entry = entry_id + (offset % 4 if kind == "range" else 0)
    head = (2 << 24 | operation << 16).to_bytes(4, "big") + status.to_bytes(4, "big")
    where = (ledger_id & (2**63 - 1)).to_bytes(8, "big") + entry.to_bytes(8, "big")
    if kind == "add":
        return framed(head + where)
    if kind != "batch":
        return framed(head + where + (body if status == 0 else b""))
    records = framed(body) * (offset % 4) if status == 0 else b""
    return framed(head + where + number.to_bytes(8, "big") + records)


_V3_KINDS: dict[str, tuple[V3Operation, Callable[[int, bytes], dict[str, Any]]]] = {
    "add": (V3Operation.ADD_ENTRY, lambda entry, _: {"entry_id": entry}),
    "read": (V3Operation.READ_ENTRY, lambda entry, body: {"entry_id": entry, "body": body}),
    "range": (V3Operation.READ_ENTRY, lambda entry, body: {"entry_id": entry, "body": body}),
    "poll": (V3Operation.READ_ENTRY, lambda entry, body: {"entry_id": entry, "body": body, "max_lac": entry}),
    "batch": (V3Operation.BATCH_READ_ENTRY, lambda entry, body: {"start_entry_id": entry, "body": [body] * 3}),
    "lac": (V3Operation.READ_LAC, lambda _, body: {"lac_body": body}),
    "write-lac": (V3Operation.WRITE_LAC, lambda *_: {}),
    "force": (V3Operation.FORCE_LEDGER, lambda *_: {}),
    "list": (
        V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER,
        lambda entry, _: {"availability_of_entries_of_ledger": entry_list.encode([entry])},
    ),
    "info": (V3Operation.GET_BOOKIE_INFO, lambda *_: {"free_disk_space": 4}),
}


def v3_reply(number: int, asked: Asked, offset: int, status: int, body: bytes) -> bytes:
    kind, ledger_id, entry_id = asked
    operation, part_of = _V3_KINDS[kind]
    if status and offset % 2:
        return bare(operation, number, status)
    part = part_of(entry_id, body)
    if kind != "info":
        scope_id, part["ledger_id"] = ids.split(ledger_id)
        if scope_id and offset != 3:
            part["ledger_scope_id"] = scope_id
    return answer(operation, number, status, **part)


VERSIONS: dict[str, tuple[Any, Any, tuple[int, ...], tuple[str, ...]]] = {
    "v2": (V2ClientConnection, v2_reply, V2_STATUSES, ("add", "read", "range", "batch")),
    "v3": (V3ClientConnection, v3_reply, V3_STATUSES, tuple(_V3_KINDS)),
}


@st.composite
def streams(draw: Any, version: str) -> tuple[list[Asked], list[bytes]]:
    """Requests, and the pieces of a stream with replies to them, to no request, and noise."""
    _, reply, statuses, kinds = VERSIONS[version]
    asked = draw(
        st.lists(
            st.tuples(st.sampled_from(kinds), st.sampled_from(LEDGERS), st.integers(0, 5)), min_size=1, max_size=12
        )
    )
    numbers = st.integers(1, 4 * len(asked) + 2)
    good = st.builds(
        lambda number, which, offset, status, body: reply(number, asked[which], offset, status, body),
        numbers,
        st.integers(0, len(asked) - 1),
        st.integers(0, 3),
        st.sampled_from(statuses),
        st.binary(max_size=50),
    )
    changed = st.builds(
        lambda frame, at, value: frame[: at % len(frame)] + bytes([value]) + frame[at % len(frame) + 1 :],
        good,
        st.integers(0, 200),
        st.integers(0, 255),
    )
    cut = st.builds(lambda frame, at: frame[: at % len(frame)], good, st.integers(0, 200))
    pieces = draw(st.lists(st.one_of(good, good, good, good, changed, cut, st.binary(max_size=40)), max_size=25))
    data = b"".join(pieces)
    edges = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return asked, [data[a:b] for a, b in pairwise([0, *edges, len(data)])]


def run(version: str, asked: list[Asked], pieces: list[bytes], forgets: set[int]) -> None:
    """Make the requests, feed the pieces, and check that each request completes once."""
    make = VERSIONS[version][0]
    connection = make(FRAME_SIZE_MAX)
    completions: Counter[int] = Counter()
    kept: Counter[int] = Counter(range(len(asked)))

    def take(done: list[Any]) -> None:
        for token, error, _ in done:
            assert error is None or isinstance(error, BookKeeperError)
            completions[token] += 1

    for token, each in enumerate(asked):
        forget = ask(connection, token, each)
        if each[0] == "poll" and token in forgets:
            forget()
            del kept[token]
    connection.data_to_send()
    end: BookKeeperError = BookieUnavailable()
    for piece in pieces:
        try:
            take(connection.receive(piece))
        except ProtocolViolation as error:
            end = error
            break
        assert sum(map(len, connection._frames._pieces)) <= FRAME_SIZE_MAX + 200
    take(connection.expire(12.0))
    take(connection.fail_all(end))
    assert completions == kept
    assert not connection.waiting
    assert connection.fail_all(end) == []
    assert connection.expire(1e9) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_completes_once_whatever_comes(version: str) -> None:
    @settings(max_examples=examples(400), deadline=None)
    @given(streams(version), st.sets(st.integers(0, 11)))
    def check(stream: tuple[list[Asked], list[bytes]], forgets: set[int]) -> None:
        run(version, *stream, forgets)

    check()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_good_reply_to_each_completes_it_at_once(version: str) -> None:
    """The replies that the other test damages are good ones."""
    make, reply, _, kinds = VERSIONS[version]
    for kind in kinds:
        connection = make(FRAME_SIZE_MAX)
        asked = (kind, 1, 3)
        ask(connection, 0, asked)
        count = 4 if kind == "range" else 1
        data = b"".join(reply(1 + at, asked, at or 2 * (count == 1), 0, b"body") for at in range(count))
        ((token, error, _),) = connection.receive(data)
        assert (token, error) == (0, None)


@pytest.mark.parametrize("version", VERSIONS)
@given(st.lists(st.binary(min_size=1, max_size=3000), max_size=5))
def test_what_is_not_read_yet_is_bounded_by_the_frame_limit(version: str, noise: list[bytes]) -> None:
    connection = VERSIONS[version][0](FRAME_SIZE_MAX)
    for piece in noise:
        try:
            connection.receive(piece)
        except ProtocolViolation:
            return
        assert sum(map(len, connection._frames._pieces)) <= FRAME_SIZE_MAX + 200


@pytest.mark.parametrize("status", ["good", "refused"])
@pytest.mark.parametrize(
    ("version", "kind"), [(version, kind) for version in VERSIONS for kind in VERSIONS[version][3]]
)
def test_a_reply_says_when_the_request_it_answers_was_due(version: str, kind: str, status: str) -> None:
    make, reply, statuses, _ = VERSIONS[version]
    connection = make(FRAME_SIZE_MAX)
    asked = (kind, 1, 4)
    ask(connection, 3, ("add", 2, 9))
    ask(connection, 1, asked)
    number = 2 if version == "v3" else 1
    data = reply(number, asked, 0, 0 if status == "good" else statuses[3], bytes(40))
    connection.receive(data[:9])
    assert connection.answered is None, "a part of a reply"
    connection.receive(data[9:])
    assert connection.answered == 11.0
    if kind != "range" or version == "v3":
        connection.receive(data)
        assert connection.answered is None, "nobody waits for it any more"
