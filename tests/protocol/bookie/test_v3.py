"""A bookie's side of V3: every request, and its replies to the byte as Java's."""

from typing import Any

import pytest

from bookkeeper_tx.protocol.bookie import v3
from bookkeeper_tx.protocol.bookie.requests import Answered, StartTls
from protocol_specs import fields, vectors
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import Status
from tests.protocol.bookie.v3_frames import ENTRY, KEY, add_part, decode, frame_of, response, write_lac_part

OTHERS = {"v3 batch read outside scope 0"}
"""Exchanges with a reply that other bookies may give but ours does not: one without max_lac."""
EXCHANGES = [
    pytest.param(vector, id=vector["name"])
    for vector in vectors.load("wire")
    if vector.get("request_spec") == "wire/v3.Request" and vector["name"] not in OTHERS
]


# Every exchange captured from Java -----------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", EXCHANGES)
def test_captured_request_is_answered_with_the_captured_bytes(vector: dict[str, Any]) -> None:
    """With the values of the Java bookie's answer, ours encodes the same bytes."""
    request = v3.decode(bytes.fromhex(vector["request"])[4:])
    reply = bytes.fromhex(vector["reply"])
    assert said_again(request, response(reply)) == reply


def said_again(request: Any, java: Any) -> bytes:
    """Encode the reply to ``request`` with the values of ``java``."""
    status = statuses.BY_V3_CODE[java.status]
    if isinstance(request, Answered):
        return request.reply
    if isinstance(request, StartTls):
        return request.accepted if status is statuses.EOK else request.refused
    if isinstance(request, v3.AddRequests):
        return request.replies(status)
    if isinstance(request, v3.ReadRequests):
        part = java.read_response
        return b"".join(request.replies([part.body if part.HasField("body") else status], part.max_lac))
    if isinstance(request, v3.LongPollRequest):
        part = java.read_response
        updated_at_ms = part.lac_update_timestamp if part.HasField("lac_update_timestamp") else None
        answer = part.body if part.HasField("body") else status
        return request.reply(part.entry_id, answer, part.max_lac, updated_at_ms)
    if isinstance(request, v3.BatchReadRequest):
        part = java.batch_read_response
        updated_at_ms = part.lac_update_timestamp if part.HasField("lac_update_timestamp") else None
        records = b"".join(len(body).to_bytes(4, "big") + body for body in part.body)
        return b"".join(request.reply([records], part.max_lac, updated_at_ms)) if records else request.error(status)
    if isinstance(request, v3.ListEntriesRequest):
        part = java.get_list_of_entries_of_ledger_response
        has_list = part.HasField("availability_of_entries_of_ledger")
        return request.reply(status, part.availability_of_entries_of_ledger if has_list else None)
    if isinstance(request, v3.ReadLacRequest):
        return request.reply(
            status, java.read_lac_response.lac_body or None, java.read_lac_response.last_entry_body or None
        )
    if isinstance(request, v3.WriteLacRequest | v3.ForceLedgerRequest):
        return request.reply(status)
    assert isinstance(request, v3.BookieInfoRequest)
    part = java.get_bookie_info_response
    return request.reply(status, part.total_disk_capacity, part.free_disk_space)


# Add -----------------------------------------------------------------------------------------------------------------


def test_what_is_added_is_named_by_the_entry_and_the_request_is_echoed() -> None:
    request = decode(2, add_request=add_part())
    assert isinstance(request, v3.AddRequests)
    assert (request.entries.ledger_id, request.entries.first_entry_id, list(request.entries)) == (9, 4, [ENTRY])
    assert (request.master_key, request.recovery, request.high_priority) == (KEY, False, False)
    part = response(request.replies(statuses.EFENCED)).add_response
    assert (part.status, part.ledger_id, part.entry_id) == (504, 1, 2)


@pytest.mark.parametrize(("flag", "recovery"), [(None, False), (1, True)])
@pytest.mark.parametrize(("priority", "high"), [(0, False), (1, True), (100, True)])
def test_add_flags(flag: int | None, recovery: bool, priority: int, high: bool) -> None:
    request = decode(2, priority=priority, add_request=add_part(flag=flag))
    assert (request.recovery, request.high_priority) == (recovery, high)


def test_an_unknown_flag_is_no_flag() -> None:
    part = add_part().SerializeToString() + b"\xa0\x06\x09"
    request = v3.decode(frame_of(2) + b"\xaa\x06" + bytes([len(part)]) + part)
    assert isinstance(request, v3.AddRequests)
    assert not request.recovery


