"""Reading and writing the explicit last add confirmed of a ledger (docs/protocol/last-add-confirmed.md), in V3."""

from attrs import frozen
from google.protobuf.message import Message

from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v3_answers import Reply, present
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation


@frozen
class ReadLastAddConfirmed(Request):
    """Read (explicit last add confirmed as its writer has sealed it, or None; last entry or None).

    That may come with an error as well: a bookie that has the first and no entry answers so.
    """

    operation = V3Operation.READ_LAC

    ledger_id: int

    def part(self) -> Message:
        return v3_pb2.ReadLacRequest(**self.ledger())

    def v3_value(self, reply: Reply) -> tuple[bytes | None, bytes | None] | None:
        part = reply.part
        return None if part is None else (present(part, "lac_body"), present(part, "last_entry_body"))


@frozen
class WriteLastAddConfirmed(Request):
    """Store an explicit last add confirmed; its value is None."""

    operation = V3Operation.WRITE_LAC

    ledger_id: int
    last_add_confirmed: int
    master_key: bytes
    body: bytes
    """The last add confirmed, as sealed by a digest."""

    def part(self) -> Message:
        return v3_pb2.WriteLacRequest(
            **self.ledger(), lac=self.last_add_confirmed, master_key=self.master_key, body=self.body
        )
