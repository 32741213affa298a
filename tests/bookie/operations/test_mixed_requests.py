"""Adds and reads of alternating ledgers that come together are served as if each had come by itself."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import NoSuchEntry, Unauthorized
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from protocol_specs.disk.meta_entries import LEDGER_KEY
from protocol_specs.fields import FRAME_SIZE_MAX
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag
from tests.bookie.journal.journals import read_as_java
from tests.bookie.operations.served import Bookie, statuses_in
from tests.bookie.seams import KEY, OTHER_KEY, entry
from tests.protocol.bookie.v2_frames import ADD, FENCING_READ, add_frame, ids, read_frame

LEDGERS = range(3)
FENCED = 3
TOO_HIGH = 2**40


def add(ledger_id: int, entry_id: int, key: bytes = KEY, flags: int = 0, size: int = 41) -> bytes:
    return add_frame(ledger_id, entry_id, entry(entry_id, size, ledger_id)[16:], key, ADD | flags)


ADDS = st.builds(
    add,
    st.sampled_from([*LEDGERS, *LEDGERS, FENCED]),
    st.sampled_from([*range(12), *range(12), TOO_HIGH, -1]),
    st.sampled_from([KEY, KEY, KEY, KEY, KEY, OTHER_KEY]),
    st.sampled_from([0, 0, 0, 0, Flag.RECOVERY_ADD]),
    st.sampled_from([41, 41, 60]),
)
READS = st.builds(
    read_frame, st.sampled_from([*LEDGERS, FENCED, 99]), st.sampled_from([*range(13), *range(13), -1, -2, TOO_HIGH])
)


def frames_in(replies: bytes) -> dict[bytes, list[bytes]]:
    """Return the replies to each operation and pair of ids, in their order."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    at = 0
    while at < len(replies):
        end = at + 4 + int.from_bytes(replies[at : at + 4], "big")
        found[replies[at + 4 : at + 8] + replies[at + 12 : at + 28]].append(replies[at:end])
        at = end
    return found


def bookie_in(directory: Path) -> Bookie:
    directory.mkdir()
    bookie = Bookie(directory)
    bookie.receive(read_frame(FENCED, 0, KEY, FENCING_READ))
    bookie.sync()
    return bookie


def settled(bookie: Bookie) -> bytes:
    """Let the journal write and sync all that waits; returns the replies."""
    replies = b""
    while bookie.journal_worker.jobs:
        replies += bookie.sync()
    return replies


@given(st.lists(st.lists(st.one_of(ADDS, ADDS, READS), max_size=30), max_size=4))
def test_requests_that_come_together_are_answered_as_those_that_come_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[bytes]]
) -> None:
    directory = tmp_path_factory.mktemp("mixed")
    together, apart = bookie_in(directory / "together"), bookie_in(directory / "apart")
    for requests in rounds:
        mixed = together.receive(b"".join(requests))
        single = b"".join([apart.receive(request) for request in requests])
        assert frames_in(mixed + settled(together)) == frames_in(single + settled(apart))
    every = b"".join(read_frame(ledger_id, entry_id) for entry_id in range(13) for ledger_id in (*LEDGERS, FENCED))
    assert frames_in(together.receive(every)) == frames_in(apart.receive(every))


def test_adds_of_many_ledgers_are_one_append_and_one_reply(tmp_path: Path) -> None:
    bookie = bookie_in(tmp_path / "bookie")
    adds = b"".join(add(ledger_id, entry_id) for entry_id in range(5) for ledger_id in LEDGERS)
    assert bookie.receive(adds) == b""
    head = (24).to_bytes(4, "big") + ADD.to_bytes(4, "big") + bytes(4)
    expected = b"".join(head + ids(ledger_id, entry_id) for entry_id in range(5) for ledger_id in LEDGERS)
    assert bookie.sync() == expected


