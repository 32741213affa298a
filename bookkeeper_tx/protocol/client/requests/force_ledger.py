"""Force: the wait until all earlier adds to a ledger are durable (docs/protocol/force-ledger.md), in V3."""

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.protocol.client.requests.request import Request
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation


@frozen
class ForceLedger(Request):
    """Answer when all earlier adds to the ledger are durable; its value is None."""

    operation = V3Operation.FORCE_LEDGER

    ledger_id: int

    def part(self) -> Message:
        return v3_pb2.ForceLedgerRequest(**self.ledger())
