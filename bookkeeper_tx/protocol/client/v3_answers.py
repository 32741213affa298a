"""How a client reads the replies of V3 (docs/protocol/v3.md)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import ProtocolViolation, RemoteError, error_of
from bookkeeper_tx.protocol.client.v3_requests import KEPT_SIZE_MAX
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import Status

_UNAUTHENTICATED = (
    "the bookie serves only clients that authenticate: give ClientConfig.auth, in a file clientAuthProviderFactoryClass"
)

KEPT_OF_EACH = 256
"""What a reply takes in a message besides its own bytes, at most."""

_OK = int(statuses.EOK.v3)
# Members of an enum are slow to compare and to hash.
_ADD, _READ = int(V3Operation.ADD_ENTRY), int(V3Operation.READ_ENTRY)


class Reply(NamedTuple):
    """A reply: ``operation`` and ``txn_id`` together name the request that it answers."""

    operation: V3Operation
    txn_id: int
    status: Status
    part: Any
    """The message of the operation inside the reply, None when an error came without it."""

    @property
    def value(self) -> Any:
        """The value that was asked for.

        The entry of a read; a list of entries of a batch read; the encoded list of entries; (explicit LAC body or None,
        last entry or None) of a LAC read, whatever the status; (total bytes, free bytes), each None unless asked for,
        of a bookie info; otherwise None.
        """
        value = _VALUES.get(self.operation)
        if value is None or self.part is None:
            return None
        if self.status is not statuses.EOK and self.operation is not V3Operation.READ_LAC:
            return None
        return value(self.part)

    @property
    def error(self) -> RemoteError | None:
        """The error that the status stands for, if any.

        The reply to a wrong password has the part of the operation; only the reply to a client that has to authenticate
        first has none.
        """
        if self.status is statuses.EOK:
            return None
        return error_of(self.status, _UNAUTHENTICATED if self.status is statuses.EUA and self.part is None else "")

    @property
    def scope_id(self) -> int | None:
        """The scope of the ledger that the reply is about; None when it does not say which ledger."""
        return None if self.part is None else getattr(self.part, "ledger_scope_id", None)


class PlainReplies:
    """Reads good replies to adds and reads of ledgers of scope 0, many of them into one message."""

    __slots__ = ("_kept_bytes", "_message")

    def __init__(self) -> None:
        self._message = v3_pb2.Response()
        self._kept_bytes = 0

    def read(self, frame: bytes) -> tuple[int, int, bytes | None] | None:
        """Return operation, transaction id and, of a read, the entry; None for any other reply, and for no reply."""
        self._kept_bytes += len(frame) + KEPT_OF_EACH
        if self._kept_bytes > KEPT_SIZE_MAX:
            self._message, self._kept_bytes = v3_pb2.Response(), 0
        message = self._message
        try:
            message.ParseFromString(frame)
        except DecodeError:
            return None
        if message.status != _OK or not message.IsInitialized():
            return None
        header = message.header
        operation = header.operation
        if operation == _READ and message.HasField("read_response"):
            part = message.read_response
            if part.status == _OK and not part.ledger_scope_id:
                return operation, header.txn_id, part.body
        elif operation == _ADD and message.HasField("add_response"):
            added = message.add_response
            if added.status == _OK and not added.ledger_scope_id:
                return operation, header.txn_id, None
        return None


def decode(frame: bytes) -> Reply:
    """Read the reply in ``frame`` (without its length).

    Raises :class:`ProtocolViolation` for bytes that are no reply, for a status or operation of a later protocol, and
    for success without the part that carries it.
    """
    response = v3_pb2.Response()
    try:
        response.ParseFromString(frame)
    except DecodeError as error:
        raise ProtocolViolation(f"the bookie sent a frame that is no V3 reply: {error}") from error
    if not response.IsInitialized():
        raise ProtocolViolation("the bookie sent a V3 reply that lacks a field, or has an unknown value in it")
    operation = V3Operation(response.header.operation)
    status = statuses.BY_V3_CODE[response.status]
    parts = v3.PARTS.get(operation)
    if parts is None or not response.HasField(parts.response):
        if status is statuses.EOK:
            raise ProtocolViolation(f"the bookie sent a V3 reply to {operation.name} that says EOK and nothing else")
        return Reply(operation, response.header.txn_id, status, None)
    part = getattr(response, parts.response)
    if status is statuses.EOK:
        status = statuses.BY_V3_CODE[getattr(part, "status", statuses.OK)]
    return Reply(operation, response.header.txn_id, status, part)


def tail_value(reply: Reply) -> tuple[int, int | None, bytes | None] | None:
    """Return (last add confirmed, entry id or None, entry or None) of the answer to a long poll, None for an error.

    The last add confirmed is the highest one that the bookie has seen, NO_ENTRY if it is not in the reply; it has no
    digest.
    """
    part = reply.part
    if part is None or reply.status is not statuses.EOK:
        return None
    known = part.max_lac if part.HasField("max_lac") else fields.NO_ENTRY
    if not part.HasField("body"):
        return known, None, None
    return known, None if part.entry_id == fields.LAST_ENTRY else part.entry_id, part.body


def _present(part: Any, field: str) -> Any:
    return getattr(part, field) if part.HasField(field) else None


_VALUES: dict[V3Operation, Callable[[Any], Any]] = {
    V3Operation.READ_ENTRY: lambda part: part.body,
    V3Operation.BATCH_READ_ENTRY: lambda part: list(part.body),
    V3Operation.READ_LAC: lambda part: (_present(part, "lac_body"), _present(part, "last_entry_body")),
    V3Operation.GET_BOOKIE_INFO: lambda part: (
        _present(part, "total_disk_capacity"),
        _present(part, "free_disk_space"),
    ),
    V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER: lambda part: part.availability_of_entries_of_ledger,
}
