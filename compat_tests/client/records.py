"""Ledger metadata as a client must write and read it, in each of its three forms."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from construct import ConstructError
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from compat_tests.client.sealing import digest_named
from compat_tests.judge.verdict import Mismatch
from protocol_specs import fields
from protocol_specs.metadata import ledger as spec
from protocol_specs.metadata.formats_pb2 import LedgerMetadata

OPEN, IN_RECOVERY, CLOSED = "OPEN", "IN_RECOVERY", "CLOSED"

_NAMES = {"CRC32": "CRC32", "HMAC": "MAC", "CRC32C": "CRC32C", "DUMMY": "DUMMY"}
"""Digest types as the record calls them, and as the driver protocol does."""


@attrs.frozen(kw_only=True)
class LedgerRecord:
    """The metadata of one ledger."""

    ensemble: int
    write: int
    ack: int
    fragments: Mapping[int, tuple[str, ...]]
    """First entry to the ids of the bookies."""
    state: str = OPEN
    last_entry: int = fields.NO_ENTRY
    length: int = 0
    digest: str | None = "CRC32C"
    """As the driver protocol calls it; None: the record has neither digest type nor password."""
    password: bytes = b""
    custom: Mapping[str, bytes] = attrs.field(factory=dict)
    ctime_ms: int | None = None
    token: int | None = None
    format_version: int = spec.BINARY_PROTOBUF

    def message(self) -> LedgerMetadata:
        """The message of forms 2 and 3."""
        message = LedgerMetadata(
            quorumSize=self.write,
            ensembleSize=self.ensemble,
            length=self.length,
            lastEntryId=self.last_entry,
            ackQuorumSize=self.ack,
        )
        message.state = LedgerMetadata.State.Value(self.state)  # type: ignore[assignment]
        if self.digest is not None:
            message.digestType = digest_named(self.digest).number  # type: ignore[assignment]
            message.password = self.password
        for first, ensemble in sorted(self.fragments.items()):
            message.segment.add(ensembleMember=ensemble, firstEntryId=first)
        for key, value in self.custom.items():
            message.customMetadata.add(key=key, value=value)
        if self.ctime_ms is not None:
            message.ctime = self.ctime_ms
        if self.token is not None:
            message.cToken = self.token
        return message

    def encode(self) -> bytes:
        """The bytes of the record."""
        if self.format_version == spec.BINARY_PROTOBUF:
            return record_of(spec.BINARY_PROTOBUF, spec.BINARY_BODY.build(self.message().SerializeToString()))
        if self.format_version == spec.TEXT_PROTOBUF:
            return record_of(spec.TEXT_PROTOBUF, text_format.MessageToString(self.message()).encode())
        return record_of(spec.TEXT_LINES, self._lines().encode())

    def _lines(self) -> str:
        lines = [str(self.write), str(self.ensemble), str(self.length)]
        lines += ["\t".join([str(first), *ensemble]) for first, ensemble in sorted(self.fragments.items())]
        if self.state != OPEN:
            last = spec.IN_RECOVERY_LAST_ENTRY if self.state == IN_RECOVERY else self.last_entry
            lines.append(f"{last}\t{spec.CLOSED_TAG}")
        return "\n".join(lines)


def record_of(format_version: int, body: bytes) -> bytes:
    """A record with any body."""
    return bytes(spec.RECORD.build({"format_version": b"%d" % format_version, "body": body}))


def message_in(record: bytes) -> tuple[int, LedgerMetadata]:
    """The form of a record of form 2 or 3, and its message.  Raises Mismatch for bytes that are none."""
    try:
        parts = spec.RECORD.parse(record)
        version = int(parts.format_version)
        if version == spec.BINARY_PROTOBUF:
            return version, LedgerMetadata.FromString(spec.BINARY_BODY.parse(parts.body))
        if version == spec.TEXT_PROTOBUF:
            return version, text_format.Parse(parts.body.decode(), LedgerMetadata())
    except (ConstructError, DecodeError, text_format.ParseError, ValueError) as error:
        raise Mismatch("the ledger's metadata", "a record of form 2 or 3", f"{record!r} ({error})") from None
    raise Mismatch("the ledger's metadata", "a record of form 2 or 3", f"form {version}")


def decode(record: bytes) -> LedgerRecord:
    """Read a record that a client has written."""
    version, message = message_in(record)
    digest = None
    if message.HasField("digestType"):
        digest = _NAMES[LedgerMetadata.DigestType.Name(message.digestType)]
    return LedgerRecord(
        ensemble=message.ensembleSize,
        write=message.quorumSize,
        ack=message.ackQuorumSize,
        fragments={each.firstEntryId: tuple(each.ensembleMember) for each in message.segment},
        state=LedgerMetadata.State.Name(message.state),
        last_entry=message.lastEntryId if message.HasField("lastEntryId") else fields.NO_ENTRY,
        length=message.length,
        digest=digest,
        password=message.password,
        custom={each.key: each.value for each in message.customMetadata},
        ctime_ms=message.ctime if message.HasField("ctime") else None,
        token=message.cToken if message.HasField("cToken") else None,
        format_version=version,
    )
