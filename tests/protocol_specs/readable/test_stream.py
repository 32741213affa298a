"""Frames read for people: the same values as the vectors say, offsets that are right, and bytes that break off."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.protocol.bookie import v3 as bookie_v3
from protocol_specs import vectors
from protocol_specs.ledger_id import join
from protocol_specs.readable.shown import UNREADABLE, Field, Frame, Item, Note, as_dictionary
from protocol_specs.readable.stream import Stream, first_frame
from protocol_specs.readable.v3 import is_v3
from protocol_specs.readable.verdicts import Verdicts
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation

PASSWORD = b"testPasswd"
READ_LAST = bytes.fromhex("00000014020200000000000000000001ffffffffffffffff")
FENCE_WITHOUT_KEY = bytes.fromhex("00000014020200010000000000000001ffffffffffffffff")


def read(data: bytes, direction: Any = "request", verdicts: Verdicts | None = None) -> list[Item]:
    return list(Stream(direction, verdicts or Verdicts(PASSWORD)).read(data))


def frames(data: bytes, direction: Any = "request", verdicts: Verdicts | None = None) -> list[Frame]:
    return [item for item in read(data, direction, verdicts) if isinstance(item, Frame)]


def every(fields: tuple[Field, ...]) -> list[Field]:
    return [each for field in fields for each in (field, *every(field.parts))]


def meaning(frame: Frame, name: str) -> str:
    return next(field.meaning for field in every(frame.fields) if field.name == name)


def _messages() -> list[Any]:
    cases = []
    for vector in vectors.load("wire"):
        for side, direction in (("request", "request"), ("reply", "response")) if "request" in vector else (("", ""),):
            spec = vector[f"{side}_spec".lstrip("_")]
            told = direction or ("response" if "REPLY" in spec else "request")
            if (side or "hex") in vector and not spec.startswith("wire/framing."):
                data, expected = bytes.fromhex(vector[side or "hex"]), vector[f"{side}_fields".lstrip("_")]
                cases.append(pytest.param(spec, told, data, expected, id=f"{vector['name']} {side}".strip()))
    return cases


every_message = pytest.mark.parametrize(("spec", "direction", "data", "expected"), _messages())


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


@every_message
def test_values_are_those_of_the_vectors(spec: str, direction: str, data: bytes, expected: dict[str, Any]) -> None:
    (frame,) = frames(data, direction)
    assert frame.size == len(data)
    assert frame.dialect == ("V3" if spec.startswith("wire/v3.") else "V2")
    if frame.dialect == "V3":
        kind = v3_pb2.Request if direction == "request" else v3_pb2.Response
        assert _v3_values(frame.fields[1:], data, kind.DESCRIPTOR) == expected
        return
    found = {field.name: _plain(field.value) for field in reversed(every(frame.fields))}
    for name, value in expected.items():
        if isinstance(value, int):
            assert found[name] == value
        elif isinstance(value, str) and value:
            assert value in data.hex()


def _v3_values(fields: tuple[Field, ...], data: bytes, descriptor: Any) -> dict[str, Any]:
    """Return fields as the vectors write them: what was read inside a bytes field becomes those bytes again."""
    values: dict[str, Any] = {}
    for field in fields:
        declared = descriptor.fields_by_name[field.name]
        if declared.message_type is not None:
            value: Any = _v3_values(field.parts, data, declared.message_type)
        elif field.value is None:
            size = int(field.meaning.split()[0])
            value = data[field.offset + field.size - size : field.offset + field.size].hex()
        else:
            value = _plain(field.value)
        if declared.is_repeated:
            values.setdefault(field.name, []).append(value)
        else:
            values[field.name] = value
    return values


@every_message
def test_fields_lie_one_behind_the_other(spec: str, direction: str, data: bytes, expected: Any) -> None:
    (frame,) = frames(data, direction)
    _lie_in_order(list(frame.fields), 0, len(data), exact=True)


def _lie_in_order(fields: list[Field], start: int, end: int, exact: bool) -> None:
    at = start
    for field in fields:
        if field.name == "entries" and not exact:  # the list's entries in words, not another field
            continue
        assert field.offset == at if exact else field.offset >= at
        at = field.offset + field.size
        assert at <= end
        _lie_in_order(list(field.parts), field.offset, at, exact=False)
    assert not exact or at == end


@every_message
def test_a_message_cut_anywhere_is_shown_as_far_as_it_goes(
    spec: str, direction: str, data: bytes, expected: Any
) -> None:
    for size in range(1, len(data)):
        (frame,) = frames(data[:size], direction)
        assert frame.broken is not None
        assert frame.broken.ends
        assert frame.broken.offset <= size
        _lie_in_order(list(frame.fields), 0, size, exact=True)
        as_dictionary(frame)


@given(st.binary(max_size=80), st.sampled_from(["request", "response"]))
def test_no_bytes_are_too_strange(data: bytes, direction: str) -> None:
    items = read(data, direction)
    shown = sum(item.size for item in items if isinstance(item, Frame))
    assert items or not data
    last = items[-1] if items else None
    if isinstance(last, Frame) and (last.broken is None or not last.broken.ends):
        assert shown == len(data)


@given(st.data())
def test_changed_vectors_do_no_harm(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(_messages()))
    changed = bytearray(case.values[2])
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    for item in read(bytes(changed), case.values[1]):
        as_dictionary(item)


# Telling V3 from V2 --------------------------------------------------------------------------------------------------


@given(st.data())
def test_v3_is_what_the_bookie_takes_for_v3(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(_messages()))
    body = bytearray(case.values[2][4:])
    for _ in range(data.draw(st.integers(0, 2))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert is_v3("request", bytes(body)) == (bookie_v3.parse(bytes(body)) is not None)


def v3_request(operation: V3Operation = V3Operation.READ_LAC, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=int(operation), txn_id=5)  # type: ignore[arg-type]
    body = v3_pb2.Request(header=header, **parts).SerializeToString()
    return len(body).to_bytes(4, "big") + body


def test_a_connection_may_go_from_v3_to_v2() -> None:
    found = frames(v3_request() + READ_LAST)
    assert [(each.dialect, each.operation) for each in found] == [("V3", "READ_LAC"), ("V2", "READ_ENTRY")]


def test_a_connection_does_not_come_back_from_v2_to_v3() -> None:
    found = frames(READ_LAST + v3_request())
    assert [each.dialect for each in found] == ["V2", "V2"]
    assert found[1].broken is not None
    assert "unknown operation 6" in found[1].broken.reason


def test_an_unknown_operation_of_v3_is_shown_as_what_it_was_meant_to_be() -> None:
    (frame,) = frames(bytes.fromhex("000000080a060803100d1805"))
    assert frame.dialect == "V3"
    assert meaning(frame, "operation") == "an unknown value, which counts as absent"
    assert frame.broken is not None
    assert frame.broken.field == "header.operation"


def test_a_packet_of_version_10_starts_as_v3_does() -> None:
    read_10 = bytes.fromhex("000000140a0200000000000000000001ffffffffffffffff")
    found = frames(read_10 + READ_LAST)
    assert [(each.dialect, each.operation) for each in found] == [("V2", "READ_ENTRY")] * 2
    assert meaning(found[0], "header") == "version 10, READ_ENTRY (bookies serve versions up to 2)"


def test_replies_are_told_apart_one_by_one() -> None:
    v2_reply, v3_reply = "0000001802010000000000000000000000000001", "0000000b0a06080310031805109403"
    data = bytes.fromhex(v2_reply + "0000000000000002" + v3_reply + v2_reply + "0000000000000003")
    assert [each.dialect for each in frames(data, "response")] == ["V2", "V3", "V2"]


# Where it breaks -----------------------------------------------------------------------------------------------------


def test_what_is_behind_the_break_is_not_read() -> None:
    items = read(READ_LAST + FENCE_WITHOUT_KEY + READ_LAST)
    assert len(items) == 2
    broken = items[1]
    assert isinstance(broken, Frame)
    assert broken.broken is not None
    assert (broken.broken.spec, broken.broken.field, broken.broken.offset) == ("V2 read request", "master_key", 48)


def test_an_entry_that_breaks_does_not_end_the_stream() -> None:
    request = v3_request(
        V3Operation.ADD_ENTRY,
        add_request=v3_pb2.AddRequest(ledger_id=1, entry_id=2, master_key=b"", body=bytes(10)),
    )
    broken, after = frames(request + READ_LAST)
    assert broken.broken is not None
    assert not broken.broken.ends
    assert broken.broken.field == "entry_id"
    assert after.broken is None
    assert [each.name for each in every(broken.fields)].count(UNREADABLE) == 1


def test_fields_that_are_not_declared_are_shown() -> None:
    unknown = bytes.fromhex("d23e03616263" + "d83e07" + "e53e01020304" + "e93e0102030405060708")
    frame_bytes = bytearray(v3_request() + unknown)
    frame_bytes[:4] = (len(frame_bytes) - 4).to_bytes(4, "big")
    (frame,) = frames(bytes(frame_bytes))
    shown = [(each.name, _plain(each.value)) for each in frame.fields if each.name.startswith("unknown")]
    assert shown == [
        ("unknown field 1002", "616263"),
        ("unknown field 1003", 7),
        ("unknown field 1004", "01020304"),
        ("unknown field 1005", "0102030405060708"),
    ]
    assert frame.broken is None


@pytest.mark.parametrize("length", ["ffffffff", "80000000"])
def test_a_length_above_the_limit(length: str) -> None:
    (frame,) = frames(bytes.fromhex(length) + b"abc")
    assert meaning(frame, "length") == "above the default frame limit"
    assert frame.broken is not None


def test_tls_is_said_and_not_decoded() -> None:
    start = v3_request(V3Operation.START_TLS, start_tls_request=v3_pb2.StartTlsRequest())
    frame, note = read(start + bytes.fromhex("1603010200") + bytes(512))
    assert isinstance(frame, Frame)
    assert note == Note(len(start), "TLS from here on: 517 bytes that cannot be read")


def test_a_client_that_was_refused_tls_goes_on_in_clear() -> None:
    start = v3_request(V3Operation.START_TLS, start_tls_request=v3_pb2.StartTlsRequest())
    assert [each.operation for each in frames(start + READ_LAST)] == ["START_TLS", "READ_ENTRY"]


# In the middle of a connection ---------------------------------------------------------------------------------------


def test_the_first_frame_is_found() -> None:
    assert first_frame(READ_LAST[9:] + READ_LAST + v3_request(), "request") == len(READ_LAST) - 9
    assert first_frame(READ_LAST + READ_LAST[:7], "request") == 0
    assert first_frame(bytes(100), "request") is None


def test_looking_for_the_first_frame_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the frames that there might be overlap."""
    monkeypatch.setattr("protocol_specs.readable.stream.EFFORT_MIN", 10_000)
    header = bytes.fromhex("0a06 0803 1004 1805")
    unit = b"\x7a\x0c" + (1400 - 4).to_bytes(4, "big") + header  # a field that no message knows; in it, such a frame
    read: list[int] = []

    def no_frame(stream: Stream, data: bytes) -> Iterator[Item]:
        read.append(len(data))
        yield Note(0, "")

    monkeypatch.setattr(Stream, "read", no_frame)
    assert first_frame(unit * 1000, "request") is None
    assert sum(read) <= 10_000 + 8 * len(unit) * 1000 + 1400


