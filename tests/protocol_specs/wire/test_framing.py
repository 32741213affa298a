"""Frames, and the bit table of the packet header."""

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import fields
from protocol_specs.wire import framing, v2


@pytest.mark.parametrize(
    ("header", "version", "operation", "flags"),
    [
        (0x02010000, 2, 1, 0),
        (0x02020001, 2, 2, 1),
        (0x02020005, 2, 2, 5),
        (0x02010006, 2, 1, 6),
        (0x0207FFFF, 2, 7, 0xFFFF),
        (0x01020001, 1, 2, 1),
        (0x03010000, 3, 1, 0),
        (0x80020000, 0x80, 2, 0),
        (0xFFFFFFFF, 0xFF, 0xFF, 0xFFFF),
        # In version 0 the low byte is the operation, and the two bytes in the middle are nothing.
        (0x00000002, 0, 2, 0),
        (0x00000102, 0, 2, 0),
        (0x00020000, 0, 0, 0),
        (0x00FFFF07, 0, 7, 0),
    ],
)
def test_header_bits(header: int, version: int, operation: int, flags: int) -> None:
    assert framing.split_header(header) == (version, operation, flags)


@given(st.integers(1, 255), st.integers(0, 255), st.integers(0, 0xFFFF))
def test_split_and_join_follow_the_declared_bits(version: int, operation: int, flags: int) -> None:
    header = framing.join_header(version, operation, flags)
    assert framing.split_header(header) == (version, operation, flags)
    bits = framing.PACKET_HEADER.parse(fields.packet_header.build(header))
    assert (bits.version, bits.operation, bits.flags) == (version, operation, flags)


@given(st.integers(0, 255), st.integers(0, 0xFFFF))
def test_version_0_has_no_flags(operation: int, flags: int) -> None:
    assert framing.join_header(0, operation, flags) == operation


@pytest.mark.parametrize(
    ("request_header", "reply_header"),
    [
        (0x02020005, 0x02020000),
        (0x01020000, 0x01020000),
        (0x00000002, 0x00000002),
        (0x00000102, 0x00000002),
        (0x0301FFFF, 0x03010000),
        (0xFF070001, 0xFF070000),
    ],
)
def test_a_reply_echoes_version_and_operation_and_drops_the_flags(request_header: int, reply_header: int) -> None:
    assert framing.reply_header(request_header) == reply_header


@given(st.binary(max_size=50), st.binary(max_size=9))
def test_a_frame_is_its_body_behind_a_length(body: bytes, after: bytes) -> None:
    frame = framing.FRAME.build({"length": len(body), "body": body})
    assert framing.FRAME.parse(frame + after).body == body
    for size in range(len(frame)):
        with pytest.raises(construct.StreamError):
            framing.FRAME.parse(frame[:size])


def test_lengths_are_unsigned() -> None:
    assert framing.FRAME.length.parse(b"\xff\xff\xff\xff") == 2**32 - 1


@pytest.mark.parametrize("version", range(framing.VERSION_MAX + 1))
def test_no_v2_frame_can_start_a_v3_message(version: int) -> None:
    assert fields.packet_header.build(framing.join_header(version, 2))[0] < framing.V3_FIRST_BYTE_MIN


@pytest.mark.parametrize(
    "name", ["ADD_REQUEST", "ADD_REPLY", "READ_REQUEST", "READ_REPLY", "BATCH_READ_REQUEST", "AUTH"]
)
def test_a_frame_declares_the_message_behind_its_length(name: str) -> None:
    message, frame = getattr(v2, name), getattr(v2, name + "_FRAME")
    assert [subcon.name for subcon in frame.subcons] == ["length", *(subcon.name for subcon in message.subcons)]
