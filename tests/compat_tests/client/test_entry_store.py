"""The honest answers of a scripted bookie, in both protocol versions."""

import pytest

from compat_tests.client.answers import Answer, encode
from compat_tests.client.client_requests import ADD, BATCH_READ, READ, UNKNOWN, understand
from compat_tests.client.entry_store import EntryStore, encode_entry_list
from compat_tests.client.sealing import Seal, master_key
from compat_tests.judge.case import V2, V3
from compat_tests.wire import v2_requests, v3_requests
from protocol_specs.wire import entry_list, v3_pb2
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

KEY = bytes(20)
SEAL = Seal("MAC", b"testPasswd")


def add(ledger_id, entry_id, dialect, key=KEY, recovery=False):
    (body,) = SEAL.run(ledger_id, [b"hello"], entry_id)
    if dialect is V2:
        return understand(v2_requests.add(ledger_id, entry_id, flags=2 if recovery else 0, key=key, body=body))
    options = {"flag": v3_pb2.AddRequest.RECOVERY_ADD} if recovery else {}
    return understand(v3_requests.add(ledger_id, entry_id, body, key=key, **options))


def read(ledger_id, entry_id, dialect, fencing=False):
    if dialect is V2:
        return understand(v2_requests.read(ledger_id, entry_id, flags=1 if fencing else 0, key=KEY if fencing else b""))
    if fencing:
        return understand(v3_requests.fence(ledger_id, entry_id, KEY))
    return understand(v3_requests.read(ledger_id, entry_id))


def test_digests_are_the_published_ones():
    entry = SEAL.entry(1, 2, 1, 5, b"hello")
    assert SEAL.digest_of(entry).hex() == "46e034fd6d26cf82d366cba03baa9696d4be0d4e"
    assert SEAL.right(entry)
    assert not SEAL.right(entry[:-1] + b"?")
    assert Seal("CRC32C").digest_of(Seal("CRC32C").entry(1, 2, 1, 5, b"hello")).hex() == "1b3ebc1b"
    assert master_key(b"testPasswd").hex() == "2e2a69d870796fe05c0e77c52a29ce5e4222b758"


@pytest.mark.parametrize("dialect", [V2, V3])
def test_requests_are_understood_alike(dialect):
    asked = add(7, 3, dialect, recovery=True)
    assert (asked.dialect, asked.operation, asked.ledger_id, asked.entry_id) == (dialect, ADD, 7, 3)
    assert (asked.recovery, asked.key, SEAL.right(asked.body)) == (True, KEY, True)
    asked = read(7, -1, dialect, fencing=True)
    assert (asked.operation, asked.entry_id, asked.fencing, asked.key) == (READ, -1, True, KEY)


def test_what_is_no_request_is_unknown():
    for frame in (b"", b"\x02\x05\x00\x00", b"\x02\x01", b"\xff" * 9, b"\x0a\x02\x08\x03"):
        assert understand(frame).operation == UNKNOWN


@pytest.mark.parametrize("dialect", [V2, V3])
def test_a_fence_holds(dialect):
    stored = EntryStore()
    assert stored.answer(read(7, 0, dialect)).status is ENOLEDGER
    assert stored.answer(add(7, 0, dialect)).status is EOK
    assert stored.answer(add(7, 1, dialect, key=bytes(19) + b"1")).status is EUA
    assert stored.answer(read(7, 1, dialect, fencing=True)).status is ENOENTRY
    assert stored.answer(add(7, 1, dialect)).status is EFENCED
    assert stored.answer(add(7, 1, dialect, recovery=True)).status is EOK
    assert SEAL.payload_of(stored.answer(read(7, -1, dialect)).body) == b"hello"


def test_a_batch_keeps_to_count_and_size():
    stored = EntryStore()
    for entry_id in range(5):
        stored.answer(add(7, entry_id, V2))
    size = len(stored.ledgers[7].entries[0])
    for count, budget, expected in ((0, 10**6, 5), (2, 10**6, 2), (5, 0, 1), (5, 36 + 3 * (4 + size), 3)):
        asked = understand(v2_requests.batch_read(7, 0, count, budget))
        assert asked.operation == BATCH_READ
        assert len(stored.answer(asked).entries) == expected


def test_a_status_that_nobody_knows_can_be_sent():
    for dialect in (V2, V3):
        frame = encode(read(7, 0, dialect), Answer(status=999))
        if dialect is V2:
            assert frame[4:8] == (999).to_bytes(4, "big")
        else:
            assert b"\x10\xe7\x07" in frame


def test_lists_have_a_group_for_each_run():
    groups = entry_list.ENTRY_LIST.parse(encode_entry_list({0: b"", 1: b"", 5: b""})).groups
    assert [(each.first_sequence_start, each.sequence_size) for each in groups] == [(0, 2), (5, 1)]
