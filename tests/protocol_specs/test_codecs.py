"""Derived codecs: the same as construct itself, only faster; and what no codec can be derived from."""

import struct
from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import codecs, fields
from protocol_specs.codecs import Codec, Malformed, UnsupportedForm, derive, record_offsets
from protocol_specs.forms import LengthFirst
from protocol_specs.wire import tails, v2
from tests.protocol_specs import declared

every_codec = pytest.mark.parametrize("codec", declared.CODECS, ids=lambda codec: codec.name)


@every_codec
@given(data=st.data())
def test_derived_reads_what_construct_reads(codec: Codec, data: st.DataObject) -> None:
    message = data.draw(declared.messages(codec))
    values = declared.derived(codec, message)
    assert values is not None
    assert values == declared.interpreted(codec, message)


@every_codec
@given(data=st.data())
def test_derived_and_construct_refuse_the_same_bytes(codec: Codec, data: st.DataObject) -> None:
    message = bytearray(data.draw(declared.messages(codec)))
    for _ in range(data.draw(st.integers(0, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(message[: data.draw(st.integers(0, len(message)))])
    assert declared.derived(codec, cut) == declared.interpreted(codec, cut)


@every_codec
@given(junk=st.binary(max_size=80))
def test_derived_and_construct_agree_on_junk(codec: Codec, junk: bytes) -> None:
    assert declared.derived(codec, junk) == declared.interpreted(codec, junk)


@every_codec
@given(data=st.data())
def test_every_truncation_is_refused(codec: Codec, data: st.DataObject) -> None:
    """Of the fixed part always; of the tail too, where the message says how long it is."""
    message = data.draw(declared.messages(codec))
    bears_length = isinstance(codec.declaration, LengthFirst)
    for size in range(len(message) if bears_length else codec.size):
        assert declared.derived(codec, message[:size]) is None
        assert declared.interpreted(codec, message[:size]) is None


@every_codec
@given(data=st.data())
def test_pack_gives_the_bytes_that_were_read(codec: Codec, data: st.DataObject) -> None:
    message = data.draw(declared.messages(codec))
    values = codec.unpack_from(message)
    packed = codec.pack(*values)
    assert message.startswith(packed)
    if codec.tail not in (tails.Ignored, tails.KeyIfFencing):
        assert packed == message


@every_codec
def test_offsets_are_those_of_the_fields(codec: Codec) -> None:
    sizes = [subcon.sizeof() for subcon in codec.declaration.subcons[: len(codec.fields)]]
    assert [codec.offsets[field] for field in codec.fields] == [sum(sizes[:i]) for i in range(len(sizes))]
    assert codec.size == sum(sizes)


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_message_may_lie_anywhere_in_any_buffer(before: bytes, after: bytes) -> None:
    codec = derive("read reply", v2.READ_REPLY_FRAME)
    message = codec.pack(28, 0x02020000, 0, 7, 8, b"mine")
    for kind in (bytes, bytearray, memoryview):
        buffer = kind(before + message + after)
        assert codec.unpack_from(buffer, len(before)) == (28, 0x02020000, 0, 7, 8, b"mine")
        assert codec.unpack_from(buffer, len(before), len(before) + len(message))[-1] == b"mine"


def test_a_run_of_equal_messages_is_read_in_one_loop() -> None:
    codec = derive("add reply", v2.ADD_REPLY_FRAME)
    run = b"".join(codec.pack(24, 0x02010000, 0, 1, entry_id) for entry_id in range(5))
    assert [values[-1] for values in codec.iter_fixed(run)] == [0, 1, 2, 3, 4]


# Bad bytes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "field"),
    [(0, "header"), (3, "header"), (4, "ledger_id"), (11, "ledger_id"), (12, "entry_id"), (19, "entry_id")],
)
def test_bad_bytes_name_spec_field_and_offset(size: int, field: str) -> None:
    codec = derive("read request", v2.READ_REQUEST)
    with pytest.raises(Malformed, match="malformed read request: needs 20 bytes") as caught:
        codec.unpack_from(bytes(7 + size), 7)
    assert (caught.value.spec, caught.value.field, caught.value.offset) == ("read request", field, 7 + size)


def test_a_missing_key_is_named() -> None:
    codec = derive("read request", v2.READ_REQUEST)
    with pytest.raises(Malformed) as caught:
        codec.unpack_from(codec.pack_fixed(0x02020001, 1, 2) + bytes(19))
    assert (caught.value.field, caught.value.offset) == ("master_key", 20)


def test_an_end_behind_the_buffer_is_a_truncation() -> None:
    codec = derive("read reply", v2.READ_REPLY)
    with pytest.raises(Malformed, match="needs 40 bytes, has 30") as caught:
        codec.unpack_from(bytes(30), 0, 40)
    assert caught.value.field == "entry"


@pytest.mark.parametrize("length", [0, 23, 29, 2**31, 2**32 - 1])
def test_a_length_that_does_not_fit_is_refused(length: int) -> None:
    codec = derive("add reply", v2.ADD_REPLY_FRAME)
    message = codec.pack(length, 0x02010000, 0, 1, 2) + bytes(4)
    assert declared.derived(codec, message) is None
    assert declared.interpreted(codec, message) is None


def test_a_message_ends_where_its_length_says() -> None:
    codec = derive("read reply", v2.READ_REPLY_FRAME)
    assert codec.unpack_from(codec.pack(25, 0x02020000, 0, 1, 2, b"x") + b"the next frame")[-1] == b"x"


def test_record_offsets_start_each_record_and_end_the_last() -> None:
    data = b"??" + tails.Records.build([b"abc", b"", b"d"])
    assert record_offsets("batch", data, 2, len(data)) == [2, 9, 13, 18]
    assert record_offsets("batch", data, 2, 2) == [2]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("sizes", [[3, 3, 3], [0, 0], [3, 3, 4], [4, 3, 3], [3, 4, 3], [6, 6, 1, 1, 0]])
def test_records_of_one_size_are_seen_for_what_they_are(kind: Any, sizes: list[int]) -> None:
    data = tails.Records.build([bytes(size) for size in sizes])
    starts = [sum(sizes[:at]) + 4 * at for at in range(len(sizes) + 1)]
    assert list(record_offsets("batch", kind(data), 0, len(data))) == starts


@pytest.mark.parametrize("at", [7, 10, 14, 17])
@pytest.mark.parametrize("byte", [0, 4, 0x80, 0xFF])
def test_a_bad_length_among_records_of_one_size_is_noticed(at: int, byte: int) -> None:
    data = bytearray(tails.Records.build([b"abc"] * 3))
    data[at] = byte
    if data != tails.Records.build([b"abc"] * 3):
        with pytest.raises(Malformed):
            record_offsets("batch", bytes(data), 0, len(data))


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\x00\x00\x00", 0),
        (b"\x00\x00\x00\x01", 0),
        (b"\x00\x00\x00\x00\x00\x00\x00\x05abcd", 4),
        (b"\xff\xff\xff\xff", 0),
        (b"\xff\xff\xff\xfcabcd", 0),
        (b"\x80\x00\x00\x00" + bytes(8), 0),
        (b"\x7f\xff\xff\xff" + bytes(8), 0),
    ],
)
def test_bad_records_are_refused(data: bytes, offset: int) -> None:
    with pytest.raises(Malformed) as caught:
        record_offsets("batch", data, 0, len(data))
    assert (caught.value.spec, caught.value.offset) == ("batch", offset)


