"""Ledger scopes (BP-34) in V3: every reply names the scope of its request, and an entry is in the scope's format."""

from typing import Any

import pytest

from bookkeeper_tx.protocol.bookie import v3
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered
from protocol_specs.ledger_id import join
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from tests.protocol.bookie.v3_frames import ENTRY, KEY, decode, frame_of, response

SCOPES = [1, -1, 2**63 - 1, -(2**63)]
V1_BLOB = ENTRY[:16] + bytes(4)


def number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def v2_entry(scope_id: int, ledger_id: int = 9, entry_id: int = 4, first_byte: int = 0xA3) -> bytes:
    return bytes([first_byte]) + b"".join(map(number, (scope_id, ledger_id, entry_id, 3, 50))) + bytes(4) + b"payload"


def v2_blob(scope_id: int) -> bytes:
    return b"\xa3" + b"".join(map(number, (scope_id, 9, 4))) + bytes(4)


def parts_of(scope_id: int | None) -> dict[int, tuple[str, dict[str, Any]]]:
    """Return the part of each operation on ledger 9 of a scope."""
    ids = {"ledger_id": 9, "ledger_scope_id": scope_id}
    entry, blob = (v2_entry(scope_id), v2_blob(scope_id)) if scope_id else (ENTRY, V1_BLOB)
    return {
        1: ("read", {"entry_id": 4, **ids}),
        2: ("add", {"entry_id": 4, "master_key": KEY, "body": entry, **ids}),
        6: ("write_lac", {"lac": 4, "master_key": KEY, "body": blob, **ids}),
        7: ("read_lac", ids),
        10: ("force_ledger", ids),
        11: ("get_list_of_entries_of_ledger", ids),
        12: ("batch_read", {"start_entry_id": 4, "max_count": 1, "max_size": 1, **ids}),
    }


def refused(request: Any) -> bytes:
    """Encode the reply that there is no such ledger."""
    status = statuses.ENOLEDGER
    if isinstance(request, Answered):
        return request.reply
    if isinstance(request, v3.AddRequests):
        return request.replies(status)
    if isinstance(request, v3.ReadRequests):
        return b"".join(map(bytes, request.replies([status], 0)))
    if isinstance(request, v3.BatchReadRequest):
        return request.error(status)
    if isinstance(request, v3.LongPollRequest):
        return request.reply(4, status, 0, None)
    return request.reply(status, *[None] * {v3.ReadLacRequest: 2, v3.ListEntriesRequest: 1}.get(type(request), 0))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("operation", parts_of(1))
@pytest.mark.parametrize("scope_id", [None, 0, *SCOPES])
def test_every_reply_says_the_scope_and_none_says_scope_0(scope_id: int | None, operation: int, version: int) -> None:
    name, part = parts_of(scope_id)[operation]
    request = decode(operation, version=version, **{f"{name}_request": part})
    answered = getattr(response(refused(request)), f"{name}_response")
    assert answered.HasField("ledger_scope_id") == bool(scope_id)
    assert (answered.ledger_scope_id, answered.ledger_id) == (scope_id or 0, 9)


@pytest.mark.parametrize("scope_id", SCOPES)
def test_a_long_poll_says_the_scope(scope_id: int) -> None:
    part = {"ledger_id": 9, "entry_id": -1, "previous_lac": 1, "ledger_scope_id": scope_id}
    request = decode(1, read_request=part)
    assert request.ledger_id == join(scope_id, 9)
    assert response(refused(request)).read_response.ledger_scope_id == scope_id


@pytest.mark.parametrize("operation", [1, 7, 10, 11, 12])
@pytest.mark.parametrize("scope_id", SCOPES)
def test_a_request_is_about_the_ledger_of_its_scope(scope_id: int, operation: int) -> None:
    name, part = parts_of(scope_id)[operation]
    assert decode(operation, **{f"{name}_request": part}).ledger_id == join(scope_id, 9)


