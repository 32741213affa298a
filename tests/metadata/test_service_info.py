import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import BookieUnavailable, InvalidArgument, MetadataCorrupt
from bookkeeper_tx.metadata.service_info import check_bookie_id, parse, serialize
from bookkeeper_tx.model import BookieServiceInfo
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo as Message


def test_round_trip() -> None:
    info = BookieServiceInfo("10.0.0.1", 3181)
    assert parse(serialize(info), "x") == info


def test_empty_registration_means_the_address_in_the_id() -> None:
    assert parse(b"", "host.example:3181") == BookieServiceInfo("host.example", 3181)


@pytest.mark.parametrize("bookie_id", ["name", ":3181", "host:", "host:x", "host:0", "host:70000"])
def test_empty_registration_of_an_id_that_is_no_address(bookie_id: str) -> None:
    with pytest.raises(BookieUnavailable, match="publishes no address"):
        parse(b"", bookie_id)


def test_the_endpoint_for_clients_is_chosen() -> None:
    message = Message()
    message.endpoints.add(id="httpserver", port=8080, host="h", protocol="http")
    message.endpoints.add(id="bookie", port=3181, host="h", protocol="bookie-rpc", extensions=["tls"])
    message.properties["a"] = "b"
    assert parse(message.SerializeToString(), "x").port == 3181


def test_no_endpoint_for_clients() -> None:
    message = Message()
    message.endpoints.add(id="httpserver", port=8080, host="h", protocol="http")
    with pytest.raises(BookieUnavailable, match="publishes no endpoint"):
        parse(message.SerializeToString(), "x")


@given(st.binary(max_size=60))
def test_garbage(data: bytes) -> None:
    try:
        parse(data, "h:1")
    except (MetadataCorrupt, BookieUnavailable):
        pass


@pytest.mark.parametrize("bookie_id", ["readonly", ".", "..", "", "a/b"])
def test_refused_ids(bookie_id: str) -> None:
    with pytest.raises(InvalidArgument, match="no bookie id"):
        check_bookie_id(bookie_id)
