"""Protocol version V2, client side: requests, completions, lateness, loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    BookieUnavailable,
    IllegalOperation,
    LedgerFenced,
    NoSuchEntry,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.protocol.bookie import v2
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag

KEY = bytes(range(20))
LEDGER = 7


def entry(entry_id: int, payload: bytes = b"payload") -> bytes:
    return EntryRun.of_entries(LEDGER, entry_id, [_ids(LEDGER, entry_id) + bytes(16) + payload]).entry(entry_id)


def _ids(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "big", signed=True) for value in values)


@pytest.fixture
def client() -> V2ClientConnection:
    return V2ClientConnection(fields.FRAME_SIZE_MAX)


def requests_of(client: V2ClientConnection) -> list[object]:
    return ServerConnection().receive(client.data_to_send())


def test_an_add_reaches_the_bookie_and_its_reply_the_caller(client: V2ClientConnection) -> None:
    client.add_entry("token", 1.0, LEDGER, 3, entry(3), KEY, Flag.RECOVERY_ADD)
    (request,) = requests_of(client)
    assert isinstance(request, v2.AddRequests)
    assert (request.entries.entry(3), request.master_key, request.recovery) == (entry(3), KEY, True)
    assert client.receive(request.replies(statuses.EOK)) == [("token", None, None)]
    assert not client.waiting


@pytest.mark.parametrize("count", [1, 7, 8, 500])
def test_many_adds_complete_in_order(client: V2ClientConnection, count: int) -> None:
    for entry_id in range(count):
        client.add_entry(entry_id, 1.0, LEDGER, entry_id, entry(entry_id), KEY)
    replies = b"".join(request.replies(statuses.EOK) for request in requests_of(client))
    assert client.receive(replies) == [(entry_id, None, None) for entry_id in range(count)]


def test_an_error_reply_is_the_error_of_its_status(client: V2ClientConnection) -> None:
    client.add_entry("add", 1.0, LEDGER, 0, entry(0), KEY)
    client.read_entry("read", 1.0, LEDGER, 5)
    client.send(ReadBatch(LEDGER, 5, 10, 1000), "batch", 1.0)
    add, read, batch = requests_of(client)
    done = client.receive(add.replies(statuses.EFENCED))
    done += client.receive(b"".join(read.replies([statuses.ENOENTRY], fields.NO_ENTRY)))
    done += client.receive(batch.error(statuses.ENOENTRY))
    assert [(token, type(error), value) for token, error, value in done] == [
        ("add", LedgerFenced, None),
        ("read", NoSuchEntry, None),
        ("batch", NoSuchEntry, None),
    ]


def test_an_unknown_status_is_an_error_and_not_the_end(client: V2ClientConnection) -> None:
    client.read_entry("read", 1.0, LEDGER, 5)
    (read,) = requests_of(client)
    reply = bytearray(b"".join(read.replies([statuses.EIO], fields.NO_ENTRY)))
    reply[8:12] = (999).to_bytes(4, "big")
    ((token, error, _),) = client.receive(bytes(reply))
    assert (token, "999" in str(error)) == ("read", True)


def test_equal_reads_are_answered_in_turn(client: V2ClientConnection) -> None:
    client.read_entry("first", 1.0, LEDGER, 5)
    client.read_entry("second", 1.0, LEDGER, 5)
    replies = [request.replies([entry(5)] * len(request.entry_ids), fields.NO_ENTRY) for request in requests_of(client)]
    assert [token for token, _, _ in client.receive(b"".join(part for reply in replies for part in reply))] == [
        "first",
        "second",
    ]


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 9, 9, 9, 9, 40])), max_size=60), st.data())
def test_each_single_read_gets_its_own_entry(asked: list[tuple[int, int]], data: st.DataObject) -> None:
    """Of any ledgers, of equal sizes and others, with errors and answers to nobody between them, cut anywhere."""
    client = V2ClientConnection(fields.FRAME_SIZE_MAX)
    some = st.sets(st.integers(0, 59))
    waits, missing = data.draw(some), data.draw(some)
    stream, expected = b"", []
    for entry_id in data.draw(st.permutations(range(len(asked)))):
        ledger_id, size = asked[entry_id]
        found = _ids(ledger_id, entry_id) + bytes([entry_id]) * size
        answer = statuses.ENOENTRY if entry_id in missing else found
        stream += b"".join(v2.ReadRequests(0x02020000, ledger_id, (entry_id,)).replies([answer], fields.NO_ENTRY))
        if entry_id in waits:
            client.read_entry(entry_id, 1.0, ledger_id, entry_id)
            expected.append((entry_id, entry_id in missing, None if entry_id in missing else found))
    cut = data.draw(st.integers(0, len(stream)))
    done = client.receive(stream[:cut]) + client.receive(stream[cut:])
    assert [(token, isinstance(error, NoSuchEntry), value) for token, error, value in done] == expected
    assert not client.waiting


def test_a_late_reply_is_inert(client: V2ClientConnection) -> None:
    client.read_entry("read", 1.0, LEDGER, 5)
    client.add_entry("add", 1.5, LEDGER, 6, entry(6), KEY)
    client.send(ReadBatch(LEDGER, 5, 10, 1000), "batch", 2.0)
    client.read_range("range", 2.5, LEDGER, 10, 11)
    read, add, batch, ten, eleven = requests_of(client)
    assert [token for token, _, _ in client.expire(1.2)] == ["read"]
    assert [token for token, _, _ in client.expire(2.2)] == ["add", "batch"]
    ((token, error, run),) = client.expire(2.5)
    assert (token, type(error), run) == ("range", RequestTimedOut, None)
    late = b"".join(
        [
            *read.replies([entry(5)], fields.NO_ENTRY),
            add.replies(statuses.EOK),
            *batch.reply([], 0),
            *ten.replies([entry(10)], fields.NO_ENTRY),
            *eleven.replies([entry(11)], fields.NO_ENTRY),
        ]
    )
    assert client.receive(late) == []
    assert not client.waiting


@given(
    st.integers(1, 40),
    st.data(),
)
def test_a_range_completes_once_whatever_the_order(count: int, data: st.DataObject) -> None:
    client = V2ClientConnection(fields.FRAME_SIZE_MAX)
    client.read_range("range", 1.0, LEDGER, 100, 99 + count)
    asked = [entry_id for request in requests_of(client) for entry_id in request.entry_ids]
    assert asked == list(range(100, 100 + count))
    missing = data.draw(st.sets(st.sampled_from(asked)))
    order = data.draw(st.permutations(asked))
    stream = b""
    for entry_id in order:
        answer = statuses.ENOENTRY if entry_id in missing else entry(entry_id)
        stream += b"".join(v2.ReadRequests(0x02020000, LEDGER, (entry_id,)).replies([answer], fields.NO_ENTRY))
    cut = data.draw(st.integers(0, len(stream)))
    done = client.receive(stream[:cut]) + client.receive(stream[cut:])
    ((token, error, run),) = done
    good = min(missing, default=100 + count) - 100
    assert token == "range"
    if good:
        assert (error, list(run)) == (None, [entry(entry_id) for entry_id in asked[:good]])
        assert (run.first_entry_id, run.count) == (100, good)
    else:
        assert (type(error), run) == (NoSuchEntry, None)


def test_a_range_of_enough_bytes_is_complete_and_late_answers_serve_the_next(client: V2ClientConnection) -> None:
    client.read_range("range", 1.0, LEDGER, 0, 9, 3 * len(entry(0)))
    answers = [
        b"".join(v2.ReadRequests(0x02020000, LEDGER, (each,)).replies([entry(each)], fields.NO_ENTRY))
        for each in range(10)
    ]
    done = [each for answer in answers[:5] for each in client.receive(answer)]
    ((token, error, run),) = done
    assert (token, error, list(run)) == ("range", None, [entry(0), entry(1), entry(2)])
    assert not client.waiting
    client.read_range("next", 1.0, LEDGER, 5, 9)
    ((token, error, run),) = client.receive(b"".join(answers[5:]))
    assert (token, error, list(run)) == ("next", None, [entry(each) for each in range(5, 10)])


def test_ranges_and_singles_of_one_ledger_do_not_mix_up(client: V2ClientConnection) -> None:
    client.read_range("range", 1.0, LEDGER, 0, 19)
    client.read_entry("single", 1.0, LEDGER, 25)
    client.read_range("other", 1.0, LEDGER, 20, 24)
    stream = b"".join(
        b"".join(request.replies([entry(entry_id) for entry_id in request.entry_ids], fields.NO_ENTRY))
        for request in requests_of(client)
    )
    done = {token: value if token == "single" else list(value) for token, _, value in client.receive(stream)}
    assert done == {
        "range": [entry(i) for i in range(20)],
        "single": entry(25),
        "other": [entry(i) for i in range(20, 25)],
    }


def test_a_batch_is_a_run(client: V2ClientConnection) -> None:
    client.send(ReadBatch(LEDGER, 5, 10, 1000, Flag.FENCING, KEY), "batch", 1.0)
    (request,) = requests_of(client)
    assert (request.start_entry_id, request.max_count, request.max_size) == (5, 10, 1000)
    assert (request.fencing, request.master_key) == (True, KEY)
    records = EntryRun.of_entries(LEDGER, 5, [entry(5), entry(6, b"")])
    ((token, error, run),) = client.receive(b"".join(request.reply([records.records(5, 2)], 0)))
    assert (token, error, list(run)) == ("batch", None, [entry(5), entry(6, b"")])


def test_a_batch_reply_may_pass_the_limit_by_its_header() -> None:
    client = V2ClientConnection(1024)
    client.send(ReadBatch(LEDGER, 5, 1, 1024), "batch", 1.0)
    (request,) = requests_of(client)
    large = EntryRun.of_entries(LEDGER, 5, [entry(5, bytes(1024 - 28 - 32))])
    ((_, error, run),) = client.receive(b"".join(request.reply([large.buffer], 0)))
    assert (error, run.size) == (None, large.size)


@pytest.mark.parametrize(
    "reply",
    [
        b"\0\0\0\x04\x02\x01\0\0",
        b"\0\0\0\x18\x02\x09\0\0" + bytes(20),
        b"\0\0\0\x18\x03\x01\0\0" + bytes(20),
        b"\0\0\0\x18\x02\x07\0\0" + bytes(20),
        b"\xff\xff\xff\xff",
    ],
)
def test_garbage_breaks_the_connection(client: V2ClientConnection, reply: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        client.receive(reply)


def test_a_batch_reply_with_a_bad_record_breaks_the_connection(client: V2ClientConnection) -> None:
    client.send(ReadBatch(LEDGER, 5, 1, 1024), "batch", 1.0)
    (request,) = requests_of(client)
    with pytest.raises(ProtocolViolation, match="record") as raised:
        client.receive(b"".join(request.reply([b"\0\0\0\x09short"], 0)))
    assert client.fail_all(raised.value) == [("batch", raised.value, None)]


def test_what_was_answered_before_garbage_is_delivered(client: V2ClientConnection) -> None:
    client.add_entry("add", 1.0, LEDGER, 0, entry(0), KEY)
    client.read_entry("read", 1.0, LEDGER, 0)
    add, _ = requests_of(client)
    with pytest.raises(ProtocolViolation) as raised:
        client.receive(add.replies(statuses.EOK) + b"\xff\xff\xff\xff")
    assert client.fail_all(raised.value) == [("add", None, None), ("read", raised.value, None)]
    assert client.fail_all(raised.value) == []


def test_a_lost_connection_fails_everything_once(client: V2ClientConnection) -> None:
    client.add_entry("add", 1.0, LEDGER, 0, entry(0), KEY)
    client.add_entry("again", 1.0, LEDGER, 0, entry(0), KEY)
    client.read_entry("read", 1.0, LEDGER, 0)
    client.read_range("range", 1.0, LEDGER, 1, 5)
    client.send(ReadBatch(LEDGER, 5, 1, 1024), "batch", 1.0)
    error = BookieUnavailable()
    done = client.fail_all(error)
    assert sorted(token for token, _, _ in done) == ["add", "again", "batch", "range", "read"]
    assert {found for _, found, _ in done} == {error}
    assert client.fail_all(error) == []


@pytest.mark.parametrize("sizes", [[20, 20, 20], [1, 30, 3], [9, 9]])
def test_a_run_of_replies_fills_every_range_that_it_crosses(client: V2ClientConnection, sizes: list[int]) -> None:
    first = 0
    for number, size in enumerate(sizes):
        client.read_range(number, 1.0, LEDGER, first, first + size - 1)
        first += size
    asked = requests_of(client)
    entries = [entry(entry_id) for request in asked for entry_id in request.entry_ids]
    stream = b"".join(v2.ReadRequests(0x02020000, LEDGER, range(first)).replies(entries, fields.NO_ENTRY))
    done = client.receive(stream)
    assert [(token, run.count) for token, _, run in done] == list(enumerate(sizes))
    assert [answer for _, _, run in done for answer in run] == entries


def test_what_only_v3_has_is_refused(client: V2ClientConnection) -> None:
    client.send(ForceLedger(LEDGER), "force", 1.0)
    forget = client.send(ForceLedger(LEDGER), "forgotten", 1.0)
    forget()
    assert client.data_to_send() == b""
    ((token, error, value),) = client.expire(0.0)
    assert (token, type(error), value) == ("force", IllegalOperation, None)
    assert "FORCE_LEDGER" in str(error)


def test_a_batch_read_can_be_forgotten(client: V2ClientConnection) -> None:
    forget = client.send(ReadBatch(LEDGER, 5, 10, 1000), "batch", 1.0)
    forget()
    assert not client.waiting
