"""Frames that are made all at once equal frames that are made one by one."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.digest import EQUAL_MIN, EntryDigest
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from bookkeeper_tx.spark.writing import add_frames as module
from bookkeeper_tx.spark.writing.add_frames import PAYLOAD_MAX, add_frames

IDS = st.integers(1, 2**63 - 1)
LEDGERS = st.one_of(st.integers(0, 2**63 - 1), st.builds(LedgerId, IDS, IDS))
PAYLOADS = st.one_of(
    st.lists(st.binary(max_size=40), min_size=1, max_size=60),
    st.integers(0, 40).flatmap(lambda size: st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=60)),
)


def one_by_one(digest, ledger_id, first, confirmed, length, payloads):
    lengths = list(accumulate(map(len, payloads), initial=length))[1:]
    entries = [
        digest.seal(ledger_id, entry_id, confirmed, each, payload)
        for entry_id, each, payload in zip(range(first, first + len(payloads)), lengths, payloads, strict=True)
    ]
    return add_requests(digest.master_key, entries)


@given(
    st.sampled_from(DigestType),
    LEDGERS,
    st.integers(0, 2**62),
    st.integers(-1, 2**62),
    st.integers(0, 2**62),
    PAYLOADS,
)
def test_frames_are_those_of_one_entry_after_the_other(digest_type, ledger_id, first, confirmed, length, payloads):
    digest = EntryDigest(digest_type, b"secret")
    expected = one_by_one(digest, ledger_id, first, confirmed, length, payloads)
    assert bytes(add_frames(digest, ledger_id, first, confirmed, length, payloads)) == expected
    entries = digest.seal_run(ledger_id, first, confirmed, length, payloads)
    assert add_requests(digest.master_key, entries) == expected


@pytest.mark.parametrize("size", [0, PAYLOAD_MAX, PAYLOAD_MAX + 1])
@pytest.mark.parametrize("count", [1, EQUAL_MIN - 1, EQUAL_MIN, 2000])
def test_sizes_and_counts_at_the_limits_change_nothing(size, count):
    digest = EntryDigest(DigestType.CRC32C, b"")
    payloads = [bytes([each % 251]) * size for each in range(count)]
    assert bytes(add_frames(digest, 7, 3, 2, 11, payloads)) == one_by_one(digest, 7, 3, 2, 11, payloads)


def test_without_numpy_frames_are_the_same(monkeypatch):
    digest = EntryDigest(DigestType.CRC32C, b"")
    payloads = [b"%020d" % each for each in range(100)]
    expected = bytes(add_frames(digest, 7, 3, 2, 11, payloads))
    monkeypatch.setattr(module, "numpy", None)
    assert add_frames(digest, 7, 3, 2, 11, payloads) == expected


def test_frames_can_be_cut_anywhere_as_bytes():
    frames = memoryview(add_frames(EntryDigest(DigestType.CRC32C, b""), 7, 0, -1, 0, [b"x" * 9] * 100))
    assert frames.format == "B"
    assert bytes(frames[5:17]) == bytes(frames)[5:17]
