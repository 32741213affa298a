"""The values of replies, of captured ones and of others."""

from collections.abc import Iterable
from typing import Any

import pytest

from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.model import BookieDisk
from bookkeeper_tx.protocol.client import v3_answers
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.request import Request
from protocol_specs import vectors
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer

VECTORS = {vector["name"]: vector for vector in vectors.load("wire")}
REQUESTS: tuple[Request, ...] = (
    ReadBatch(1, 0, 9, 9000),
    ReadBookieInfo(),
    ForceLedger(1),
    ReadLastAddConfirmed(1),
    WriteLastAddConfirmed(1, 3, bytes(20), b"body"),
    ListEntries(1),
)


def captured(operation: V3Operation) -> Iterable[tuple[v3_answers.Reply, dict[str, Any]]]:
    for vector in VECTORS.values():
        if vector.get("reply_spec") != "wire/v3.Response":
            continue
        reply = v3_answers.decode(bytes.fromhex(vector["reply"])[4:])
        if reply.operation is operation:
            yield reply, vector["reply_fields"]


def shown(value: Any) -> Any:
    """A value as the vectors have it."""
    if isinstance(value, EntryRun):
        ids = range(value.first_entry_id, value.first_entry_id + value.count)
        return {"body": [value.entry(each).hex() for each in ids]}
    if isinstance(value, BookieDisk):
        return {"total_disk_capacity": value.total_bytes, "free_disk_space": value.free_bytes}
    if isinstance(value, EntryList):
        return value.groups
    if isinstance(value, tuple):
        return {"lac_body": value[0] and value[0].hex(), "last_entry_body": value[1] and value[1].hex()}
    return {}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_captured_replies(request_: Request) -> None:
    found = 0
    for reply, decoded in captured(request_.operation):
        value = request_.v3_value(reply)
        if reply.status is not statuses.EOK and not isinstance(request_, ReadLastAddConfirmed):
            assert value is None
            continue
        found += 1
        part: dict[str, Any] = next(each for name, each in decoded.items() if name.endswith("_response"))
        if isinstance(request_, ListEntries):
            listed = bytes.fromhex(part["availability_of_entries_of_ledger"])
            assert shown(value) == EntryList.decode(listed).groups
        else:
            assert shown(value) == {name: part.get(name) for name in shown(value)}
    assert found


def test_a_last_add_confirmed_comes_with_an_error_as_well() -> None:
    frame = answer(V3Operation.READ_LAC, 5, 501, ledger_id=1, lac_body=b"blob")
    reply = v3_answers.decode(frame[4:])
    assert (reply.status, ReadLastAddConfirmed(1).v3_value(reply)) == (statuses.EIO, (b"blob", None))


def test_an_error_without_a_part_has_no_value() -> None:
    for request in REQUESTS:
        reply = v3_answers.Reply(request.operation, 5, statuses.EBADREQ, None)
        assert request.v3_value(reply) is None


def test_a_list_that_is_none_is_a_violation() -> None:
    frame = answer(V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER, 5, 0, ledger_id=1, availability_of_entries_of_ledger=b"?")
    with pytest.raises(ProtocolViolation, match="list of entries of ledger 1"):
        ListEntries(1).v3_value(v3_answers.decode(frame[4:]))