@pytest.mark.parametrize("key", [b"", b"short", KEY * 2])
def test_a_key_of_any_size_is_passed_on(key: bytes) -> None:
    assert decode(2, add_request=add_part(master_key=key)).master_key == key


@pytest.mark.parametrize("size", [0, 10, 23])
def test_an_add_without_a_last_add_confirmed_is_a_bad_request(size: int) -> None:
    request = decode(2, add_request=add_part(body=ENTRY[:size]))
    assert isinstance(request, Answered)
    answer = response(request.reply)
    assert (answer.status, answer.add_response.status, answer.add_response.ledger_id) == (404, 404, 1)


def test_an_entry_of_24_bytes_is_passed_on() -> None:
    assert isinstance(decode(2, add_request=add_part(body=ENTRY[:24])), v3.AddRequests)


# Read ----------------------------------------------------------------------------------------------------------------


def read(priority: int = 0, **part: Any) -> v3.ReadRequests:
    request = decode(1, priority=priority, read_request=v3_pb2.ReadRequest(**{"ledger_id": 9, "entry_id": 4, **part}))
    assert isinstance(request, v3.ReadRequests)
    return request


def read_part(request: v3.ReadRequests, answer: bytes | Status, last_add_confirmed: int = 8) -> Any:
    answered = response(b"".join(request.replies([answer], last_add_confirmed)))
    assert answered.status == answered.read_response.status
    return answered.read_response


def test_a_plain_read() -> None:
    request = read()
    assert (request.ledger_id, request.entry_ids, request.fencing, request.master_key) == (9, [4], False, None)
    assert not request.high_priority
    part = read_part(request, ENTRY)
    assert (part.ledger_id, part.entry_id, part.body, part.max_lac) == (9, 4, ENTRY, 8)


def test_priority() -> None:
    assert read(priority=100).high_priority


@pytest.mark.parametrize("last_add_confirmed", [fields.NO_ENTRY, 0, 2**63 - 1])
def test_the_last_add_confirmed_comes_with_every_entry(last_add_confirmed: int) -> None:
    assert read_part(read(), ENTRY, last_add_confirmed).max_lac == last_add_confirmed


@pytest.mark.parametrize("status", [each for each in statuses.STATUSES if each is not statuses.EOK])
def test_an_error_carries_neither_entry_nor_last_add_confirmed(status: Status) -> None:
    part = read_part(read(), status)
    assert (part.status, part.ledger_id, part.entry_id) == (status.v3, 9, 4)
    assert not part.HasField("body")
    assert not part.HasField("max_lac")


@pytest.mark.parametrize("key", [None, b"", KEY])
def test_a_fencing_read_has_its_key_or_none_and_no_last_add_confirmed(key: bytes | None) -> None:
    request = read(entry_id=fields.LAST_ENTRY, flag=v3_pb2.ReadRequest.FENCE_LEDGER, master_key=key, previous_lac=2)
    assert (request.fencing, request.master_key, request.high_priority) == (True, key, True)
    part = read_part(request, ENTRY)
    assert (part.entry_id, part.body, part.HasField("max_lac")) == (fields.LAST_ENTRY, ENTRY, False)


def test_an_empty_entry_is_an_entry() -> None:
    part = read_part(read(), b"")
    assert part.HasField("body")


def test_piggyback_without_a_previous_one_is_a_plain_read() -> None:
    assert read_part(read(flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK), ENTRY).entry_id == 4


def poll(**part: Any) -> v3.LongPollRequest:
    fields_of_it = {"ledger_id": 9, "entry_id": fields.LAST_ENTRY, "previous_lac": 3, **part}
    request = decode(1, read_request=v3_pb2.ReadRequest(**fields_of_it))
    assert isinstance(request, v3.LongPollRequest)
    return request


@pytest.mark.parametrize(("timeout", "waits_ms"), [(None, 0), (300, 300), (-1, -1)])
@pytest.mark.parametrize(("flag", "piggyback"), [(None, False), (v3_pb2.ReadRequest.ENTRY_PIGGYBACK, True)])
def test_a_read_with_a_previous_last_add_confirmed_is_a_long_poll(
    timeout: int | None, waits_ms: int, flag: Any, piggyback: bool
) -> None:
    request = poll(time_out=timeout, flag=flag)
    assert (request.ledger_id, request.entry_id, request.previous_last_add_confirmed) == (9, fields.LAST_ENTRY, 3)
    assert (request.timeout_ms, request.piggyback) == (waits_ms, piggyback)