# Bad values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [b"", bytes(19), bytes(21)])
def test_pack_refuses_a_byte_field_of_another_size(key: bytes) -> None:
    with pytest.raises(ValueError, match="master_key has 20 bytes"):
        derive("add request", v2.ADD_REQUEST).pack(0x02010000, key, 1, 2, b"")


@pytest.mark.parametrize("values", [(0x02010000, 0, 1), (0x02010000, 0, 1, 2, None, 3)])
def test_pack_refuses_another_number_of_values(values: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="has 4 fields"):
        derive("add reply", v2.ADD_REPLY).pack(*values)


def test_pack_refuses_what_an_integer_cannot_hold() -> None:
    with pytest.raises(struct.error):
        derive("add reply", v2.ADD_REPLY).pack(2**32, 0, 1, 2)


@pytest.mark.parametrize(("header", "key"), [(0x02020001, None), (0x02020001, bytes(19)), (0x02020000, bytes(21))])
def test_pack_and_construct_refuse_the_same_keys(header: int, key: bytes | None) -> None:
    with pytest.raises(ValueError, match="master key"):
        derive("read request", v2.READ_REQUEST).pack(header, 1, 2, key)
    with pytest.raises(construct.StreamError):
        v2.READ_REQUEST.build({"header": header, "ledger_id": 1, "entry_id": 2, "master_key": key})


