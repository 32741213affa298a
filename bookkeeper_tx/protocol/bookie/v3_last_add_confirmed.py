"""V3 requests about the explicit last add confirmed, and their replies (docs/protocol/last-add-confirmed.md)."""

from typing import Any

from bookkeeper_tx.protocol.bookie.requests import Answered, OneVersionRequest
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from bookkeeper_tx.protocol.bookie.v3_request import V3LedgerRequest
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.entry import v1, version
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

LAC_METADATA = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)


class ReadLacRequest(V3LedgerRequest):
    """Read the explicit last add confirmed and the last entry."""

    __slots__ = ()

    operation = V3Operation.READ_LAC

    def reply(self, status: Status, explicit_lac: bytes | None, last_entry: bytes | None) -> bytes:
        return self.answer(status, lac_body=explicit_lac, last_entry_body=last_entry)


class WriteLacRequest(V3LedgerRequest):
    """Store an explicit last add confirmed: the ids in ``body`` count, the others are only echoed."""

    __slots__ = ("body", "last_add_confirmed", "master_key")

    operation = V3Operation.WRITE_LAC

    last_add_confirmed: int
    """Inside ``body``, as is the ledger id; as long as :meth:`read` has not found it there it is that of no entry."""

    def take(self, part: Any) -> None:
        super().take(part)
        self.master_key, self.body = part.master_key, part.body
        self.last_add_confirmed = NO_ENTRY

    @classmethod
    def read(cls, message: Decoded) -> OneVersionRequest | Answered:
        """Return the request in ``message``, or an error reply.

        The version is checked first, as in Java's ``PacketProcessorBaseV3``.
        """
        request = super().read(message)
        if not isinstance(request, WriteLacRequest):
            return request
        named = _named_in(request.body, request._scope_id)
        if named is None:
            return Answered(request.answer(statuses.EBADREQ))
        request.ledger_id, request.last_add_confirmed = named
        return request

    @property
    def content_bytes(self) -> int:
        return len(self.master_key) + len(self.body)

    def reply(self, status: Status) -> bytes:
        return self.answer(status)


def _named_in(body: bytes, scope_id: int) -> tuple[int, int] | None:
    """Return ledger id and last add confirmed in a body, None for one that is too short or in another scope's format.

    In scope 0 a body of format V2 has a negative ledger id, and is refused for that.
    """
    try:
        named: tuple[int, int] = version.explicit_lac_of(body) if scope_id else LAC_METADATA.unpack_from(body)
    except Malformed:
        return None
    return named if (named[0] >= SCOPED_MIN) == bool(scope_id) else None
