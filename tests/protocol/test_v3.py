"""A bookie's side of V3: what is taken for V3 at all, every request and its replies, to the byte as Java's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol import v3
from bookkeeper_tx.protocol.messages import Answered
from protocol_specs import fields, vectors
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

KEY = bytes(range(20))
ENTRY = b"".join(each.to_bytes(8, "big", signed=True) for each in (9, 4, 3, 50)) + b"payload"
EXCHANGES = [
    pytest.param(vector, id=vector["name"])
    for vector in vectors.load("wire")
    if vector.get("request_spec") == "wire/v3.Request"
]
NOT_SERVED = {V3Operation.FORCE_LEDGER, V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER}


def frame_of(operation: int, txn_id: int = 7, version: int = 3, priority: int = 0, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=version, operation=operation, txn_id=txn_id)  # type: ignore[arg-type]
    if priority:
        header.priority = priority
    return v3_pb2.Request(header=header, **parts).SerializeToString()


def decode(operation: int, **arguments: Any) -> Any:
    request = v3.decode(frame_of(operation, **arguments))
    assert request is not None
    return request


def response(reply: bytes) -> Any:
    assert int.from_bytes(reply[:4], "big") == len(reply) - 4
    message = v3_pb2.Response.FromString(reply[4:])
    assert message.IsInitialized()
    return message


# Every exchange captured from Java -----------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", EXCHANGES)
def test_captured_request_is_answered_with_the_captured_bytes(vector: dict[str, Any]) -> None:
    """Given what the Java bookie answered, ours answers with the same bytes."""
    operation = vector["request_fields"]["header"]["operation"]
    request = v3.decode(bytes.fromhex(vector["request"])[4:])
    reply = bytes.fromhex(vector["reply"])
    if operation in NOT_SERVED:
        assert isinstance(request, Answered)
        assert response(request.reply).status == statuses.EBADREQ.v3
    else:
        assert said_again(request, response(reply)) == reply


def said_again(request: Any, java: Any) -> bytes:
    """Encode the reply to ``request`` that says what ``java`` says."""
    status = statuses.BY_V3_CODE[java.status]
    if isinstance(request, Answered):
        return request.reply
    if isinstance(request, v3.AddRequests):
        return request.replies(status)
    if isinstance(request, v3.ReadRequests):
        part = java.read_response
        answer = part.body if part.HasField("body") else status
        (reply,) = request.replies([answer], part.max_lac)
        return reply
    if isinstance(request, v3.ReadLacRequest):
        return request.reply(
            status, java.read_lac_response.lac_body or None, java.read_lac_response.last_entry_body or None
        )
    if isinstance(request, v3.WriteLacRequest):
        return request.reply(status)
    assert isinstance(request, v3.BookieInfoRequest)
    part = java.get_bookie_info_response
    return request.reply(status, part.total_disk_capacity, part.free_disk_space)


# What is V3 ----------------------------------------------------------------------------------------------------------

READ = frame_of(1, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("ledger_id", ["0a06080310081807", "0a06080310011801"])
def test_field_number_zero_is_not_v3(first: int, ledger_id: str) -> None:
    """The rest spells a V3 header: Java 4.18 takes it for one, up to 4.17 it is a V2 read."""
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
    context = v3_pb2.Request(request_context=[v3_pb2.ContextPair(key="a", value="b")]).SerializePartialToString()
    for frame in (part + header, READ + b"\x98\x3f\x05", READ + context):
        request = v3.decode(frame)
        assert isinstance(request, v3.ReadRequests)
        assert (request.ledger_id, request.entry_ids) == (1, (2,))


@pytest.mark.parametrize("txn_id", [0, 1, 2**63, 2**64 - 1])
def test_transaction_ids_come_back(txn_id: int) -> None:
    request = decode(1, txn_id=txn_id, read_request=v3_pb2.ReadRequest(ledger_id=1, entry_id=2))
    assert response(request.replies([statuses.ENOENTRY], 0)[0]).header.txn_id == txn_id


# Add -----------------------------------------------------------------------------------------------------------------


def add_part(**changes: Any) -> v3_pb2.AddRequest:
    return v3_pb2.AddRequest(**{"ledger_id": 1, "entry_id": 2, "master_key": KEY, "body": ENTRY, **changes})


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
    (reply,) = request.replies([answer], last_add_confirmed)
    answered = response(reply)
    assert answered.status == answered.read_response.status
    return answered.read_response


def test_a_plain_read() -> None:
    request = read()
    assert (request.ledger_id, request.entry_ids, request.fencing, request.master_key) == (9, (4,), False, None)
    assert (request.high_priority, request.previous_last_add_confirmed, request.piggyback) == (False, None, False)
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
    assert request.previous_last_add_confirmed is None
    part = read_part(request, ENTRY)
    assert (part.entry_id, part.body, part.HasField("max_lac")) == (fields.LAST_ENTRY, ENTRY, False)


def test_an_empty_entry_is_an_entry() -> None:
    part = read_part(read(), b"")
    assert part.HasField("body")


@pytest.mark.parametrize("timeout", [None, 300])
def test_a_long_poll_without_piggyback_is_a_read(timeout: int | None) -> None:
    request = read(previous_lac=0, time_out=timeout)
    assert (request.previous_last_add_confirmed, request.piggyback) == (0, False)
    assert read_part(request, ENTRY).entry_id == 4


def test_piggyback_brings_the_entry_after_the_previous_one() -> None:
    request = read(entry_id=fields.LAST_ENTRY, previous_lac=3, flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK)
    assert (request.previous_last_add_confirmed, request.piggyback) == (3, True)
    part = read_part(request, ENTRY)
    assert (part.entry_id, part.body, part.max_lac) == (4, ENTRY, 8)


def test_piggyback_with_nothing_to_bring_succeeds() -> None:
    request = read(entry_id=fields.LAST_ENTRY, previous_lac=3, flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK)
    part = read_part(request, statuses.EOK, 3)
    assert (part.status, part.entry_id, part.max_lac, part.HasField("body")) == (0, fields.LAST_ENTRY, 3, False)
    part = read_part(request, statuses.ENOENTRY)
    assert (part.status, part.entry_id, part.HasField("max_lac")) == (403, fields.LAST_ENTRY, False)


def test_piggyback_without_a_previous_one_is_a_plain_read() -> None:
    request = read(flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK)
    assert (request.piggyback, request.previous_last_add_confirmed) == (False, None)
    assert read_part(request, ENTRY).entry_id == 4


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


def write_lac_part(body: bytes) -> v3_pb2.WriteLacRequest:
    return v3_pb2.WriteLacRequest(ledger_id=1, lac=2, master_key=KEY, body=body)


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


# What the dialect answers itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [3, 4, 10, 11, 12])
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
    assert (request.ledger_id, request.entry_ids, request.fencing) == (0, (0,), False)
    assert decode(7).ledger_id == 0
    assert decode(8).requested == 0
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
    assert isinstance(request, Answered)
    assert request.reply.hex() == "0000000b0a06080310091807109403"