# Declarations that no codec is derived from --------------------------------------------------------------------------

A = "a" / construct.Int32ub

UNSUPPORTED = {
    "little-endian": construct.Struct("a" / construct.Int32ul),
    "native": construct.Struct("a" / construct.Int32un),
    "odd size": construct.Struct("a" / construct.Int24ub),
    "bits": construct.Struct("a" / construct.BitStruct("b" / construct.BitsInteger(8))),
    "size by context": construct.Struct(A, "b" / construct.Bytes(construct.this.a)),
    "size by lambda": construct.Struct(A, "b" / construct.Bytes(lambda this: 3)),
    "nested": construct.Struct("a" / construct.Struct("b" / construct.Int8ub)),
    "array": construct.Struct("a" / construct.Int8ub[3]),
    "greedy range": construct.Struct("a" / construct.GreedyRange(construct.Int8ub)),
    "prefixed": construct.Struct("a" / construct.Prefixed(construct.Int32ub, construct.GreedyBytes)),
    "optional": construct.Struct("a" / construct.Optional(construct.Int32ub)),
    "switch": construct.Struct(A, "b" / construct.Switch(construct.this.a, {})),
    "enum": construct.Struct("a" / construct.Enum(construct.Int8ub, one=1)),
    "flags": construct.Struct("a" / construct.FlagsEnum(construct.Int8ub, one=1)),
    "constant": construct.Struct("a" / construct.Const(b"x")),
    "constant without a name": construct.Struct(A, construct.Const(b"x")),
    "padding": construct.Struct(A, construct.Padding(2)),
    "computed": construct.Struct("a" / construct.Computed(1)),
    "default": construct.Struct("a" / construct.Default(construct.Int8ub, 1)),
    "no name": construct.Struct(A, construct.Int32ub),
    "hook": construct.Struct("a" / (construct.Int32ub * (lambda value, context: None))),
    "tail before the end": construct.Struct("a" / construct.GreedyBytes, "b" / construct.Int8ub),
    "two tails": construct.Struct("a" / construct.GreedyBytes, "b" / construct.GreedyBytes),
    "another tail": construct.Struct("a" / construct.GreedyString("utf8")),
    "key without header": construct.Struct(A, "b" / tails.KeyIfFencing),
    "one name twice": construct.Struct(A, "a" / construct.Int8ub),
    "length that is no integer": LengthFirst("a" / construct.Bytes(4)),
    "length that is a tail": LengthFirst("a" / construct.GreedyBytes),
}


@pytest.mark.parametrize("struct", UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
def test_other_forms_are_errors_at_import(struct: construct.Struct) -> None:
    with pytest.raises(UnsupportedForm, match="message"):
        derive("message", struct)


def test_documented_fields_are_fields() -> None:
    codec = derive("message", construct.Struct("a" / (fields.ledger_id * "whose it is"), "b" / (tails.Rest * "more")))
    assert (codec.fields, codec.tail) == (("a",), tails.Rest)
    assert codec.unpack_from(bytes(8) + b"x") == (0, b"x")


def test_leading_fields() -> None:
    head = codecs.leading(v2.ADD_REQUEST_FRAME, "ledger_id")
    assert derive("head", head).fields == ("length", "header", "master_key")
