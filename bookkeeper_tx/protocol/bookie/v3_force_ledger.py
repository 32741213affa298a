"""The V3 request to sync the adds of a ledger, and its reply (docs/protocol/force-ledger.md)."""

from bookkeeper_tx.protocol.bookie.v3_request import V3LedgerRequest
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status


class ForceLedgerRequest(V3LedgerRequest):
    """Reply when all earlier adds to the ledger are durable."""

    __slots__ = ()

    operation = V3Operation.FORCE_LEDGER

    def reply(self, status: Status) -> bytes:
        return self.answer(status)
