"""The long poll: a wait at the bookie for the last add confirmed to move on (docs/protocol/long-poll.md), in V3."""

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v3_answers import Reply
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation


@frozen
class AwaitLastAddConfirmed(Request):
    """Wait until the last add confirmed has passed ``previous``, or for ``timeout_ms``.

    Its value is (last add confirmed, entry id or None, entry or None), not verified.  The last add confirmed is the
    highest one that the bookie has seen, NO_ENTRY if it is not in the reply; it has no digest.
    """

    operation = V3Operation.READ_ENTRY
    waits = True

    ledger_id: int
    previous: int
    timeout_ms: int
    """0 asks for an answer at once."""
    piggyback: bool
    """Whether the reply is to bring the entry after ``previous``; without it, it brings the last one stored."""

    @property
    def patience_s(self) -> float:  # type: ignore[override]
        return self.timeout_ms / 1000

    def part(self) -> Message:
        return v3_pb2.ReadRequest(
            **self.ledger(),
            entry_id=fields.LAST_ENTRY,
            previous_lac=self.previous,
            time_out=self.timeout_ms or None,
            flag=v3_pb2.ReadRequest.ENTRY_PIGGYBACK if self.piggyback else None,
        )

    def v3_value(self, reply: Reply) -> tuple[int, int | None, bytes | None] | None:
        part = reply.part
        if part is None or reply.status is not statuses.EOK:
            return None
        known = part.max_lac if part.HasField("max_lac") else fields.NO_ENTRY
        if not part.HasField("body"):
            return known, None, None
        return known, None if part.entry_id == fields.LAST_ENTRY else part.entry_id, part.body
