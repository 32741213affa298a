import pytest

from bookkeeper_tx.bookie.journal.records import (
    deleted_record,
    explicit_lac_record,
    fence_record,
    file_start,
    key_record,
    parse_blob,
)
from protocol_specs import vectors
from protocol_specs.codecs import Malformed
from protocol_specs.ledger_id import join

BY_NAME = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors.load("disk")}
KEY = bytes.fromhex("2e2a69d870796fe05c0e77c52a29ce5e4222b758")
LAC = bytes.fromhex("000000000000000500000000000000019aea0d92")
SCOPED_LAC = BY_NAME["journal explicit LAC record of a ledger outside scope 0"][-29:]


def test_records_are_javas() -> None:
    assert key_record(0, KEY) == BY_NAME["journal key record"]
    assert fence_record(6) == BY_NAME["journal fence record"]
    assert explicit_lac_record(5, LAC) == BY_NAME["journal explicit LAC record"]


def test_the_record_of_a_deletion_differs_from_a_fence_by_its_kind() -> None:
    for ledger_id in (6, join(1, -2)):
        fence, deleted = fence_record(ledger_id), deleted_record(ledger_id)
        assert deleted == fence[:-8] + bytes.fromhex("ffffffff9d8b87ff")


def test_records_of_scoped_ledgers() -> None:
    ledger_id = join(1, -2)
    key, lac = key_record(ledger_id, KEY), explicit_lac_record(ledger_id, SCOPED_LAC)
    assert key == BY_NAME["journal key record of a ledger outside scope 0"]
    assert fence_record(ledger_id) == BY_NAME["journal fence record of a ledger outside scope 0"]
    assert lac == BY_NAME["journal explicit LAC record of a ledger outside scope 0"]
    assert parse_blob(key, scoped=True) == KEY
    assert parse_blob(lac, scoped=True) == SCOPED_LAC
    with pytest.raises(Malformed):
        parse_blob(key[:-1], scoped=True)


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


def test_a_file_of_version_7_starts_with_a_sealed_header() -> None:
    salt = bytes(range(8))
    start = file_start(salt, 7)
    assert len(start) == 1024
    assert start[:512] == BY_NAME["journal header of version 7, before its zeros"].ljust(512, b"\0")
    seal = BY_NAME["seal of the header of version 7 at offset 512, before its zeros"]
    assert start[512:] == seal.ljust(512, b"\0")
