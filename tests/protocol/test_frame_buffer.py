"""Cutting a byte stream into frames."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.frame_buffer import SMALL, FrameBuffer

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


def test_bytes_that_trickle_in_cost_little_more_than_their_size() -> None:
    size = 100_000
    buffer = FrameBuffer(2 * size)
    buffer.keep(buffer.feed((size + 1).to_bytes(4, "big")), 0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(size):
        assert buffer.feed(b"x") == b""
    cost = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert cost < 2 * size
    assert frames_in(buffer, b"x") == [b"x" * (size + 1)]


def test_pieces_of_all_sizes_are_joined_in_their_order() -> None:
    body = bytes(range(256)) * 100
    buffer, at = FrameBuffer(2 * len(body)), 0
    assert frames_in(buffer, len(body).to_bytes(4, "big")) == []
    for size in (1, SMALL, 2, 3, SMALL - 1, SMALL + 1):
        assert frames_in(buffer, body[at : at + size]) == []
        at += size
    assert frames_in(buffer, body[at:]) == [body]


def test_the_frame_that_is_not_complete_has_a_number_and_a_size() -> None:
    buffer = FrameBuffer(LIMIT)
    assert (buffer.frame_number, buffer.frame_size) == (0, 0)
    frames_in(buffer, b"\0\0\0\5ab")
    assert (buffer.frame_number, buffer.frame_size) == (1, 9)
    frames_in(buffer, b"c")
    assert (buffer.frame_number, buffer.frame_size) == (1, 9)
    frames_in(buffer, b"de\0")
    assert (buffer.frame_number, buffer.frame_size) == (2, 4)
    frames_in(buffer, b"\0\0\1x")
    assert (buffer.frame_number, buffer.frame_size) == (2, 0)


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
