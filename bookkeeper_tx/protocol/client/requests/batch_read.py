"""A read of several entries at once (BP-62; docs/protocol/batch-read.md), in both protocol versions."""

from typing import Any

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.v2_frames import BATCH_READ_REPLY, BATCH_READ_REQUEST, LENGTH
from protocol_specs.codecs import record_offsets
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.operations import Flag, Operation, V3Operation

V2_HEADER = framing.join_header(framing.VERSION_MAX, Operation.BATCH_READ_ENTRY)
"""The header of a request in V2 without flags, and of its reply."""


@frozen
class ReadBatch(Request):
    """Read entries from ``start_entry_id`` on; its value is an EntryRun, not verified."""

    operation = V3Operation.BATCH_READ_ENTRY
    in_v2 = True

    ledger_id: int
    start_entry_id: int
    max_count: int
    """Most entries; 0 for no limit."""
    max_size: int
    """Most bytes of the reply; the first entry comes whatever its size."""
    flags: int = 0
    master_key: bytes | None = None
    """Must be given with the fencing flag."""

    def v2_frame(self, request_id: int) -> bytes:
        key = self.master_key or b""
        length = BATCH_READ_REQUEST.size - LENGTH + len(key)
        numbers = self.ledger_id, self.start_entry_id, request_id, self.max_count, self.max_size
        return BATCH_READ_REQUEST.pack_fixed(length, V2_HEADER | self.flags, *numbers) + key

    def v2_value(self, buffer: bytes, start: int, end: int) -> EntryRun:
        offsets = record_offsets(BATCH_READ_REPLY.name, buffer, start + BATCH_READ_REPLY.size, end)
        return EntryRun(self.ledger_id, self.start_entry_id, buffer, offsets)

    def part(self) -> Message:
        return v3_pb2.BatchReadRequest(
            **self.ledger(),
            start_entry_id=self.start_entry_id,
            max_count=self.max_count,
            max_size=self.max_size,
            master_key=self.master_key,
            flag=v3_pb2.BatchReadRequest.FENCE_LEDGER if self.flags & Flag.FENCING else None,
        )

    def read(self, part: Any) -> EntryRun:
        return EntryRun.of_entries(self.ledger_id, self.start_entry_id, list(part.body))
