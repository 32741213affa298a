"""Ledger metadata as the suite writes and reads them, compared with our own code on the same bytes."""

import attrs
import pytest

from bookkeeper_tx.metadata.ledger_record import serialization
from compat_tests.client.metadata_root import path_of, registration
from compat_tests.client.records import CLOSED, IN_RECOVERY, LedgerRecord, decode
from compat_tests.judge.verdict import Mismatch
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo

RECORD = LedgerRecord(
    ensemble=2,
    write=2,
    ack=1,
    fragments={0: ("a:1", "b:1"), 3: ("a:1", "c:1")},
    state=CLOSED,
    last_entry=4,
    length=77,
    digest="MAC",
    password=b'pa"ss\\\x00\xff',
    custom={"owner": b"me"},
    ctime_ms=5,
)


@pytest.mark.parametrize("form", [2, 3])
def test_a_record_comes_back(form):
    record = attrs.evolve(RECORD, format_version=form)
    assert decode(record.encode()) == record


@pytest.mark.parametrize("form", [1, 2, 3])
def test_another_reader_understands_it(form):
    metadata = serialization.parse(attrs.evolve(RECORD, format_version=form).encode(), 1)
    assert (metadata.last_entry_id, metadata.length, metadata.state.name) == (4, 77, CLOSED)
    assert [each.first_entry_id for each in metadata.fragments] == [0, 3]
    recovering = attrs.evolve(RECORD, format_version=form, state=IN_RECOVERY, last_entry=-1, length=0)
    assert serialization.parse(recovering.encode(), 1).state.name == IN_RECOVERY


def test_what_is_no_record_is_the_clients_fault():
    for data in (b"", b"hello", b"BookieMetadataFormatVersion\t4\nx", b"BookieMetadataFormatVersion\t3\n\x05abc"):
        with pytest.raises(Mismatch):
            decode(data)


def test_paths_of_short_and_long_ids():
    assert path_of(123) == "00/0000/L0123"
    assert path_of(2**31 - 1) == "000/0000/0021/4748/L3647"
    assert path_of(1234567890123456789) == "123/4567/8901/2345/L6789"


def test_a_registration_names_its_port():
    info = BookieServiceInfo.FromString(registration("127.0.0.1", 3181, ("tls",)))
    (endpoint,) = info.endpoints
    assert (endpoint.port, endpoint.protocol, list(endpoint.extensions)) == (3181, "bookie-rpc", ["tls"])