@pytest.mark.parametrize("scope_id", SCOPES)
def test_an_add_and_a_write_lac_are_named_by_what_is_inside(scope_id: int) -> None:
    part = {"ledger_id": 1, "entry_id": 2, "master_key": KEY, "ledger_scope_id": 77}
    run = decode(2, add_request={**part, "body": v2_entry(scope_id)}).entries
    assert (run.ledger_id, run.first_entry_id, list(run)) == (join(scope_id, 9), 4, [v2_entry(scope_id)])
    part = {"ledger_id": 1, "lac": 2, "master_key": KEY, "ledger_scope_id": 77, "body": v2_blob(scope_id)}
    request = decode(6, write_lac_request=part)
    assert (request.ledger_id, request.last_add_confirmed) == (join(scope_id, 9), 4)


BAD_IN_A_SCOPE = [
    ENTRY,
    v2_entry(0),
    v2_entry(5)[:24],
    v2_entry(5)[:32],
    v2_entry(5, first_byte=0xB3),
    v2_entry(5, first_byte=0x83),
    v2_entry(5, first_byte=0x23),
]


@pytest.mark.parametrize("body", BAD_IN_A_SCOPE)
def test_an_entry_in_another_format_than_its_scope_has_is_a_bad_request(body: bytes) -> None:
    part = {"ledger_id": 9, "entry_id": 4, "master_key": KEY, "body": body, "ledger_scope_id": 5}
    request = decode(2, add_request=part)
    assert isinstance(request, Answered)
    answered = response(request.reply)
    assert (answered.status, answered.add_response.status, answered.add_response.ledger_scope_id) == (404, 404, 5)


@pytest.mark.parametrize(("scope_id", "body"), [(5, V1_BLOB), (5, v2_blob(0)), (5, v2_blob(5)[:24]), (None, bytes(15))])
def test_so_is_an_explicit_last_add_confirmed(scope_id: int | None, body: bytes) -> None:
    part = {"ledger_id": 9, "lac": 4, "master_key": KEY, "body": body, "ledger_scope_id": scope_id}
    request = decode(6, write_lac_request=part)
    assert isinstance(request, Answered)
    assert response(request.reply).write_lac_response.status == 404


def test_in_scope_0_an_entry_of_format_v2_has_a_negative_ledger_id() -> None:
    part = {"ledger_id": 9, "entry_id": 4, "master_key": KEY, "body": v2_entry(5)}
    assert decode(2, add_request=part).entries.ledger_id < 0
    assert decode(6, write_lac_request={"ledger_id": 9, "lac": 4, "master_key": KEY, "body": v2_blob(5)}).ledger_id < 0


def test_adds_of_a_scope_are_a_run_too() -> None:
    run = decode(2, add_request={"ledger_id": 9, "entry_id": 4, "ledger_scope_id": 5, **_body(4)})
    parts = {"ledger_id": 9, "entry_id": 5, "ledger_scope_id": 5}
    assert run.take(v3.parse(frame_of(2, add_request={**parts, **_body(5)})))
    assert not run.take(v3.parse(frame_of(2, add_request={**parts, **_body(6), "ledger_scope_id": 6})))
    assert not run.take(v3.parse(frame_of(2, add_request={**parts, "master_key": KEY, "body": ENTRY})))
    assert [entry[17:25] for entry in run.entries] == [number(4), number(5)]
    replies = run.replies(statuses.EOK)
    size = 4 + int.from_bytes(replies[:4], "big")
    assert [response(each).add_response.ledger_scope_id for each in (replies[:size], replies[size:])] == [5, 5]
    assert v3_pb2.Response.FromString(replies[4:size]).add_response.entry_id == 4


def _body(entry_id: int) -> dict[str, bytes]:
    return {"master_key": KEY, "body": v2_entry(5, entry_id=entry_id)}


def test_a_cut_entry_does_not_take_those_before_it_along() -> None:
    """All requests of a run get the same answer, so an add that will be refused must not get into a run."""
    frames = b""
    for entry_id, size in ((4, None), (5, None), (6, 32)):
        body = v2_entry(5, entry_id=entry_id)[:size]
        part = {"ledger_id": 9, "entry_id": entry_id, "master_key": KEY, "body": body, "ledger_scope_id": 5}
        frame = frame_of(2, add_request=part)
        frames += len(frame).to_bytes(4, "big") + frame
    added, cut = ServerConnection().receive(frames)
    assert isinstance(added, v3.AddRequests)
    assert (added.entries.first_entry_id, added.entries.count) == (4, 2)
    assert isinstance(cut, Answered)
