"""V3 batch read (BP-62), which no Java bookie serves: requests in, replies out (docs/protocol/batch-read.md)."""

from collections.abc import Sequence
from typing import Any

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered, Buffer, OneVersionRequest
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from bookkeeper_tx.protocol.bookie.v3_request import V3LedgerRequest
from protocol_specs import codecs
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import BatchReadRequest as BatchReadPart
from protocol_specs.wire.v3_pb2 import Response

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed

_LONG_RECORD_SHIFT = 21
"""From 2 MiB on an entry costs one byte more than a length word: the length takes 4 bytes, and there is a tag."""


def reply_overhead_max(frame_size_max: int) -> int:
    """Return how many bytes a frame of that size may have beside its records, length words included."""
    return v3.REPLY_OVERHEAD_MAX + (frame_size_max >> _LONG_RECORD_SHIFT)


class BatchReadRequest(V3LedgerRequest):
    """A batch read request.

    With ``previous_lac`` it waits as a long poll does, ``time_out`` milliseconds at most, and then reads the entries
    that are there.  Its flag for a piggybacked entry changes nothing, since a batch brings entries anyway.
    """

    __slots__ = (
        "fencing",
        "master_key",
        "max_count",
        "max_size",
        "previous_last_add_confirmed",
        "start_entry_id",
        "timeout_ms",
    )

    operation = V3Operation.BATCH_READ_ENTRY

    def take(self, part: Any) -> None:
        super().take(part)
        self.start_entry_id = part.start_entry_id
        self.max_count = part.max_count
        self.max_size = part.max_size
        self.fencing = part.HasField("flag") and part.flag == BatchReadPart.FENCE_LEDGER
        self.master_key = part.master_key if self.fencing and part.HasField("master_key") else None
        polls = part.HasField("previous_lac") and not self.fencing
        self.previous_last_add_confirmed = part.previous_lac if polls else None
        self.timeout_ms = part.time_out

    @classmethod
    def read(cls, message: Decoded) -> OneVersionRequest | Answered:
        """Return the request; one without its part is answered as by Java's ``BookieRequestProcessor``."""
        if not message.HasField("batch_read_request"):
            return Answered(v3_replies.header_copied(message, statuses.EBADREQ))
        return super().read(message)

    @property
    def content_bytes(self) -> int:
        return len(self.master_key or b"")

    def reply(
        self, slices: Sequence[Buffer], last_add_confirmed: int, updated_at_ms: int | None = None
    ) -> list[Buffer]:
        whole, part = self.message(
            statuses.EOK,
            max_lac=None if self.fencing else last_add_confirmed,
            lac_update_timestamp=updated_at_ms,
        )
        for records in slices:
            part.body.extend(_entries(records))
        return [v3_replies.frame(whole)]

    def message(self, status: Status, **fields: Any) -> tuple[Response, Any]:
        return super().message(status, start_entry_id=self.start_entry_id, **fields)

    def error(self, status: Status) -> bytes:
        return self.answer(status)


def _entries(records: Buffer) -> list[bytes]:
    """Return the entries of a slice of records."""
    entries: list[bytes] = []
    records, at = bytes(records), 0
    while at < len(records):
        start = at + RECORD_LENGTH_SIZE
        at = start + _unpack_length(records, at)[0]
        entries.append(records[start:at])
    return entries
