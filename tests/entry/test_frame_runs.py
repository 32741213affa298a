"""Runs of equal-sized frames, a byte column at a time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.frame_runs import ascending_ids, consecutive_frames, equal_frames, numbered, numbered_heads


@given(st.lists(st.sampled_from([b"abcd", b"abce", b"xbcd"]), min_size=1, max_size=30), st.integers(0, 3))
def test_equal_frames_counts_the_leading_equal_ones(frames: list[bytes], padding: int) -> None:
    stride = 4 + padding
    buffer = b"??" + b"".join(frame + bytes(padding) for frame in frames)
    expected = next((i for i, frame in enumerate(frames) if frame != frames[0]), len(frames))
    assert equal_frames(buffer, 2, stride, len(frames), 4) == expected


@given(st.integers(-(2**63), 2**63 - 40), st.integers(1, 30), st.integers(0, 30))
def test_ascending_ids_counts_up_to_the_first_jump(first: int, count: int, jump_at: int) -> None:
    ids = [first + i + (5 if i >= jump_at else 0) for i in range(count)]
    buffer = b"".join(b"head" + entry_id.to_bytes(8, "big", signed=True) for entry_id in ids)
    expected = 0 if jump_at == 0 else min(count, jump_at)
    assert ascending_ids(buffer, 4, 12, count, first) == expected


@given(
    st.integers(-(2**63), 2**63 - 700),
    st.integers(1, 600),
    st.integers(1, 600),
    st.integers(1, 600),
    st.integers(0, 5),
)
def test_consecutive_frames_end_at_another_head_or_id(
    first: int, count: int, other_head_at: int, other_id_at: int, padding: int
) -> None:
    heads = [b"head" if i != other_head_at else b"heap" for i in range(count)]
    ids = [first + i if i != other_id_at else first for i in range(count)]
    frames = [
        head + entry_id.to_bytes(8, "big", signed=True) + bytes(padding)
        for head, entry_id in zip(heads, ids, strict=True)
    ]
    found = consecutive_frames(b"?" + b"".join(frames), 1, 12 + padding, count, 4, first)
    assert found == min(count, other_head_at, other_id_at)


class CountedReads(bytes):
    """A buffer that counts the bytes that are read from it."""

    read = 0

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        self.read += len(part)
        return part


def test_the_look_ahead_costs_no_more_than_the_run_is_long() -> None:
    frames = [b"ledger%d" % (i % 2) + i.to_bytes(8, "big") for i in range(10_000)]
    buffer = CountedReads(b"".join(frames))
    assert consecutive_frames(buffer, 0, 15, len(frames), 7, 0) == 1
    assert equal_frames(buffer, 0, 15, len(frames), 7) == 1
    assert ascending_ids(buffer, 7, 15, len(frames), 1) == 0
    assert buffer.read < 100


def test_no_id_comes_after_the_highest() -> None:
    highest = (2**63 - 1).to_bytes(8, "big")
    assert ascending_ids(highest * 10, 0, 8, 10, 2**63 - 1) == 1


@given(st.integers(-(2**63), 2**63 - 40), st.integers(1, 30))
def test_numbered_frames_count_up(first: int, count: int) -> None:
    frames = numbered(b"head" + bytes(8) + b"tail", 4, first, count)
    expected = b"".join(b"head" + (first + i).to_bytes(8, "big", signed=True) + b"tail" for i in range(count))
    assert frames == expected


@given(st.integers(-(2**63), 2**63 - 40), st.lists(st.binary(min_size=5, max_size=5), min_size=1, max_size=30))
def test_numbered_heads_stand_before_bodies_of_one_size(first: int, bodies: list[bytes]) -> None:
    head = b"head" + first.to_bytes(8, "big", signed=True) + b"end"
    expected = b"".join(
        b"head" + (first + i).to_bytes(8, "big", signed=True) + b"end" + body for i, body in enumerate(bodies)
    )
    assert numbered_heads(head, 4, first, bodies) == expected
