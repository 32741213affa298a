"""Ledger metadata as the protobuf message that forms 2 and 3 share."""

from typing import Any

from google.protobuf import unknown_fields

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState
from protocol_specs import fields
from protocol_specs.entry import digest as digests
from protocol_specs.metadata.formats_pb2 import LedgerMetadata as Message

_DIGEST_TYPE_OF = {number: DigestType(digest) for number, digest in digests.BY_NUMBER.items()}


def message_of(metadata: LedgerMetadata) -> Message:
    """Return the message with every field that Java's ``LedgerMetadataSerDe`` writes, but without the create token."""
    if (metadata.password is None) != (metadata.digest_type is None):
        raise InvalidArgument("ledger metadata has a password and a digest type, or neither")
    closed = metadata.closed
    message = Message(
        quorumSize=metadata.write_quorum_size,
        ensembleSize=metadata.ensemble_size,
        length=metadata.length if closed else 0,
        lastEntryId=metadata.last_entry_id if closed else fields.NO_ENTRY,
        state=metadata.state.name,
        digestType=metadata.digest_type and metadata.digest_type.value.name,
        password=metadata.password,
        ackQuorumSize=metadata.ack_quorum_size,
        ctime=metadata.ctime_ms,
    )
    for fragment in metadata.fragments:
        message.segment.add(ensembleMember=fragment.ensemble, firstEntryId=fragment.first_entry_id)
    for key, value in metadata.custom_metadata.items():
        message.customMetadata.add(key=key, value=value)
    return message


def metadata_of(message: Message, format_version: int) -> LedgerMetadata:
    """Return the value of a parsed message; raises ValueError or InvalidArgument when it breaks a rule."""
    if not (message.HasField("state") and message.HasField("digestType")):
        _refuse_unknown_enums(message)
    if not message.IsInitialized():
        raise ValueError("a required field is missing")
    state = LedgerState(message.state)
    closed = state is LedgerState.CLOSED
    last_entry_id = message.lastEntryId if closed and message.HasField("lastEntryId") else fields.NO_ENTRY
    _refuse_negative(message, last_entry_id)
    has_password = message.HasField("password")
    return LedgerMetadata(
        ensemble_size=message.ensembleSize,
        write_quorum_size=message.quorumSize,
        ack_quorum_size=message.ackQuorumSize if message.HasField("ackQuorumSize") else message.quorumSize,
        fragments=[Fragment(segment.firstEntryId, segment.ensembleMember) for segment in message.segment],
        digest_type=_DIGEST_TYPE_OF[message.digestType] if has_password else None,
        password=message.password if has_password else None,
        state=state,
        last_entry_id=last_entry_id,
        length=message.length if closed else 0,
        custom_metadata={custom.key: custom.value for custom in message.customMetadata},
        ctime_ms=message.ctime if message.HasField("ctime") else None,
        create_token=message.cToken if message.HasField("cToken") else None,
        format_version=format_version,
    )


def _refuse_unknown_enums(message: Message) -> None:
    """Raise ValueError for an unknown enum value: the library drops it from a proto2 message, as if it were missing."""
    descriptor = message.DESCRIPTOR
    enums = {descriptor.fields_by_name[name].number: name for name in ("state", "digestType")}
    unknown_field_set: Any = unknown_fields.UnknownFieldSet(message)
    for unknown in unknown_field_set:
        if unknown.field_number in enums:
            raise ValueError(f"{enums[unknown.field_number]} has the unknown value {unknown.data}")


def _refuse_negative(message: Message, last_entry_id: int) -> None:
    if message.length < 0:
        raise ValueError(f"length is {message.length}")
    if last_entry_id < fields.NO_ENTRY:
        raise ValueError(f"lastEntryId is {last_entry_id}")
    for segment in message.segment:
        if segment.firstEntryId < 0:
            raise ValueError(f"a segment starts at entry {segment.firstEntryId}")
