"""What is common to the requests that only V3 has: the ids of the request, and the reply that echoes them."""

from typing import Any, ClassVar

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered, OneVersionRequest
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import ledger_id
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import PARTS, V3Operation
from protocol_specs.wire.status import Status
from protocol_specs.wire.v3_pb2 import Response


class V3Request(OneVersionRequest):
    """A request of one operation.  A subclass declares ``operation``, and takes what it needs from its part."""

    __slots__ = ("_txn_id",)

    operation: ClassVar[V3Operation]

    def __init__(self, message: Decoded) -> None:
        self._txn_id = message.header.txn_id
        self.take(getattr(message, PARTS[self.operation].request))

    def take(self, part: Any) -> None:
        """Take the fields of the operation's own message; it is not kept."""

    def message(self, status: Status, **fields: Any) -> tuple[Response, Any]:
        """Return a reply and its part, which has these fields; one that is None is absent."""
        return v3_replies.served(self.operation, self._txn_id, status, **fields)

    def answer(self, status: Status, **fields: Any) -> bytes:
        """Encode the reply that :meth:`message` returns."""
        return v3_replies.frame(self.message(status, **fields)[0])

    @classmethod
    def read(cls, message: Decoded) -> "OneVersionRequest | Answered":
        """Return the request in ``message``, or the reply to one of another version."""
        request = cls(message)
        return request if message.header.version == v3.VERSION else Answered(request.answer(statuses.EBADVERSION))


class V3LedgerRequest(V3Request):
    """A request about a ledger, which its reply names again."""

    __slots__ = ("_ledger_id", "_scope_id", "ledger_id")

    def take(self, part: Any) -> None:
        self._ledger_id, self._scope_id = part.ledger_id, part.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)

    def message(self, status: Status, **fields: Any) -> tuple[Response, Any]:
        return super().message(status, ledger_id=self._ledger_id, ledger_scope_id=self._scope_id, **fields)
