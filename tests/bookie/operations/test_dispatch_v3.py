"""bookkeeper_tx.bookie.operations.dispatch: every V3 operation, bytes to bytes, over real journal and storage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.logger import globalLogPublisher

from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.protocol.bookie.requests import InContext
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import v3_pb2
from tests.bookie.operations.served import Bookie
from tests.bookie.seams import KEY, LEDGER, entry
from tests.protocol.bookie.v3_frames import frame_of
from tests.protocol.test_v3_scopes import v2_entry

READ, ADD, WRITE_LAC, READ_LAC, INFO, FORCE, LIST, BATCH = 1, 2, 6, 7, 8, 10, 11, 12
PARTS = {
    READ: "read",
    ADD: "add",
    WRITE_LAC: "write_lac",
    READ_LAC: "read_lac",
    INFO: "get_bookie_info",
    FORCE: "force_ledger",
    LIST: "get_list_of_entries_of_ledger",
    BATCH: "batch_read",
}


class V3Bookie(Bookie):
    """The same, spoken to in V3."""

    def ask(self, operation: int, context: bool = False, **part: Any) -> Any:
        """Return the part of the reply that came at once, or None."""
        named = part if operation == INFO else {"ledger_id": LEDGER, **part}
        parts: dict[str, Any] = {f"{PARTS[operation]}_request": named}
        if context:
            parts["request_context"] = [v3_pb2.ContextPair(key="job", value="4711")]
        frame = frame_of(operation, **parts)
        return self.answer(operation, self.receive(len(frame).to_bytes(4, "big") + frame))

    def answer(self, operation: int, replies: bytes) -> Any:
        if not replies:
            return None
        message = v3_pb2.Response.FromString(replies[4:])
        part = getattr(message, f"{PARTS[operation]}_response")
        assert part.status == message.status
        return part

    def add(self, entry_id: int, **part: Any) -> Any:
        asked = {"entry_id": entry_id, "master_key": KEY, "body": entry(entry_id), **part}
        return self.ask(ADD, **asked) or self.answer(ADD, self.sync())


@pytest.fixture
def bookie(tmp_path: Path) -> V3Bookie:
    return V3Bookie(tmp_path)


def test_an_add_is_read_in_every_way(bookie: V3Bookie) -> None:
    assert [bookie.add(at).status for at in range(3)] == [0, 0, 0]
    assert bookie.ask(READ, entry_id=1).body == entry(1)
    assert bookie.ask(READ, entry_id=LAST_ENTRY).max_lac == 1
    assert bookie.ask(READ_LAC).last_entry_body == entry(2)
    batch = bookie.ask(BATCH, start_entry_id=1, max_count=9, max_size=9999)
    assert (list(batch.body), batch.max_lac) == ([entry(1), entry(2)], 1)
    assert list(EntryList.decode(bookie.ask(LIST).availability_of_entries_of_ledger)) == [0, 1, 2]


def test_a_deferred_add_is_acknowledged_at_once_and_forced_later(bookie: V3Bookie) -> None:
    part = {"entry_id": 0, "master_key": KEY, "body": entry(0), "write_flags": 1}
    assert bookie.ask(ADD, **part).status == 0
    assert bookie.ask(FORCE) is None
    replies = bookie.sync()
    assert bookie.answer(FORCE, replies or bookie.sync()).status == 0


def test_the_flag_is_ignored_on_a_recovery_add_and_unknown_flags_on_any(bookie: V3Bookie) -> None:
    part = {"entry_id": 0, "master_key": KEY, "body": entry(0)}
    assert bookie.ask(ADD, **part, write_flags=1, flag=v3_pb2.AddRequest.RECOVERY_ADD) is None
    assert bookie.answer(ADD, bookie.sync()).status == 0
    assert bookie.ask(ADD, **part, write_flags=254) is None
    assert bookie.answer(ADD, bookie.sync()).status == 0
    assert bookie.ask(ADD, **part, write_flags=255).status == 0


def test_an_unknown_ledger_is_forced_and_stays_unknown(bookie: V3Bookie) -> None:
    assert bookie.ask(FORCE) is None
    assert bookie.answer(FORCE, bookie.sync()).status == v3_pb2.EOK
    assert bookie.ask(READ, entry_id=0).status == v3_pb2.ENOLEDGER
    assert bookie.ask(LIST).status == v3_pb2.ENOLEDGER


def test_a_long_poll_is_answered_by_an_add_of_another_client(bookie: V3Bookie) -> None:
    bookie.add(0)
    poll = {"entry_id": LAST_ENTRY, "previous_lac": -1, "time_out": 1000, "flag": v3_pb2.ReadRequest.ENTRY_PIGGYBACK}
    assert bookie.ask(READ, **poll) is None
    assert bookie.ask(READ, entry_id=0).body == entry(0)
    answered = bookie.ask(ADD, entry_id=1, master_key=KEY, body=entry(1))
    assert answered is not None
    assert bookie.add(2).status == 0


@pytest.mark.parametrize("scope_id", [5, -1])
def test_a_ledger_of_another_scope_is_another_ledger(bookie: V3Bookie, scope_id: int) -> None:
    scope = {"ledger_id": 9, "ledger_scope_id": scope_id}
    stored = v2_entry(scope_id, 9, 0)
    assert bookie.ask(READ, entry_id=0, **scope).status == v3_pb2.ENOLEDGER
    added = bookie.add(0, body=stored, **scope)
    assert (added.status, added.ledger_id, added.ledger_scope_id) == (0, 9, scope_id)
    read = bookie.ask(READ, entry_id=0, **scope)
    assert (read.status, read.body, read.ledger_scope_id, read.max_lac) == (0, stored, scope_id, 3)
    assert list(bookie.ask(BATCH, start_entry_id=0, max_count=1, max_size=1, **scope).body) == [stored]
    assert bookie.ask(READ_LAC, **scope).last_entry_body == stored
    assert list(EntryList.decode(bookie.ask(LIST, **scope).availability_of_entries_of_ledger)) == [0]
    assert bookie.ask(READ, entry_id=0, ledger_id=9).status == v3_pb2.ENOLEDGER
    fence = {"entry_id": LAST_ENTRY, "flag": v3_pb2.ReadRequest.FENCE_LEDGER, "master_key": KEY}
    assert bookie.ask(READ, **fence, **scope) is None
    assert bookie.answer(READ, bookie.sync()).status == 0
    assert bookie.add(0, body=v2_entry(scope_id, 9, 1), **scope).status == v3_pb2.EFENCED


def test_an_add_in_the_format_of_another_scope_makes_no_ledger(bookie: V3Bookie) -> None:
    assert bookie.ask(ADD, entry_id=0, master_key=KEY, body=v2_entry(5)).status == v3_pb2.EBADREQ
    assert bookie.ask(ADD, entry_id=0, master_key=KEY, body=entry(0), ledger_scope_id=5).status == v3_pb2.EBADREQ
    assert bookie.ask(READ, entry_id=0).status == v3_pb2.ENOLEDGER
    assert bookie.ask(READ, entry_id=0, ledger_id=9, ledger_scope_id=5).status == v3_pb2.ENOLEDGER


def test_an_entry_of_format_v2_that_ends_before_its_last_add_confirmed_makes_no_ledger(bookie: V3Bookie) -> None:
    scope = {"ledger_id": 9, "ledger_scope_id": 5}
    assert bookie.ask(ADD, entry_id=0, master_key=KEY, body=v2_entry(5)[:32], **scope).status == v3_pb2.EBADREQ
    assert bookie.ask(READ, entry_id=0, **scope).status == v3_pb2.ENOLEDGER
    assert bookie.add(0, body=v2_entry(5)[:33], **scope).status == v3_pb2.EOK


def test_a_request_with_a_context_is_served_like_any_other(bookie: V3Bookie) -> None:
    bookie.add(0)
    assert bookie.ask(READ, context=True, entry_id=0).body == entry(0)
    assert bookie.ask(READ, context=True, entry_id=9).status == v3_pb2.ENOENTRY


@pytest.fixture
def contexts() -> Iterator[list[str]]:
    """Every context that was logged."""
    found: list[str] = []

    def observe(event: dict[str, Any]) -> None:
        if "context" in event:
            found.append(event["context"])

    globalLogPublisher.addObserver(observe)
    yield found
    globalLogPublisher.removeObserver(observe)


def test_the_context_is_logged_with_a_request_that_the_bookie_fails(bookie: V3Bookie, contexts: list[str]) -> None:
    body = LEDGER.to_bytes(8, "big") + bytes(12)
    assert bookie.ask(WRITE_LAC, context=True, lac=0, master_key=KEY, body=body) is None
    assert bookie.answer(WRITE_LAC, bookie.sync()).status == v3_pb2.EOK
    assert bookie.ask(READ, context=True, entry_id=9).status == v3_pb2.ENOENTRY
    assert bookie.ask(READ_LAC).status == v3_pb2.EIO
    assert contexts == []
    assert bookie.ask(READ_LAC, context=True).status == v3_pb2.EIO
    assert contexts == ["job=4711"]


def test_the_context_is_logged_with_what_is_raised(bookie: V3Bookie, contexts: list[str]) -> None:
    with pytest.raises(KeyError):
        bookie.dispatch.serve(InContext(object(), "job=4711"), bookie.client)
    assert contexts == ["job=4711"]
