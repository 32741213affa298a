"""V3 reads that wait for the last add confirmed: requests in, replies out (docs/protocol/long-poll.md)."""

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Buffer
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import ledger_id
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import ReadRequest


class LongPollRequest:
    """A read with ``previous_lac`` that does not fence."""

    __slots__ = (
        "_ledger_id",
        "_scope_id",
        "_txn_id",
        "entry_id",
        "ledger_id",
        "piggyback",
        "previous_last_add_confirmed",
        "timeout_ms",
    )

    def __init__(self, message: Decoded) -> None:
        request = message.read_request
        self._txn_id = message.header.txn_id
        self._ledger_id = request.ledger_id
        self._scope_id = request.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)
        self.entry_id = request.entry_id
        self.previous_last_add_confirmed = request.previous_lac
        self.timeout_ms = request.time_out
        self.piggyback = request.HasField("flag") and request.flag == ReadRequest.ENTRY_PIGGYBACK

    def reply(
        self, entry_id: int, answer: Buffer | Status, last_add_confirmed: int, updated_at_ms: int | None
    ) -> bytes:
        status = answer if isinstance(answer, Status) else statuses.EOK
        good = status is statuses.EOK
        return v3_replies.reply(
            V3Operation.READ_ENTRY,
            self._txn_id,
            status,
            ledger_id=self._ledger_id,
            entry_id=entry_id,
            body=None if isinstance(answer, Status) else bytes(answer),
            max_lac=last_add_confirmed if good else None,
            lac_update_timestamp=updated_at_ms if good else None,
            ledger_scope_id=self._scope_id,
        )
