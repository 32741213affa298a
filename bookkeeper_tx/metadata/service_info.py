"""The record that a bookie registers with, to and from bytes (``BookieServiceInfo`` of ``formats.proto``)."""

from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import BookieUnavailable, InvalidArgument, MetadataCorrupt
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from protocol_specs.metadata import bookie as spec
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo as Message

_PORT_MAX = 2**16 - 1


def check_bookie_id(bookie_id: BookieId) -> BookieId:
    """Return ``bookie_id`` if a bookie may be called so; raises InvalidArgument."""
    if not spec.BOOKIE_ID.fullmatch(bookie_id) or bookie_id in (spec.RESERVED_BOOKIE_ID, ".", ".."):
        raise InvalidArgument(f"{bookie_id!r} is no bookie id: it must match {spec.BOOKIE_ID.pattern}")
    return bookie_id


def serialize(info: BookieServiceInfo) -> bytes:
    """Return the bytes that a bookie registers with."""
    message = Message()
    message.endpoints.add(
        id=spec.BOOKIE_ENDPOINT_ID,
        port=info.port,
        host=info.host,
        protocol=info.protocol,
        extensions=sorted(info.extensions or ()),
    )
    if info.http is not None:
        host, port = info.http
        message.endpoints.add(id=spec.HTTP_ENDPOINT_ID, port=port, host=host, protocol=spec.HTTP)
    return message.SerializeToString(deterministic=True)


def parse(data: bytes, bookie_id: BookieId) -> BookieServiceInfo:
    """Return the address at which the bookie listens for clients, the extensions of that endpoint, and that of HTTP.

    Empty ``data`` means the ``host:port`` of its id; the extensions are unknown then (None).

    Raises MetadataCorrupt for bytes that are no such message, BookieUnavailable for a message without such an endpoint.
    """
    if not data:
        return _from_id(bookie_id)
    message = Message()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise MetadataCorrupt(f"registration of bookie {bookie_id} ({len(data)} bytes): {error}") from error
    http = next(((each.host, each.port) for each in message.endpoints if each.protocol == spec.HTTP), None)
    for endpoint in message.endpoints:
        if endpoint.protocol == spec.BOOKIE_RPC and endpoint.host and 0 < endpoint.port <= _PORT_MAX:
            extensions = frozenset(endpoint.extensions)
            return BookieServiceInfo(endpoint.host, endpoint.port, endpoint.protocol, extensions, http)
    raise BookieUnavailable(f"bookie {bookie_id} publishes no endpoint of protocol {spec.BOOKIE_RPC!r}")


def _from_id(bookie_id: BookieId) -> BookieServiceInfo:
    host, _, port = bookie_id.rpartition(":")
    if host and port.isdecimal() and 0 < int(port) <= _PORT_MAX:
        return BookieServiceInfo(host, int(port), spec.BOOKIE_RPC, extensions=None)
    raise BookieUnavailable(f"bookie {bookie_id} publishes no address, and its id is none")
