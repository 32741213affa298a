"""V3 reads that wait for the last add confirmed: requests in, replies out (docs/protocol/long-poll.md)."""

from typing import Any

from bookkeeper_tx.protocol.bookie.requests import Buffer
from bookkeeper_tx.protocol.bookie.v3_request import V3LedgerRequest
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import ReadRequest


class LongPollRequest(V3LedgerRequest):
    """Read an entry once the last add confirmed is known to be higher than the reader's; it does not fence."""

    __slots__ = ("entry_id", "piggyback", "previous_last_add_confirmed", "timeout_ms")

    operation = V3Operation.READ_ENTRY

    entry_id: int
    previous_last_add_confirmed: int
    """What the reader knows already."""
    timeout_ms: int
    """How long the reader is ready to wait, in milliseconds; 0 or less: not at all."""
    piggyback: bool
    """Whether the reader wants the entry after ``previous_last_add_confirmed``, not ``entry_id``."""

    def take(self, part: Any) -> None:
        super().take(part)
        self.entry_id = part.entry_id
        self.previous_last_add_confirmed = part.previous_lac
        self.timeout_ms = part.time_out
        self.piggyback = part.HasField("flag") and part.flag == ReadRequest.ENTRY_PIGGYBACK

    def reply(
        self, entry_id: int, answer: Buffer | Status, last_add_confirmed: int, updated_at_ms: int | None
    ) -> bytes:
        """Encode the reply.

        ``answer`` is the entry ``entry_id``, EOK when there is no entry yet, or the status of the failure;
        ``updated_at_ms`` is the time when the last add confirmed passed the reader's, in milliseconds since the epoch,
        if that ended a wait.
        """
        status = answer if isinstance(answer, Status) else statuses.EOK
        good = status is statuses.EOK
        return self.answer(
            status,
            entry_id=entry_id,
            body=None if isinstance(answer, Status) else bytes(answer),
            max_lac=last_add_confirmed if good else None,
            lac_update_timestamp=updated_at_ms if good else None,
        )
