"""The requests that only V3 has, on a client's side: long poll, force, list, batch read, deferred sync, and scopes
(BP-34)."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.errors import (
    BadRequest,
    BookieUnavailable,
    LedgerScopeNotSupported,
    NoSuchLedger,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from protocol_specs import fields
from protocol_specs import ledger_id as ids
from protocol_specs.wire.operations import PARTS, Flag, V3Operation
from tests.protocol.client.v3_answers import answer, bare, requests

KEY = bytes(20)
LATER = 10.0
ENTRY = bytes(40)
SCOPED = ids.join(-7, -9)
Operation = V3Operation


@pytest.fixture
def client() -> V3ClientConnection:
    return V3ClientConnection(fields.FRAME_SIZE_MAX)


def plain(completions: list[Any]) -> list[Any]:
    return [(token, type(error) if error else None, value) for token, error, value in completions]


# Long poll -----------------------------------------------------------------------------------------------------------


def test_a_long_poll_says_what_it_waits_for(client: V3ClientConnection) -> None:
    client.send(AwaitLastAddConfirmed(1, 6, 500, True), "poll", LATER)
    client.send(AwaitLastAddConfirmed(1, 6, 0, False), "look", LATER)
    poll, look = (request.read_request for request in requests(client.data_to_send()))
    assert (poll.entry_id, poll.previous_lac, poll.time_out, poll.flag) == (fields.LAST_ENTRY, 6, 500, 2)
    assert (look.entry_id, look.previous_lac) == (fields.LAST_ENTRY, 6)
    assert not look.HasField("time_out")
    assert not look.HasField("flag")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"entry_id": 7, "body": ENTRY, "max_lac": 9}, (9, 7, ENTRY)),
        ({"entry_id": fields.LAST_ENTRY, "max_lac": 6}, (6, None, None)),
        ({"entry_id": fields.LAST_ENTRY, "body": ENTRY, "max_lac": 6}, (6, None, ENTRY)),
        ({"entry_id": 7, "body": ENTRY}, (fields.NO_ENTRY, 7, ENTRY)),
    ],
    ids=["entry", "expired", "last entry", "no LAC"],
)
def test_a_long_poll_brings_what_the_bookie_knows(client: V3ClientConnection, part: Any, value: Any) -> None:
    client.send(AwaitLastAddConfirmed(1, 6, 500, True), "poll", LATER)
    assert client.waiting
    assert client.receive(answer(Operation.READ_ENTRY, 1, ledger_id=1, **part)) == [("poll", None, value)]
    assert not client.waiting


def test_long_polls_expire_each_at_its_own_time(client: V3ClientConnection) -> None:
    client.send(AwaitLastAddConfirmed(1, 6, 1, True), "long", 60.0)
    client.send(AwaitLastAddConfirmed(1, 6, 1, True), "short", 20.0)
    client.read_entry("read", LATER, 1, 2)
    assert plain(client.expire(LATER)) == [("read", RequestTimedOut, None)]
    assert plain(client.expire(20.0)) == [("short", RequestTimedOut, None)]
    client.send(AwaitLastAddConfirmed(1, 6, 1, True), "short again", 30.0)
    assert plain(client.expire(30.0)) == [("short again", RequestTimedOut, None)]
    assert plain(client.expire(60.0)) == [("long", RequestTimedOut, None)]
    assert not client.waiting


def test_a_forgotten_long_poll_leaves_nothing(client: V3ClientConnection) -> None:
    forget = client.send(AwaitLastAddConfirmed(1, 6, 500, True), "poll", LATER)
    client.send(AwaitLastAddConfirmed(1, 6, 500, True), "other", LATER)
    forget()
    forget()
    late = answer(Operation.READ_ENTRY, 1, ledger_id=1, entry_id=7, body=ENTRY, max_lac=9)
    assert client.receive(late) == []
    assert plain(client.fail_all(BookieUnavailable())) == [("other", BookieUnavailable, None)]
    assert not client.waiting


# The others ----------------------------------------------------------------------------------------------------------


def test_force_list_and_batch(client: V3ClientConnection) -> None:
    client.send(ForceLedger(1), "force", LATER)
    client.send(ListEntries(1), "list", LATER)
    client.send(ReadBatch(1, 5, 100, 9000), "batch", LATER)
    force, listing, batch = requests(client.data_to_send())
    assert force.force_ledger_request.ledger_id == 1
    assert listing.get_list_of_entries_of_ledger_request.ledger_id == 1
    asked = batch.batch_read_request
    assert (asked.ledger_id, asked.start_entry_id, asked.max_count, asked.max_size) == (1, 5, 100, 9000)
    assert not asked.HasField("master_key")
    assert client.receive(answer(Operation.FORCE_LEDGER, 1, ledger_id=1)) == [("force", None, None)]
    listed = entry_list.encode([1, 2, 5])
    whole = answer(Operation.GET_LIST_OF_ENTRIES_OF_LEDGER, 2, ledger_id=1, availability_of_entries_of_ledger=listed)
    ((token, error, entries),) = client.receive(whole)
    assert (token, error, list(entries)) == ("list", None, [1, 2, 5])
    many = answer(Operation.BATCH_READ_ENTRY, 3, ledger_id=1, start_entry_id=5, body=[b"one", b"three"])
    ((token, error, run),) = client.receive(many)
    assert (token, error, run.ledger_id, run.first_entry_id, list(run)) == ("batch", None, 1, 5, [b"one", b"three"])


def test_a_fencing_batch_read_brings_the_key(client: V3ClientConnection) -> None:
    client.send(ReadBatch(1, 5, 100, 9000, Flag.FENCING | Flag.HIGH_PRIORITY, KEY), "batch", LATER)
    (request,) = requests(client.data_to_send())
    assert (request.batch_read_request.flag, request.batch_read_request.master_key) == (1, KEY)
    assert request.header.priority > 0


def test_a_bookie_without_batch_read_says_bad_request(client: V3ClientConnection) -> None:
    client.send(ReadBatch(1, 5, 100, 9000), "batch", LATER)
    assert plain(client.receive(bare(Operation.BATCH_READ_ENTRY, 1, 404))) == [("batch", BadRequest, None)]


def test_an_add_says_that_its_sync_may_wait(client: V3ClientConnection) -> None:
    client.add_entry("durable", LATER, 1, 2, ENTRY, KEY)
    client.add_entry("deferred", LATER, 1, 3, ENTRY, KEY, deferred_sync=True)
    durable, deferred = requests(client.data_to_send())
    assert not durable.add_request.HasField("write_flags")
    assert deferred.add_request.write_flags == 1


# Scopes --------------------------------------------------------------------------------------------------------------

ASK: dict[str, Callable[[V3ClientConnection, int], Any]] = {
    "add_request": lambda client, ledger: client.add_entry("it", LATER, ledger, 2, ENTRY, KEY),
    "read_request": lambda client, ledger: client.read_entry("it", LATER, ledger, 2),
    "batch_read_request": lambda client, ledger: client.send(ReadBatch(ledger, 2, 1, 1), "it", LATER),
    "write_lac_request": lambda client, ledger: client.send(
        WriteLastAddConfirmed(ledger, 1, KEY, b"body"), "it", LATER
    ),
    "read_lac_request": lambda client, ledger: client.send(ReadLastAddConfirmed(ledger), "it", LATER),
    "force_ledger_request": lambda client, ledger: client.send(ForceLedger(ledger), "it", LATER),
    "get_list_of_entries_of_ledger_request": lambda client, ledger: client.send(ListEntries(ledger), "it", LATER),
}


def answered(name: str, scope_id: int | None) -> bytes:
    """The reply of a bookie without such a ledger."""
    operation = next(each for each in V3Operation if name in _request_parts(each))
    part: dict[str, Any] = {"ledger_id": -9}
    if name in ("add_request", "read_request"):
        part["entry_id"] = 2
    elif name == "batch_read_request":
        part["start_entry_id"] = 2
    if scope_id is not None:
        part["ledger_scope_id"] = scope_id
    return answer(operation, 1, 402, **part)


def _request_parts(operation: V3Operation) -> tuple[str, ...]:
    return PARTS[operation][:1] if operation in PARTS else ()


@pytest.mark.parametrize("name", ASK)
def test_a_scope_travels_in_a_field_of_its_own(client: V3ClientConnection, name: str) -> None:
    ASK[name](client, SCOPED)
    ASK[name](client, 9)
    scoped, plain_one = (getattr(request, name) for request in requests(client.data_to_send()))
    assert (scoped.ledger_scope_id, scoped.ledger_id) == (-7, -9)
    assert plain_one.ledger_id == 9
    assert not plain_one.HasField("ledger_scope_id")


@pytest.mark.parametrize("name", ASK)
@pytest.mark.parametrize(
    ("scope_id", "error"), [(-7, NoSuchLedger), (None, LedgerScopeNotSupported), (8, ProtocolViolation)]
)
def test_a_reply_must_be_about_the_scope_asked_for(
    client: V3ClientConnection, name: str, scope_id: int | None, error: type
) -> None:
    ASK[name](client, SCOPED)
    ((token, found, _),) = client.receive(answered(name, scope_id))
    assert (token, type(found)) == ("it", error)


def test_a_range_of_a_scoped_ledger_fails_once_where_scopes_are_overlooked(client: V3ClientConnection) -> None:
    client.read_range("range", LATER, SCOPED, 0, 2)
    replies = [answer(Operation.READ_ENTRY, txn, ledger_id=-9, entry_id=txn - 1, body=ENTRY) for txn in (1, 2, 3)]
    assert plain(client.receive(b"".join(replies))) == [("range", LedgerScopeNotSupported, None)]


def test_an_error_without_its_part_tells_no_scope(client: V3ClientConnection) -> None:
    client.read_entry("read", LATER, SCOPED, 2)
    assert plain(client.receive(bare(Operation.READ_ENTRY, 1, 404))) == [("read", BadRequest, None)]
