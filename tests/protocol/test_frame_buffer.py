"""Cutting a byte stream into frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer

LIMIT = 1000


def frames_in(buffer: FrameBuffer, data: bytes) -> list[bytes]:
    found, position = [], 0
    whole = buffer.feed(data)
    while len(whole) - position >= 4:
        end = position + 4 + int.from_bytes(whole[position : position + 4], "big")
        if end > len(whole):
            break
        found.append(whole[position + 4 : end])
        position = end
    buffer.keep(whole, position)
    return found


@given(st.lists(st.binary(max_size=200), max_size=10), st.data())
def test_frames_are_the_same_however_the_stream_is_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    buffer, found = FrameBuffer(LIMIT), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += frames_in(buffer, stream[start:end])
    assert found == bodies


@pytest.mark.parametrize("length", [LIMIT - 3, 2**31 - 1, 2**31, 2**32 - 1])
def test_a_frame_over_the_limit_is_refused_at_its_length_word(length: int) -> None:
    buffer = FrameBuffer(LIMIT)
    with pytest.raises(ProtocolViolation, match="over the limit of 1000"):
        buffer.keep(length.to_bytes(4, "big"), 0)


def test_a_frame_at_the_limit_is_taken() -> None:
    buffer = FrameBuffer(LIMIT)
    body = bytes(LIMIT - 4)
    assert frames_in(buffer, len(body).to_bytes(4, "big")) == []
    assert frames_in(buffer, body[:500]) == []
    assert frames_in(buffer, body[500:]) == [body]