# Digests -------------------------------------------------------------------------------------------------------------


def add_request(entry: bytes, key: bytes) -> bytes:
    return (24 + len(entry)).to_bytes(4, "big") + bytes.fromhex("02010000") + key + entry


@pytest.mark.parametrize("digest_type", [DigestType.CRC32, DigestType.CRC32C, DigestType.MAC])
@pytest.mark.parametrize("ledger_id", [1, join(3, -4)])
def test_the_digest_that_fits_is_found(digest_type: DigestType, ledger_id: int) -> None:
    digest = EntryDigest(digest_type, PASSWORD)
    (frame,) = frames(add_request(digest.seal(ledger_id, 2, 1, 5, b"hello"), digest.master_key))
    assert meaning(frame, "digest") == f"{digest_type.value.name}, matches"
    assert meaning(frame, "master_key") == "of the password given"
    assert next(each.value for each in every(frame.fields) if each.name == "payload") == b"hello"


@pytest.mark.parametrize("digest_type", [DigestType.CRC32, DigestType.CRC32C, DigestType.MAC])
def test_damage_is_told_when_the_type_is_named(digest_type: DigestType) -> None:
    digest = EntryDigest(digest_type, PASSWORD)
    entry = digest.seal(1, 2, 1, 5, b"hello")
    damaged = entry[:-1] + b"O"
    (frame,) = frames(add_request(damaged, bytes(20)), verdicts=Verdicts(PASSWORD, digest_type.value))
    right = digest.seal(1, 2, 1, 5, b"hellO")[32 : 32 + digest.size].hex()
    assert meaning(frame, "digest") == f"{digest_type.value.name}, DOES NOT MATCH, {right} would"
    assert meaning(frame, "master_key") == "of another password than the one given"


