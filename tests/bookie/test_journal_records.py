import pytest

from bookkeeper_tx.bookie.journal_records import explicit_lac_record, fence_record, file_start, key_record, parse_blob
from protocol_specs import vectors
from protocol_specs.codecs import Malformed

BY_NAME = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors.load("disk")}
KEY = bytes.fromhex("2e2a69d870796fe05c0e77c52a29ce5e4222b758")
LAC = bytes.fromhex("000000000000000500000000000000019aea0d92")


def test_records_are_javas() -> None:
    assert key_record(0, KEY) == BY_NAME["journal key record"]
    assert fence_record(6) == BY_NAME["journal fence record"]
    assert explicit_lac_record(5, LAC) == BY_NAME["journal explicit LAC record"]


def test_a_blob_comes_back_whole() -> None:
    assert parse_blob(key_record(7, KEY)) == KEY
    assert parse_blob(explicit_lac_record(7, LAC * 3)) == LAC * 3
    assert parse_blob(explicit_lac_record(7, b"")) == b""


@pytest.mark.parametrize(
    "record", [fence_record(1), key_record(1, KEY)[:-1], key_record(1, KEY)[:20] + b"\0\0\0\x15" + KEY]
)
def test_a_blob_that_is_not_there_is_refused(record: bytes) -> None:
    with pytest.raises(Malformed):
        parse_blob(record)


def test_a_file_starts_with_header_and_empty_group() -> None:
    start = file_start(b"12345678")
    assert len(start) == 1024
    assert start.startswith(BY_NAME["journal header, before its zeros"])
    assert start[512:].rstrip(b"\0") == b"\xff\xff\xff\0\0\0\1\xf8bktxSEAL12345678\0\0\0\0\0\0\2".ljust(8)