def test_a_poll_is_answered_with_an_entry_its_id_and_when_it_was_confirmed() -> None:
    part = response(poll().reply(4, ENTRY, 8, 1234)).read_response
    assert (part.status, part.ledger_id, part.entry_id, part.body) == (0, 9, 4, ENTRY)
    assert (part.max_lac, part.lac_update_timestamp) == (8, 1234)


def test_a_poll_with_nothing_to_bring_succeeds_and_one_that_fails_says_no_more() -> None:
    part = response(poll().reply(fields.LAST_ENTRY, statuses.EOK, 3, None)).read_response
    assert (part.status, part.entry_id, part.max_lac) == (0, fields.LAST_ENTRY, 3)
    assert not part.HasField("body")
    assert not part.HasField("lac_update_timestamp")
    part = response(poll().reply(fields.LAST_ENTRY, statuses.ENOENTRY, 3, 5)).read_response
    assert (part.status, part.HasField("max_lac"), part.HasField("lac_update_timestamp")) == (403, False, False)


# Last add confirmed, and disk space ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "explicit", "last"),
    [
        (statuses.EOK, b"blob", ENTRY),
        (statuses.EOK, None, ENTRY),
        (statuses.EIO, b"blob", None),
        (statuses.ENOENTRY, None, None),
    ],
)
def test_read_lac(status: Status, explicit: bytes | None, last: bytes | None) -> None:
    request = decode(7, read_lac_request=v3_pb2.ReadLacRequest(ledger_id=9))
    assert request.ledger_id == 9
    answered = response(request.reply(status, explicit, last))
    part = answered.read_lac_response
    assert (answered.status, part.status, part.ledger_id) == (status.v3, status.v3, 9)
    assert (part.HasField("lac_body"), part.lac_body) == (explicit is not None, explicit or b"")
    assert (part.HasField("last_entry_body"), part.last_entry_body) == (last is not None, last or b"")


def test_write_lac_counts_what_is_in_the_body_and_echoes_the_rest() -> None:
    body = ENTRY[:16] + b"digest"
    request = decode(6, write_lac_request=write_lac_part(body))
    assert (request.ledger_id, request.last_add_confirmed, request.master_key, request.body) == (9, 4, KEY, body)
    answered = response(request.reply(statuses.EOK))
    assert (answered.status, answered.write_lac_response.status, answered.write_lac_response.ledger_id) == (0, 0, 1)


@pytest.mark.parametrize("size", [0, 15])
def test_a_body_that_holds_no_last_add_confirmed_is_a_bad_request(size: int) -> None:
    request = decode(6, write_lac_request=write_lac_part(bytes(size)))
    assert isinstance(request, Answered)
    assert response(request.reply).write_lac_response.status == 404


@pytest.mark.parametrize(
    ("requested", "total", "free"), [(0, False, False), (1, True, False), (2, False, True), (3, True, True)]
)
def test_bookie_info_tells_what_was_asked(requested: int, total: bool, free: bool) -> None:
    request = decode(8, get_bookie_info_request=v3_pb2.GetBookieInfoRequest(requested=requested))
    part = response(request.reply(statuses.EOK, 2**40, 2**39)).get_bookie_info_response
    assert (part.HasField("total_disk_capacity"), part.HasField("free_disk_space")) == (total, free)
    assert (part.total_disk_capacity, part.free_disk_space) == (2**40 * total, 2**39 * free)
    part = response(request.reply(statuses.EIO, 0, 0)).get_bookie_info_response
    assert (part.status, part.HasField("total_disk_capacity"), part.HasField("free_disk_space")) == (501, False, False)


# Force, and the list of entries --------------------------------------------------------------------------------------


def test_force() -> None:
    request = decode(10, force_ledger_request=v3_pb2.ForceLedgerRequest(ledger_id=9))
    assert request.ledger_id == 9
    answered = response(request.reply(statuses.EIO))
    part = answered.force_ledger_response
    assert (answered.status, part.status, part.ledger_id) == (501, 501, 9)


@pytest.mark.parametrize(("status", "availability"), [(statuses.EOK, b"list"), (statuses.ENOLEDGER, None)])
def test_list_entries(status: Status, availability: bytes | None) -> None:
    part_of_it = v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=9)
    request = decode(11, get_list_of_entries_of_ledger_request=part_of_it)
    assert request.ledger_id == 9
    answered = response(request.reply(status, availability))
    part = answered.get_list_of_entries_of_ledger_response
    assert (answered.status, part.status, part.ledger_id) == (status.v3, status.v3, 9)
    assert part.HasField("availability_of_entries_of_ledger") == (availability is not None)
    assert part.availability_of_entries_of_ledger == (availability or b"")
