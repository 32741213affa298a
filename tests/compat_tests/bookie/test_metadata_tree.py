"""Reading what a bookie has registered."""

import pytest

from compat_tests.bookie.metadata_tree import endpoint_of, layout_class, parse_service_info
from compat_tests.judge.verdict import Mismatch
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo


def info(*protocols: str) -> BookieServiceInfo:
    message = BookieServiceInfo()
    for number, protocol in enumerate(protocols):
        message.endpoints.add(id=f"e{number}", port=number + 1, host="h", protocol=protocol)
    return message


def test_a_message_is_read() -> None:
    assert endpoint_of(parse_service_info(info("http", "bookie-rpc").SerializeToString())).port == 2


@pytest.mark.parametrize("protocols", [(), ("http",), ("bookie-rpc", "bookie-rpc")])
def test_there_is_one_endpoint_for_clients(protocols: tuple[str, ...]) -> None:
    with pytest.raises(Mismatch, match="one of protocol bookie-rpc"):
        endpoint_of(info(*protocols))


def test_bytes_that_are_none() -> None:
    with pytest.raises(Mismatch, match="a BookieServiceInfo"):
        parse_service_info(b"\xff\xff\xff")


def test_a_message_that_lacks_a_required_field() -> None:
    message = BookieServiceInfo()
    message.endpoints.add(id="bookie", host="h", protocol="bookie-rpc")
    with pytest.raises(Mismatch, match="port"):
        parse_service_info(message.SerializePartialToString())


def test_the_class_in_layout() -> None:
    assert layout_class(b"2\na.Class:1") == b"a.Class"


@pytest.mark.parametrize("data", [b"", b"2\na.Class", b"3\na.Class:1"])
def test_a_layout_that_is_none(data: bytes) -> None:
    with pytest.raises(Mismatch, match="LAYOUT"):
        layout_class(data)
