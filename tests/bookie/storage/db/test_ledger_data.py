import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.db.ledger_data import packed, unpacked
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.formats_pb2 import LedgerData

KEY_OF_PW = bytes.fromhex("2aa226ba095b6969a64871977693b14671710d76")


def test_the_value_is_that_of_java() -> None:
    assert packed(IndexHeader(KEY_OF_PW)) == bytes.fromhex("080110001a14") + KEY_OF_PW
    assert packed(IndexHeader(KEY_OF_PW, True)) == bytes.fromhex("080110011a14") + KEY_OF_PW


BODIES = st.one_of(st.just(b""), st.binary(min_size=16, max_size=40))


@given(st.binary(max_size=20), st.booleans(), BODIES, st.booleans())
def test_a_value_says_what_the_header_of_an_index_file_says(key: bytes, fenced: bool, body: bytes, limbo: bool) -> None:
    body = b"\0" + body[1:]
    header = IndexHeader(key, fenced, body if len(body) > 1 else b"", limbo)
    assert unpacked(7, packed(header)) == header


@pytest.mark.parametrize("value", [b"", b"\xff", packed(IndexHeader(KEY_OF_PW))[:-1], b"\x08\x01"])
def test_a_damaged_value_is_no_missing_ledger(value: bytes) -> None:
    with pytest.raises(StorageFailed, match="no valid state of ledger 7"):
        unpacked(7, value)


def test_a_bad_explicit_lac_is_not_served() -> None:
    value = LedgerData(exists=True, fenced=False, masterKey=KEY_OF_PW, explicitLac=b"short").SerializeToString()
    with pytest.raises(StorageFailed, match="no valid state"):
        unpacked(7, value)


def test_limbo_is_that_of_java() -> None:
    value = LedgerData(exists=True, fenced=True, masterKey=b"", limbo=True).SerializeToString()
    assert unpacked(7, value) == IndexHeader(b"", True, limbo=True)
    assert packed(IndexHeader(b"", True, limbo=True)) == value
