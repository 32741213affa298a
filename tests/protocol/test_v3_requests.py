"""What a client asks in V3, to the byte where Java's is known, and what it makes of the answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol import v3, v3_requests
from protocol_specs import fields, vectors
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag, V3Operation

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
        ("v3 READ_LAC entries only", v3_requests.read_last_add_confirmed(TXN, 1206)),
        ("v3 WRITE_LAC 3", v3_requests.write_last_add_confirmed(TXN, 1206, 3, KEY, LAC_BODY)),
        ("v3 INFO requested 0", v3_requests.bookie_info(TXN, 0)),
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
    assert (read.ledger_id, read.entry_ids, read.fencing, read.master_key) == (1, (2,), True, KEY)
    info: Any = v3.decode(v3_requests.bookie_info(TXN)[4:])
    assert info.requested == 3


# Replies -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in VECTORS if VECTORS[name].get("reply_spec") == "wire/v3.Response"])
def test_captured_reply(name: str) -> None:
    decoded, header = VECTORS[name]["reply_fields"], VECTORS[name]["reply_fields"]["header"]
    reply = v3_requests.decode(bytes.fromhex(VECTORS[name]["reply"])[4:])
    assert (reply.operation, reply.txn_id, reply.status.v3) == (
        header["operation"],
        header["txn_id"],
        decoded["status"],
    )
    if reply.operation is V3Operation.READ_ENTRY and reply.status is statuses.EOK:
        assert reply.value.hex() == decoded["read_response"].get("body", "")
    elif reply.operation is V3Operation.READ_LAC:
        part = decoded["read_lac_response"]
        expected = (part.get("lac_body"), part.get("last_entry_body"))
        assert tuple(each and each.hex() for each in reply.value) == expected
    elif reply.operation is V3Operation.GET_BOOKIE_INFO:
        assert reply.value == (None, None)
    else:
        assert reply.value is None


def answered(operation: int, status: int, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=operation, txn_id=TXN)  # type: ignore[arg-type]
    return v3_pb2.Response(header=header, status=status, **parts).SerializePartialToString()  # type: ignore[arg-type]


def test_bookie_info() -> None:
    part = v3_pb2.GetBookieInfoResponse(status=0, total_disk_capacity=9, free_disk_space=4)  # type: ignore[arg-type]
    assert v3_requests.decode(answered(8, 0, get_bookie_info_response=part)).value == (9, 4)


@pytest.mark.parametrize(("whole", "part", "status"), [(0, 504, 504), (502, 504, 502), (502, 0, 502), (0, 0, 0)])
def test_the_status_of_the_whole_wins_unless_it_says_ok(whole: int, part: int, status: int) -> None:
    add = v3_pb2.AddResponse(status=part, ledger_id=1, entry_id=2)  # type: ignore[arg-type]
    assert v3_requests.decode(answered(2, whole, add_response=add)).status.v3 == status


@pytest.mark.parametrize("operation", [1, 2, 3, 6, 7, 8, 12])
def test_an_error_needs_no_part(operation: int) -> None:
    reply = v3_requests.decode(answered(operation, 404))
    assert (reply.operation, reply.txn_id, reply.status) == (operation, TXN, statuses.EBADREQ)
    assert reply.value is None


def test_a_read_lac_tells_what_it_has_along_with_the_error() -> None:
    part = v3_pb2.ReadLacResponse(status=501, ledger_id=1, lac_body=b"blob")  # type: ignore[arg-type]
    reply = v3_requests.decode(answered(7, 501, read_lac_response=part))
    assert (reply.status, reply.value) == (statuses.EIO, (b"blob", None))


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x02\x02\x00\x00",
        answered(1, 0),
        answered(2, 0, read_response=v3_pb2.ReadResponse(status=0, ledger_id=1, entry_id=2)),  # type: ignore[arg-type]
        bytes.fromhex("0a0608031001180510fc03"),
        bytes.fromhex("0a06080310011805"),
        bytes.fromhex("0a060803100d1805109403"),
        bytes.fromhex("0a06080310011805109403a2060208"),
    ],
    ids=["empty", "v2", "no part", "another part", "status 508", "no status", "operation 13", "cut"],
)
def test_what_is_no_reply_is_a_violation(frame: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="the bookie sent"):
        v3_requests.decode(frame)


@given(st.binary(max_size=60))
def test_junk_is_a_reply_or_a_violation(junk: bytes) -> None:
    for frame in (junk, answered(1, 0) + junk):
        try:
            v3_requests.decode(frame)
        except ProtocolViolation:
            pass
