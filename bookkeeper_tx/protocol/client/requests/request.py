"""What is common to the requests that are values: a connection sends any of them, and gives the value of its reply."""

from typing import Any, ClassVar

from google.protobuf.message import Message

from bookkeeper_tx.protocol.client.v3_answers import Reply
from bookkeeper_tx.protocol.client.v3_frames import frame
from protocol_specs import ledger_id as ids
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import PARTS, V3Operation


class Request:
    """A request to a bookie.  A subclass is a frozen value, which declares ``operation`` and makes its ``part()``."""

    __slots__ = ()

    operation: ClassVar[V3Operation]
    in_v2: ClassVar[bool] = False
    """Whether V2 has the operation, too."""
    own_connection: ClassVar[bool] = False
    """Whether it must be the only request of its connection: some releases close the connection on it."""
    waits: ClassVar[bool] = False
    """Whether the bookie may wait before it answers, for ``patience_s``."""
    patience_s: float = 0.0
    """How long the bookie may wait before it answers; that is on top of the client's time-out."""
    ledger_id: int = 0
    """With its scope; 0 as well for a request that is about the bookie itself."""
    flags: int = 0
    """Those of V2 (:class:`~protocol_specs.wire.operations.Flag`), in V3 too."""

    # V2 --------------------------------------------------------------------------------------------------------------

    def v2_frame(self, request_id: int) -> bytes:
        """Encode the request for V2."""
        raise NotImplementedError

    def v2_value(self, buffer: bytes, start: int, end: int) -> Any:
        """Read the good reply in ``buffer[start:end]``; raises Malformed."""
        raise NotImplementedError

    # V3 --------------------------------------------------------------------------------------------------------------

    def v3_frame(self, txn_id: int) -> bytes:
        """Encode the request for V3."""
        parts = {PARTS[self.operation].request: self.part()}
        return frame(self.operation, txn_id, self.flags, **parts)

    def part(self) -> Message:
        """Return the message of this operation inside a V3 request."""
        raise NotImplementedError

    def ledger(self) -> dict[str, Any]:
        """Return the fields that name the ledger in V3; the scope 0 is not sent."""
        scope_id, lower = ids.split(self.ledger_id)
        return {"ledger_id": lower, "ledger_scope_id": scope_id or None}

    def v3_value(self, reply: Reply) -> Any:
        """Return what the reply brings: of a good one what :meth:`read` finds, otherwise None.

        Raises ProtocolViolation for a part that cannot be read.
        """
        return self.read(reply.part) if reply.status is statuses.EOK else None

    def read(self, part: Any) -> Any:
        """Read the message of this operation inside a good V3 reply."""
        return None
