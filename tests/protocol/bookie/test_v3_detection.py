"""The frames that a bookie takes for V3, and the requests that the protocol version answers itself."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v3
from bookkeeper_tx.protocol.bookie.requests import Answered, InContext, StartTls
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from tests.protocol.bookie.v3_frames import KEY, add_part, decode, frame_of, response

# What is V3 ----------------------------------------------------------------------------------------------------------

READ = frame_of(1, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("ledger_id", ["0a06080310081807", "0a06080310011801"])
def test_field_number_zero_is_not_v3(first: int, ledger_id: str) -> None:
    """The other bytes are a V3 header: Java 4.18 (LightProto) takes the frame for V3, up to 4.17 it is a V2 read."""
    assert v3.decode(bytes.fromhex(f"{first:02x}020000" + ledger_id + "0000000000000002")) is None


@pytest.mark.parametrize("tag", [b"\x00\x00", b"\x02\x00", b"\x01" + bytes(8), b"\x80\x00\x00", b"\x82\x00\x00"])
def test_field_number_zero_behind_a_good_header_is_not_v3(tag: bytes) -> None:
    assert v3.decode(READ) is not None
    assert v3.decode(READ + tag) is None


@pytest.mark.parametrize(
    ("what", "frame"),
    [
        ("empty", b""),
        ("no header", READ[8:]),
        ("cut", READ[:-1]),
        ("operation 0", bytes.fromhex("0a06080310001807")),
        ("operation 13", bytes.fromhex("0a060803100d1807")),
        ("version 0", bytes.fromhex("0a06080010011807")),
        ("version 4", bytes.fromhex("0a06080410011807")),
        ("no transaction id", bytes.fromhex("0a0408031001")),
        ("no operation", bytes.fromhex("0a0408031807")),
        ("read without entry id", bytes.fromhex("0a06080310011807a206020801")),
        ("add without key and body", bytes.fromhex("0a06080310021807aa060408011002")),
    ],
)
def test_what_lacks_a_required_field_is_not_v3(what: str, frame: bytes) -> None:
    assert v3.decode(frame) is None


@given(st.binary(max_size=60))
def test_junk_is_v3_or_not_but_never_an_error(junk: bytes) -> None:
    v3.decode(junk)
    v3.decode(READ[:8] + junk)


@given(st.integers(0, len(READ) - 1))
def test_a_cut_read_is_not_v3_or_a_read_of_nothing(size: int) -> None:
    request = v3.decode(READ[:size])
    assert request is None or size == 8


def test_unknown_fields_contexts_and_a_header_at_the_end_are_fine() -> None:
    header, part = READ[:8], READ[8:]
    pairs = [v3_pb2.ContextPair(key="a", value="b"), v3_pb2.ContextPair(key="c", value="d" * 2000)]
    context = v3_pb2.Request(request_context=pairs).SerializePartialToString()
    for frame in (part + header, READ + b"\x98\x3f\x05", READ + context):
        request: Any = v3.decode(frame)
        if isinstance(request, InContext):
            assert request.context == ("a=b c=" + "d" * 2000)[: v3.CONTEXT_LENGTH_MAX]
            request = request.request
        assert isinstance(request, v3.ReadRequests)
        assert (request.ledger_id, request.entry_ids) == (1, [2])


class Pairs(list[Any]):
    """Counts the pairs that are looked at."""

    seen = 0

    def __iter__(self) -> Iterator[Any]:
        for pair in super().__iter__():
            self.seen += 1
            yield pair


class Message:
    """A read whose context can be watched."""

    def __init__(self, pairs: Pairs) -> None:
        self.request_context = pairs
        self.rest = v3.parse(READ)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rest, name)


def test_of_a_context_no_more_is_looked_at_than_is_kept() -> None:
    """A frame has room for a million pairs, and the bookie does nothing else while it joins them."""
    pairs = Pairs([v3_pb2.ContextPair(key="", value="")] * 100_000)
    request: Any = v3.request_of(Message(pairs))
    assert len(request.context) == v3.CONTEXT_LENGTH_MAX
    assert pairs.seen <= v3.CONTEXT_LENGTH_MAX


def test_what_is_answered_already_needs_no_context() -> None:
    request = decode(2, request_context=[v3_pb2.ContextPair(key="a", value="b")])
    assert isinstance(request, Answered)


@pytest.mark.parametrize("txn_id", [0, 1, 2**63, 2**64 - 1])
def test_transaction_ids_come_back(txn_id: int) -> None:
    request = decode(1, txn_id=txn_id, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))
    assert response(request.replies([statuses.ENOENTRY], 0)[0]).header.txn_id == txn_id


# Requests that V3 answers itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [3, 4, 12])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_not_served_is_a_bad_request_under_its_own_header(operation: int, version: int) -> None:
    request = decode(operation, version=version, priority=9)
    assert isinstance(request, Answered)
    answered = response(request.reply)
    assert (answered.status, len(answered.ListFields())) == (404, 2)
    header = answered.header
    assert (header.version, header.operation, header.txn_id, header.priority) == (version, operation, 7, 9)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("operation", "part", "ids"),
    [
        (1, {"read_request": v3_pb2.ReadRequest(ledger_id=1, entry_id=2)}, {"ledger_id": 1, "entry_id": 2}),
        (2, {"add_request": add_part()}, {"ledger_id": 1, "entry_id": 2}),
        (2, {"add_request": add_part(body=b"")}, {"ledger_id": 1, "entry_id": 2}),
        (
            6,
            {"write_lac_request": v3_pb2.WriteLacRequest(ledger_id=1, lac=2, master_key=KEY, body=b"")},
            {"ledger_id": 1},
        ),
        (7, {"read_lac_request": v3_pb2.ReadLacRequest(ledger_id=1)}, {"ledger_id": 1}),
        (10, {"force_ledger_request": v3_pb2.ForceLedgerRequest(ledger_id=1)}, {"ledger_id": 1}),
        (
            11,
            {"get_list_of_entries_of_ledger_request": v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=1)},
            {"ledger_id": 1},
        ),
        (
            12,
            {"batch_read_request": v3_pb2.BatchReadRequest(ledger_id=1, start_entry_id=2, max_count=3, max_size=4)},
            {"ledger_id": 1, "start_entry_id": 2},
        ),
        (8, {"get_bookie_info_request": v3_pb2.GetBookieInfoRequest(requested=3)}, {}),
    ],
)
def test_an_old_version_is_refused_in_both_places(
    version: int, operation: int, part: dict[str, Any], ids: dict[str, int]
) -> None:
    request = decode(operation, version=version, priority=9, **part)
    assert isinstance(request, Answered)
    answered = response(request.reply)
    assert (answered.status, answered.header.version, answered.header.txn_id) == (503, 3, 7)
    assert not answered.header.HasField("priority")
    (_, _, (_, carried)) = answered.ListFields()
    assert {field.name: value for field, value in carried.ListFields()} == {"status": 503, **ids}


def test_a_request_without_its_part_is_all_zeros() -> None:
    request = decode(1)
    assert (request.ledger_id, request.entry_ids, request.fencing) == (0, [0], False)
    assert decode(7).ledger_id == 0
    assert decode(8).requested == 0
    assert (decode(10).ledger_id, decode(11).ledger_id) == (0, 0)
    for operation, name in ((2, "add_response"), (6, "write_lac_response")):
        answered = response(decode(operation).reply)
        assert (answered.status, getattr(answered, name).status, getattr(answered, name).ledger_id) == (404, 404, 0)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("parts", [{}, {"auth_request": v3_pb2.AuthMessage(auth_plugin_name="sasl", payload=b"x")}])
def test_authentication_is_always_answered_as_done(version: int, parts: dict[str, Any]) -> None:
    request = decode(5, version=version, priority=9, **parts)
    assert isinstance(request, Answered)
    answered = response(request.reply)
    assert (answered.status, answered.header.version, answered.header.priority) == (0, version, 9)
    assert answered.auth_response.auth_plugin_name == "AuthDisabledPlugin"
    assert answered.auth_response.payload == b""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tls_is_refused_under_a_header_of_version_3_and_without_a_part(version: int) -> None:
    request = decode(9, version=version, start_tls_request=v3_pb2.StartTlsRequest())
    assert isinstance(request, StartTls)
    assert request.refused.hex() == "0000000b0a06080310091807109403"
    assert request.accepted.hex() == "0000000d0a060803100918071000d20600"
