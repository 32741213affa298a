"""Ledger metadata to bytes and back: the vectors, the rules of each form, and bytes that are none."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import construct
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import protocol_specs
from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt
from bookkeeper_tx.metadata.ledger_record import serialization
from bookkeeper_tx.metadata.ledger_record.serialization import as_update, parse, serialize
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState
from protocol_specs.metadata import ledger as spec
from protocol_specs.metadata.formats_pb2 import LedgerMetadata as Message

VECTORS = [
    pytest.param(each, id=each["name"])
    for each in json.loads((Path(protocol_specs.__path__[0]) / "vectors" / "metadata.json").read_text())
    if each["spec"] == "metadata/ledger.RECORD"
]
HEADER = spec.VERSION_KEY
PLAIN = LedgerMetadata(2, 2, 1, [Fragment(0, ("a:1", "b:2"))], DigestType.CRC32C, b"pw")


def plain(**changes: Any) -> LedgerMetadata:
    return evolve(PLAIN, **changes)


def binary(message: Message, rest: bytes = b"") -> bytes:
    return HEADER + b"3\n" + spec.BINARY_BODY.build(message.SerializePartialToString()) + rest


def message_with(**changes: Any) -> Message:
    message = Message(quorumSize=1, ensembleSize=1, length=0, state="OPEN")
    message.segment.add(ensembleMember=["a:1"], firstEntryId=0)
    for name, value in changes.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize("vector", VECTORS)
def test_vector(vector: dict[str, Any]) -> None:
    data, fields = bytes.fromhex(vector["hex"]), vector["fields"]
    metadata = parse(data, 7)
    assert serialize(metadata) == data
    for name in ("ensemble_size", "write_quorum_size", "ack_quorum_size", "last_entry_id", "length", "create_token"):
        assert getattr(metadata, name) == fields[name], name
    assert metadata.state.name == fields["state"]
    assert metadata.format_version == fields["format_version"]
    assert (metadata.digest_type and metadata.digest_type.value.name) == fields["digest_type"]
    assert (None if metadata.password is None else metadata.password.hex()) == fields["password"]
    assert {key: value.hex() for key, value in metadata.custom_metadata.items()} == fields["custom_metadata"]
    assert [list(each.ensemble) for each in metadata.fragments] == [each["ensemble"] for each in fields["fragments"]]


@pytest.mark.parametrize("vector", VECTORS)
def test_truncation_raises_nothing_but_metadata_corrupt(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    for size in range(len(data)):
        with suppress(MetadataCorrupt):  # the text forms have optional fields at their end
            parse(data[:size], 7)


def test_truncated_binary_form_is_refused() -> None:
    data = serialize(plain())
    for size in range(len(data)):
        with pytest.raises(MetadataCorrupt):
            parse(data[:size], 7)


ids = st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=8)
numbers = st.integers(0, 2**63 - 1)


@st.composite
def metadatas(draw: st.DrawFn) -> LedgerMetadata:
    version = draw(st.sampled_from(spec.FORMAT_VERSIONS))
    ensemble_size, write, ack = sorted((draw(st.integers(1, 4)) for _ in range(3)), reverse=True)
    firsts = sorted({0, *draw(st.lists(numbers, max_size=3))})
    ensembles = st.tuples(*[ids] * ensemble_size)
    state = draw(st.sampled_from(LedgerState))
    closed = state is LedgerState.CLOSED
    secret = version != spec.TEXT_LINES and draw(st.booleans())
    text_lines = version == spec.TEXT_LINES
    return LedgerMetadata(
        ensemble_size,
        write,
        write if text_lines else ack,
        [Fragment(first, draw(ensembles)) for first in firsts],
        draw(st.sampled_from(DigestType)) if secret else None,
        draw(st.binary(max_size=20)) if secret else None,
        state,
        draw(st.integers(-1, 2**63 - 1)) if closed else -1,
        draw(numbers) if closed else 0,
        {} if text_lines else draw(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), st.binary())),
        None if text_lines else draw(st.none() | numbers),
        draw(numbers) if version == spec.BINARY_PROTOBUF else None,
        version,
    )


@pytest.mark.slow
@given(metadatas())
def test_round_trip(metadata: LedgerMetadata) -> None:
    data = serialize(metadata)
    assert parse(data, 1) == metadata
    assert serialize(parse(data, 1)) == data


@given(st.binary(max_size=200), st.sampled_from([b"", HEADER, HEADER + b"1\n", HEADER + b"2\n", HEADER + b"3\n"]))
def test_garbage_gives_metadata_or_metadata_corrupt(garbage: bytes, start: bytes) -> None:
    with suppress(MetadataCorrupt):
        parse(start + garbage, 9)


@given(st.one_of(st.binary(max_size=40), metadatas().map(serialize)), st.integers(0, 300), st.binary(max_size=3))
def test_records_are_cut_as_declared(record: bytes, end: int, behind: bytes) -> None:
    """The hand-written cuts of a record give the same as the declarations, or both refuse."""
    record = record[:end] + behind
    divided = outcome(lambda: serialization._divided(record))
    assert divided == outcome(lambda: tuple(spec.RECORD.parse(record)[name] for name in ("format_version", "body")))
    body = divided[1] if divided else record
    assert outcome(lambda: serialization._delimited(body)) == outcome(lambda: spec.BINARY_BODY.parse(body))


def outcome(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except (construct.ConstructError, ValueError):
        return None


def test_text_escapes_are_those_of_java() -> None:
    everything = bytes(range(256))
    text = serialize(plain(format_version=2, custom_metadata={"ü": everything}))
    assert rb'key: "\303\274"' in text
    assert rb'"\000\001\002\003\004\005\006\a\b\t\n\v\f\r\016\017' in text
    assert rb" !\"#$%&\'()" in text
    assert rb"[\\]" in text
    assert rb"}~\177\200" in text
    assert text.isascii()
    assert parse(text, 1).custom_metadata == {"ü": everything}


def test_text_is_read_leniently() -> None:
    text = (
        b'# a comment\nstate: OPEN quorumSize: 1, ensembleSize: 1; length: 0 strange: "x" odd { a: 1 }\n'
        b"segment < firstEntryId: 0 ensembleMember: 'a:\\061' >"
    )
    metadata = parse(HEADER + b"2\n" + text, 1)
    assert metadata.fragments == (Fragment(0, ("a:1",)),)


def test_missing_ack_quorum_size_is_the_write_quorum_size() -> None:
    message = message_with(quorumSize=2, ensembleSize=2)
    message.segment[0].ensembleMember.append("b:1")
    assert parse(binary(message), 1).ack_quorum_size == 2


def test_digest_type_counts_only_together_with_a_password() -> None:
    assert parse(binary(message_with(digestType=3)), 1).digest_type is None
    assert parse(binary(message_with(digestType=3, password=b"")), 1).digest_type is DigestType.CRC32C


def test_password_without_digest_type_means_crc32_as_in_java() -> None:
    assert parse(binary(message_with(password=b"x")), 1).digest_type is DigestType.CRC32


def test_last_entry_and_length_count_only_when_closed() -> None:
    metadata = parse(binary(message_with(length=5, lastEntryId=3)), 1)
    assert (metadata.last_entry_id, metadata.length) == (-1, 0)


def test_unknown_fields_and_bytes_behind_the_message_are_ignored() -> None:
    unknown = b"\xf8\x06\x01"  # field 111, varint
    message = message_with().SerializeToString() + unknown
    data = HEADER + b"3\n" + spec.BINARY_BODY.build(message) + b"rest"
    assert parse(data, 1).ensemble_size == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "ledger 7"),
        (b"garbage", "ledger 7"),
        (HEADER + b"0\n", "form 0"),
        (HEADER + b"4\nxyz", "form 4"),
        (HEADER + b"1234567890\n", "not a number"),
        (HEADER + b"\n", "not a number"),
        (HEADER + b"\xb2\n", "not a number"),
        (HEADER + b"3\n", "cut short"),
        (HEADER + b"3\n" + b"\xff" * 1000, "cut short or too large"),
        (HEADER + b"3\n\x05\x08", "ledger 7"),
        (binary(Message(quorumSize=1)), "required"),
        (HEADER + b"2\nquorumSize: 1", "required"),
        (HEADER + b"2\nstate: WEIRD", "WEIRD"),
        (binary(message_with(length=-1)), "length is -1"),
        (binary(message_with(state=3, lastEntryId=-2)), "lastEntryId is -2"),
        (binary(message_with(ensembleSize=2)), "ensemble size is 2"),
        (binary(message_with(quorumSize=0)), "does not hold"),
        (binary(message_with(ackQuorumSize=2)), "does not hold"),
        (HEADER + b"1\n1\n1\n0", "at least 4 lines"),
        (HEADER + b"1\n1\n1\nx\n0\ta:1", "integer"),
        (HEADER + b"1\n1\n1\n0\n-5\ta:1", "starts at entry -5"),
        (HEADER + b"1\n1\n1\n0\n0\ta:1\n-7\tCLOSED", "-7"),
        (HEADER + b"1\n1\n1\n0\n0\t\xff", "ledger 7"),
        (HEADER + b"1\n" + b"9" * 5000 + b"\n1\n0\n0\ta:1", "integer"),
    ],
)
def test_bad_record_is_refused_with_ledger_and_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MetadataCorrupt, match="ledger 7") as caught:
        parse(data, 7)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("tag", "name"), [(0x28, "state"), (0x38, "digestType")])
def test_unknown_enum_value_is_named(tag: int, name: str) -> None:
    data = HEADER + b"3\n" + spec.BINARY_BODY.build(message_with().SerializeToString() + bytes([tag, 9]))
    with pytest.raises(MetadataCorrupt, match=f"{name} has the unknown value 9"):
        parse(data, 7)


def test_too_large_a_record_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "RECORD_SIZE_MAX", 100)
    with pytest.raises(MetadataCorrupt, match="larger than the limit of 100 bytes"):
        parse(HEADER + b"3\n" + bytes(100), 7)
    with pytest.raises(InvalidArgument, match="the limit is 100"):
        serialize(plain(custom_metadata={"a": bytes(200)}))


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": 4},
        {"password": None},
        {"digest_type": None},
        {"format_version": 1},
        {"format_version": 1, "ack_quorum_size": 2, "custom_metadata": {"a": b""}},
    ],
)
def test_values_without_a_place_in_the_form_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        serialize(plain(**changes))


def test_an_update_keeps_the_form_and_drops_the_token() -> None:
    assert as_update(plain(create_token=5)).create_token == 0
    assert serialize(as_update(plain(create_token=5))).endswith(b"\x60\x00")
    old = as_update(plain(format_version=2))
    assert (old.format_version, old.create_token) == (2, None)
    assert b"cToken" not in serialize(old)
