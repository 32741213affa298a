"""V3 requests about the explicit last add confirmed, and their replies (docs/protocol/last-add-confirmed.md)."""

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs import codecs, ledger_id
from protocol_specs.codecs import Malformed
from protocol_specs.entry import v1, version
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

LAC_METADATA = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)


class ReadLacRequest:
    """A request for the explicit last add confirmed and the last entry."""

    __slots__ = ("_ledger_id", "_scope_id", "_txn_id", "ledger_id")

    def __init__(self, message: Decoded) -> None:
        request = message.read_lac_request
        self._txn_id = message.header.txn_id
        self._ledger_id, self._scope_id = request.ledger_id, request.ledger_scope_id
        self.ledger_id = ledger_id.join(self._scope_id, self._ledger_id)

    def reply(self, status: Status, explicit_lac: bytes | None, last_entry: bytes | None) -> bytes:
        return v3_replies.reply(
            V3Operation.READ_LAC,
            self._txn_id,
            status,
            ledger_id=self._ledger_id,
            lac_body=explicit_lac,
            last_entry_body=last_entry,
            ledger_scope_id=self._scope_id,
        )


class WriteLacRequest:
    """A request to store an explicit last add confirmed: the ids in the body count, the others are only echoed."""

    __slots__ = ("_ledger_id", "_scope_id", "_txn_id", "body", "last_add_confirmed", "ledger_id", "master_key")

    def __init__(self, message: Decoded, named: tuple[int, int]) -> None:
        """Make the request of a message whose body has this ledger id and this last add confirmed."""
        request = message.write_lac_request
        self._txn_id = message.header.txn_id
        self._ledger_id, self._scope_id = request.ledger_id, request.ledger_scope_id
        self.master_key = request.master_key
        self.body = request.body
        self.ledger_id, self.last_add_confirmed = named

    @property
    def content_bytes(self) -> int:
        return len(self.master_key) + len(self.body)

    def reply(self, status: Status) -> bytes:
        return _write_lac_reply(self._txn_id, status, self._ledger_id, self._scope_id)


def _write_lac_reply(txn_id: int, status: Status, ledger_id: int, scope_id: int) -> bytes:
    return v3_replies.reply(V3Operation.WRITE_LAC, txn_id, status, ledger_id=ledger_id, ledger_scope_id=scope_id)


def read_read_lac(message: Decoded) -> ReadLacRequest | Answered:
    """Return the request in ``message``, or an error reply."""
    request = ReadLacRequest(message)
    if message.header.version == v3.VERSION:
        return request
    return Answered(request.reply(statuses.EBADVERSION, None, None))


def read_write_lac(message: Decoded) -> WriteLacRequest | Answered:
    """Return the request in ``message``, or an error reply.

    The version is checked first, as in Java's ``PacketProcessorBaseV3``.
    """
    request = message.write_lac_request
    named, status = None, statuses.EBADVERSION
    if message.header.version == v3.VERSION:
        named, status = _named_in(request.body, request.ledger_scope_id), statuses.EBADREQ
    if named is None:
        txn_id, scope_id = message.header.txn_id, request.ledger_scope_id
        return Answered(_write_lac_reply(txn_id, status, request.ledger_id, scope_id))
    return WriteLacRequest(message, named)


def _named_in(body: bytes, scope_id: int) -> tuple[int, int] | None:
    """Return ledger id and last add confirmed in a body, None for one that is too short or in another scope's format.

    In scope 0 a body of format V2 has a negative ledger id, and is refused for that.
    """
    try:
        named: tuple[int, int] = version.explicit_lac_of(body) if scope_id else LAC_METADATA.unpack_from(body)
    except Malformed:
        return None
    return named if (named[0] >= SCOPED_MIN) == bool(scope_id) else None
