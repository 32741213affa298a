"""How a client reads the replies of V3 (docs/protocol/v3.md)."""

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import ProtocolViolation, RemoteError, error_of
from bookkeeper_tx.protocol.client.v3_requests import KEPT_SIZE_MAX
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation
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
    parts = PARTS.get(operation)
    if parts is None or not response.HasField(parts.response):
        if status is statuses.EOK:
            raise ProtocolViolation(f"the bookie sent a V3 reply to {operation.name} that says EOK and nothing else")
        return Reply(operation, response.header.txn_id, status, None)
    part = getattr(response, parts.response)
    if status is statuses.EOK:
        status = statuses.BY_V3_CODE[getattr(part, "status", statuses.OK)]
    return Reply(operation, response.header.txn_id, status, part)


def present(part: Any, field: str) -> Any:
    """Return an optional field of a message, None if it is absent."""
    return getattr(part, field) if part.HasField(field) else None