def test_a_mac_cannot_be_checked_without_the_password() -> None:
    digest = EntryDigest(DigestType.MAC, PASSWORD)
    request = add_request(digest.seal(1, 2, 1, 5, b"hello"), digest.master_key)
    (frame,) = frames(request, verdicts=Verdicts(None, DigestType.MAC.value))
    assert meaning(frame, "digest") == "HMAC, not checked: give the password"
    (frame,) = frames(request, verdicts=Verdicts())
    assert "HMAC needs the password" in meaning(frame, "digest_and_payload")


def test_an_entry_of_format_v2_says_its_digest_type() -> None:
    digest = EntryDigest(DigestType.CRC32, PASSWORD)
    entry = bytearray(digest.seal(join(3, 4), 2, 1, 5, b"hello"))
    entry[-1] ^= 1
    (frame,) = frames(add_request(bytes(entry), bytes(20)), verdicts=Verdicts())
    assert "DOES NOT MATCH" in meaning(frame, "digest")
    assert meaning(frame, "flags") == "format V2, digest type 1"


def test_an_entry_of_format_v2_in_scope_0_is_malformed() -> None:
    entry = bytes.fromhex("a4") + bytes(40)
    (frame,) = frames(add_request(entry, bytes(20)))
    assert frame.broken is not None
    assert frame.broken.field == "ledger_scope_id"
