import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import BookieUnavailable, InvalidArgument, MetadataCorrupt
from bookkeeper_tx.metadata.service_info import check_bookie_id, parse, serialize
from bookkeeper_tx.model import BookieServiceInfo
from protocol_specs.metadata import bookie as spec
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo as Message


@pytest.mark.parametrize("extensions", [(), (spec.TLS,), (spec.TLS, spec.LEDGER_SCOPE_ID, spec.BATCH_READ_V3)])
def test_round_trip(extensions: tuple[str, ...]) -> None:
    info = BookieServiceInfo("10.0.0.1", 3181, extensions=frozenset(extensions))
    assert parse(serialize(info), "x") == info


def test_the_endpoint_of_http_comes_second() -> None:
    info = BookieServiceInfo("10.0.0.1", 3181, http=("127.0.0.1", 8080))
    assert parse(serialize(info), "x") == info
    message = Message.FromString(serialize(info))
    assert [endpoint.id for endpoint in message.endpoints] == ["bookie", "httpserver"]


def test_bytes_without_extensions_are_those_of_before() -> None:
    assert serialize(BookieServiceInfo("10.0.0.1", 3181)) == bytes.fromhex(
        "32210a06626f6f6b696510ed181a0831302e302e302e31220a626f6f6b69652d727063"
    )


def test_an_extension_is_field_6_of_the_endpoint() -> None:
    data = serialize(BookieServiceInfo("h", 1, extensions=frozenset({spec.TLS})))
    assert data.endswith(bytes.fromhex("3203") + b"tls")


def test_what_a_bookie_can_that_publishes_nothing_is_unknown() -> None:
    assert parse(b"", "h:1").extensions is None
    assert parse(serialize(BookieServiceInfo("h", 1, extensions=None)), "h:1").extensions == frozenset()


def test_empty_registration_means_the_address_in_the_id() -> None:
    assert parse(b"", "host.example:3181") == BookieServiceInfo("host.example", 3181, extensions=None)


@pytest.mark.parametrize("bookie_id", ["name", ":3181", "host:", "host:x", "host:0", "host:70000"])
def test_empty_registration_of_an_id_that_is_no_address(bookie_id: str) -> None:
    with pytest.raises(BookieUnavailable, match="publishes no address"):
        parse(b"", bookie_id)


def test_the_endpoint_for_clients_is_chosen() -> None:
    message = Message()
    message.endpoints.add(id="httpserver", port=8080, host="h", protocol="http")
    message.endpoints.add(id="bookie", port=3181, host="h", protocol="bookie-rpc", extensions=["tls"])
    message.properties["a"] = "b"
    found = parse(message.SerializeToString(), "x")
    assert (found.port, found.extensions, found.http) == (3181, {spec.TLS}, ("h", 8080))


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
