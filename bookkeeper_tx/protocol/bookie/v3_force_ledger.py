"""The V3 request to sync the adds of a ledger, and its reply (docs/protocol/force-ledger.md)."""

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import ledger_id
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class ForceLedgerRequest:
    """A request to reply when all earlier adds are durable."""

    __slots__ = ("_ledger_id", "_scope_id", "_txn_id", "ledger_id")

    def __init__(self, message: Decoded) -> None:
        request = message.force_ledger_request
        self._txn_id = message.header.txn_id
        self._ledger_id, self._scope_id = request.ledger_id, request.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)

    def reply(self, status: Status) -> bytes:
        return v3_replies.reply(
            V3Operation.FORCE_LEDGER,
            self._txn_id,
            status,
            ledger_id=self._ledger_id,
            ledger_scope_id=self._scope_id,
        )


def read(message: Decoded) -> ForceLedgerRequest | Answered:
    """Return the request in ``message``, or an error reply."""
    request = ForceLedgerRequest(message)
    return request if message.header.version == v3.VERSION else Answered(request.reply(statuses.EBADVERSION))
