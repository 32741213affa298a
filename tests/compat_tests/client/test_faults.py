"""Damaged copies differ in exactly one place."""

import pytest

from compat_tests.client import faults
from protocol_specs.entry.digest import CRC32C, DIGESTS, DUMMY

ENTRY = bytes(range(100, 136)) + b"hello"


@pytest.mark.parametrize(("bit", "changed"), [(0, b"\x80\x00"), (7, b"\x01\x00"), (8, b"\x00\x80"), (-1, b"\x00\x01")])
def test_one_bit_is_flipped(bit, changed):
    assert faults.with_bit_flipped(b"\x00\x00", bit) == changed


def test_every_field_of_an_entry_has_its_span():
    found = {name: (span.start, span.stop) for name, span in faults.spans(ENTRY, CRC32C).items()}
    assert found == {
        "ledger_id": (0, 8),
        "entry_id": (8, 16),
        "last_add_confirmed": (16, 24),
        "length": (24, 32),
        "digest": (32, 36),
        "payload": (36, 41),
    }
    assert "digest" not in faults.spans(ENTRY, DUMMY)


@pytest.mark.parametrize("digest", DIGESTS)
def test_each_damaged_entry_differs_in_one_byte_of_its_field(digest):
    entry = bytes(32 + digest.size) + b"hello"
    for name, changed in faults.damaged_copies(entry, digest).items():
        different = [at for at, (old, new) in enumerate(zip(entry, changed, strict=True)) if old != new]
        assert len(different) == 1
        assert different[0] in faults.spans(entry, digest)[name]


def test_what_is_cut_short_lacks_metadata_digest_or_payload():
    found = [len(each) for each in faults.truncated_copies(ENTRY, CRC32C)]
    assert found == [0, 1, 8, 16, 24, 31, 32, 35, 40]
    assert all(ENTRY.startswith(each) for each in faults.truncated_copies(ENTRY, CRC32C))


def test_a_record_may_claim_another_size():
    assert faults.record(b"abc") == b"\0\0\0\3abc"
    assert faults.record(b"abc", -1) == b"\xff\xff\xff\xffabc"


def test_pieces_make_up_the_whole():
    assert faults.pieces(b"abcdefg", 3) == [b"abc", b"def", b"g"]
