"""A client's requests in V3: equal to Java's bytes where those are known, and read right by our bookie."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v3
from bookkeeper_tx.protocol.client import v3_requests
from bookkeeper_tx.protocol.client.requests.bookie_info import ReadBookieInfo
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from protocol_specs import fields, vectors
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from tests.memory import MIB, bounded_growth

VECTORS = {vector["name"]: vector for vector in vectors.load("wire")}
KEY = bytes.fromhex("2e2a69d870796fe05c0e77c52a29ce5e4222b758")
BAD_KEY = bytes.fromhex("c04ca4b64ecabc55ca22148c580ffff6610663cc")
TXN = 5


def entry(ledger_id: int, entry_id: int) -> bytes:
    ids = (ledger_id, entry_id, entry_id - 1, 5)
    return b"".join(each.to_bytes(8, "big", signed=True) for each in ids) + b"hello"


LAC_BODY = (1206).to_bytes(8, "big") + (3).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("v3 add ok", v3_requests.add_entry(TXN, 1201, 0, entry(1201, 0), KEY)),
        ("v3 add bad key", v3_requests.add_entry(TXN, 1201, 5, entry(1201, 5), BAD_KEY)),
        ("v3 recovery add", v3_requests.add_entry(TXN, 1202, 4, entry(1202, 4), KEY, Flag.RECOVERY_ADD)),
        ("v3 read ok", v3_requests.read_entry(TXN, 1201, 0)),
        ("v3 read -1", v3_requests.read_entry(TXN, 1201, fields.LAST_ENTRY)),
        ("v3 fence good", v3_requests.read_entry(TXN, 1202, fields.LAST_ENTRY, Flag.FENCING, KEY)),
        ("v3 READ_LAC entries only", ReadLastAddConfirmed(1206).v3_frame(TXN)),
        ("v3 WRITE_LAC 3", WriteLastAddConfirmed(1206, 3, KEY, LAC_BODY).v3_frame(TXN)),
        ("v3 INFO requested 0", ReadBookieInfo(0).v3_frame(TXN)),
    ],
)
def test_request_is_the_captured_one(name: str, frame: bytes) -> None:
    assert frame.hex() == VECTORS[name]["request"]


@pytest.mark.parametrize(
    ("frame", "priority"),
    [
        (v3_requests.add_entry(TXN, 1, 2, entry(1, 2), KEY, Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY), 100),
        (v3_requests.read_entry(TXN, 1, 2, Flag.FENCING | Flag.HIGH_PRIORITY, KEY), 100),
        (v3_requests.read_entry(TXN, 1, 2), 0),
    ],
)
def test_priority(frame: bytes, priority: int) -> None:
    assert v3_pb2.Request.FromString(frame[4:]).header.priority == priority


def test_the_bookie_reads_what_the_client_asks() -> None:
    add: Any = v3.decode(v3_requests.add_entry(TXN, 1, 2, entry(1, 2), KEY, 6)[4:])
    assert (add.entries.ledger_id, add.entries.first_entry_id, add.master_key) == (1, 2, KEY)
    assert (add.recovery, add.high_priority) == (True, True)
    read: Any = v3.decode(v3_requests.read_entry(TXN, 1, 2, Flag.FENCING, KEY)[4:])
    assert (read.ledger_id, read.entry_ids, read.fencing, read.master_key) == (1, [2], True, KEY)
    info: Any = v3.decode(ReadBookieInfo().v3_frame(TXN)[4:])
    assert info.requested == 3


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**63 - 1),
            st.integers(0, 2**63 - 1),
            st.sampled_from([b"", b"entry", bytes(v3_requests.KEPT_SIZE_MAX)]),
            st.sampled_from([KEY, BAD_KEY, b""]),
        ),
        max_size=10,
    )
)
def test_requests_from_one_message_are_those_from_a_message_each(
    requests: list[tuple[int, int, bytes, bytes]],
) -> None:
    adds, reads = v3_requests.PlainAdds(), v3_requests.PlainReads()
    for txn_id, (ledger_id, entry_id, body, key) in enumerate(requests):
        assert adds.encode(txn_id, ledger_id, entry_id, body, key) == v3_requests.add_entry(
            txn_id, ledger_id, entry_id, body, key
        )
        assert reads.encode(txn_id, ledger_id, entry_id) == v3_requests.read_entry(txn_id, ledger_id, entry_id)


@pytest.mark.parametrize(("size", "count"), [(100_000, 4000), (1000, 400_000)])
def test_adds_that_were_encoded_take_no_memory(size: int, count: int) -> None:
    """What a field of a protobuf message ever held is freed only with the message."""
    adds, entry = v3_requests.PlainAdds(), bytes(size)
    adds.encode(0, 1, 0, entry, KEY)
    with bounded_growth(30 * MIB):
        for txn_id in range(count):
            adds.encode(txn_id, 1, txn_id, entry, KEY)


def test_reads_that_were_encoded_take_no_memory() -> None:
    reads = v3_requests.PlainReads()
    with bounded_growth(30 * MIB):
        for txn_id in range(400_000):
            reads.encode(txn_id, txn_id, txn_id)
