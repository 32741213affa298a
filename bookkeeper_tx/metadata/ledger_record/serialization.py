"""Ledger metadata to and from its stored bytes (``protocol_specs.metadata.ledger``): three forms, one entry point.

Reading is lenient where Java's ``LedgerMetadataSerDe`` is (unknown fields, comments in text, bytes after the message);
writing gives exactly the bytes that Java gives for the same values.
"""

from collections.abc import Callable

import construct
from attrs import evolve
from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt
from bookkeeper_tx.metadata.ledger_record import lines, text
from bookkeeper_tx.metadata.ledger_record import message as ledger_message
from bookkeeper_tx.model import LedgerMetadata, ledger_name
from protocol_specs.fields import VARINT_SIZE_MAX
from protocol_specs.metadata import ledger as spec
from protocol_specs.metadata.formats_pb2 import LedgerMetadata as Message


def serialize(metadata: LedgerMetadata) -> bytes:
    """Return the record in the form that ``metadata.format_version`` names.

    Raises :class:`~bookkeeper_tx.errors.InvalidArgument` for values that this form cannot hold.
    """
    if metadata.format_version == spec.TEXT_LINES:
        body = lines.serialize(metadata)
    elif metadata.format_version == spec.TEXT_PROTOBUF:
        body = text.emit(ledger_message.message_of(metadata))
    elif metadata.format_version == spec.BINARY_PROTOBUF:
        message = ledger_message.message_of(metadata)
        message.cToken = spec.UPDATE_TOKEN if metadata.create_token is None else metadata.create_token
        body = spec.BINARY_BODY.build(message.SerializeToString(deterministic=True))
    else:
        raise InvalidArgument(f"ledger metadata has no form {metadata.format_version}")
    record: bytes = spec.RECORD.build({"format_version": b"%d" % metadata.format_version, "body": body})
    if len(record) > spec.RECORD_SIZE_MAX:
        raise InvalidArgument(f"ledger metadata of {len(record)} bytes; the limit is {spec.RECORD_SIZE_MAX}")
    return record


def as_created(metadata: LedgerMetadata, draw_token: Callable[[int], int]) -> LedgerMetadata:
    """Return ``metadata`` as an attempt to create it stores it: with a create token, if the form has one.

    ``draw_token(bits)`` gives a random number of so many bits.
    """
    binary = metadata.format_version == spec.BINARY_PROTOBUF
    return evolve(metadata, create_token=draw_token(spec.CREATE_TOKEN_BITS) if binary else None)


def as_update(metadata: LedgerMetadata) -> LedgerMetadata:
    """Return ``metadata`` as an update stores it: without the token of the create attempt."""
    return evolve(metadata, create_token=spec.UPDATE_TOKEN if metadata.format_version == spec.BINARY_PROTOBUF else None)


def parse(record: bytes, ledger_id: int) -> LedgerMetadata:
    """Return the metadata in ``record``; ``ledger_id`` is for the text of the error only.

    Raises :class:`~bookkeeper_tx.errors.MetadataCorrupt` naming the ledger and the reason.
    """
    try:
        return _parse(record)
    except (construct.ConstructError, DecodeError, ValueError, InvalidArgument) as error:
        raise MetadataCorrupt(f"metadata of ledger {ledger_name(ledger_id)} ({len(record)} bytes): {error}") from error


def _parse(record: bytes) -> LedgerMetadata:
    if len(record) > spec.RECORD_SIZE_MAX:
        raise ValueError(f"larger than the limit of {spec.RECORD_SIZE_MAX} bytes")
    digits, body = _divided(record)
    version = _version(digits)
    if version == spec.TEXT_LINES:
        return lines.parse(body)
    if version == spec.TEXT_PROTOBUF:
        message = text.parse(body)
    elif version == spec.BINARY_PROTOBUF:
        message = Message()
        message.ParseFromString(_delimited(body))
    else:
        raise ValueError(f"form {version} is newer than the forms known here, {spec.FORMAT_VERSIONS}")
    return ledger_message.metadata_of(message, version)


# The plan of a Spark job parses hundreds of thousands of records, and interpreting the declarations takes longer than
# all the rest of it.  So well-formed records are cut here; the declarations judge the others (and, in the tests, all).


def _divided(record: bytes) -> tuple[bytes, bytes]:
    """Return the digits of the form and the body, as ``spec.RECORD`` does."""
    start = len(spec.VERSION_KEY)
    end = record.find(spec.VERSION_END, start)
    if end < 0 or not record.startswith(spec.VERSION_KEY):
        parts = spec.RECORD.parse(record)
        return parts.format_version, parts.body
    return record[start:end], record[end + 1 :]


def _version(digits: bytes) -> int:
    if not (0 < len(digits) <= spec.VERSION_DIGITS_MAX and digits.isdigit()):
        raise ValueError(f"its form is not a number of up to {spec.VERSION_DIGITS_MAX} digits")
    return int(digits)


def _delimited(body: bytes) -> bytes:
    """Return the message, as ``spec.BINARY_BODY`` does."""
    size = 0
    for index, byte in enumerate(body[:VARINT_SIZE_MAX]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            message = body[index + 1 : index + 1 + size]
            return message if len(message) == size else bytes(spec.BINARY_BODY.parse(body))
    raise ValueError("the length of its message is cut short or too large")