def test_each_refused_add_is_answered_at_once_and_by_itself(tmp_path: Path) -> None:
    bookie = bookie_in(tmp_path / "bookie")
    refused = bookie.receive(add(0, 0) + add(FENCED, 0) + add(1, 0) + add(0, 1, OTHER_KEY) + add(2, TOO_HIGH))
    assert statuses_in(refused) == [statuses.EFENCED, statuses.EUA, statuses.EBADREQ]
    assert statuses_in(bookie.sync()) == [statuses.EOK, statuses.EOK]
    # The ledger of the add that was refused after its key was noted can be used, and its key is still journaled.
    assert bookie.receive(add(2, 0) + add(1, 1)) == b""
    assert statuses_in(bookie.sync()) == [statuses.EOK, statuses.EOK]


def test_without_entries_in_the_journal_adds_of_many_ledgers_are_answered_at_once(tmp_path: Path) -> None:
    (tmp_path / "bookie").mkdir()
    bookie = Bookie(tmp_path / "bookie", journal_data_written=False)
    adds = b"".join(add(ledger_id, entry_id) for entry_id in range(2) for ledger_id in LEDGERS)
    for _ in range(2):
        assert statuses_in(bookie.receive(adds)) == [statuses.EOK] * 2 * len(LEDGERS)
    settled(bookie)
    found = bookie.receive(b"".join(read_frame(ledger_id, 1) for ledger_id in LEDGERS))
    assert statuses_in(found) == [statuses.EOK] * len(LEDGERS)
    [path] = (tmp_path / "bookie").glob("*.txn")
    journaled = read_as_java(path.read_bytes())
    assert set(journaled) == {(ledger_id, LEDGER_KEY) for ledger_id in LEDGERS}


def test_entries_in_memory_are_one_reply_and_the_rest_is_answered_by_itself(tmp_path: Path) -> None:
    bookie = bookie_in(tmp_path / "bookie")
    bookie.receive(b"".join(add(ledger_id, entry_id) for entry_id in range(3) for ledger_id in LEDGERS))
    bookie.sync()
    found = bookie.receive(read_frame(0, 1) + read_frame(99, 0) + read_frame(2, 2) + read_frame(1, -1))
    assert list(frames_in(found)) == [
        (2 << 24 | 2 << 16).to_bytes(4, "big") + ids(*pair) for pair in ((0, 1), (2, 2), (99, 0), (1, -1))
    ]
    assert statuses_in(found) == [statuses.EOK, statuses.EOK, statuses.ENOLEDGER, statuses.EOK]


def test_many_large_entries_are_sent_in_parts(tmp_path: Path) -> None:
    bookie = bookie_in(tmp_path / "bookie")
    size = 400_000
    bookie.receive(b"".join(add(ledger_id, entry_id, size=size) for entry_id in range(3) for ledger_id in LEDGERS))
    bookie.sync()
    every = [(ledger_id, entry_id) for entry_id in range(3) for ledger_id in LEDGERS]
    for request in bookie.connection.receive(b"".join(read_frame(*pair) for pair in every)):
        bookie.dispatch.serve(request, bookie.client)
    first = b"".join(bytes(part) for part in bookie.client.take())
    assert len(frames_in(first)) == 3
    [rest] = bookie.client.rests
    assert list(rest.reads) == every[3:]


@pytest.mark.parametrize("make", [V2ClientConnection, V3ClientConnection])
def test_a_client_writes_and_reads_many_ledgers_in_turns(
    tmp_path: Path, make: Callable[[int], V2ClientConnection | V3ClientConnection]
) -> None:
    bookie, client = Bookie(tmp_path), make(FRAME_SIZE_MAX)
    entries = {(ledger_id, entry_id): entry(entry_id, 41, ledger_id) for entry_id in range(20) for ledger_id in LEDGERS}
    for ids_, body in entries.items():
        client.add_entry(ids_, 1.0, *ids_, body, KEY)
    client.add_entry("refused", 1.0, 0, 20, entry(20, 41, 0), OTHER_KEY)
    done = client.receive(bookie.receive(client.data_to_send()) + settled(bookie))
    assert [(token, type(error)) for token, error, _ in done] == [
        ("refused", Unauthorized),
        *((ids_, type(None)) for ids_ in entries),
    ]
    for ids_ in (*entries, (1, 20)):
        client.read_entry(ids_, 1.0, *ids_)
    found = {
        token: value or type(error) for token, error, value in client.receive(bookie.receive(client.data_to_send()))
    }
    assert found == {**entries, (1, 20): NoSuchEntry}
