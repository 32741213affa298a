"""Protocol version V3 as a bookie speaks it: which request a frame is (docs/protocol/v3.md).

A frame is V3 when it parses and has every required field; anything else is left to V2.  A request without the part that
its operation needs is served as if all fields of the part were zero, as by Java up to 4.17 (protobuf).  An operation
that is not served is answered with the request's own header, as by Java's ``BookieRequestProcessor``.
"""

from collections.abc import Callable
from typing import TypeAlias

from google.protobuf.message import DecodeError

from bookkeeper_tx.protocol.bookie import (
    v3_add_entry,
    v3_handshake,
    v3_read_entry,
    v3_replies,
)
from bookkeeper_tx.protocol.bookie.requests import Answered, InContext, Request, StartTls
from bookkeeper_tx.protocol.bookie.v3_add_entry import AddRequests
from bookkeeper_tx.protocol.bookie.v3_batch_read import BatchReadRequest
from bookkeeper_tx.protocol.bookie.v3_bookie_info import BookieInfoRequest
from bookkeeper_tx.protocol.bookie.v3_force_ledger import ForceLedgerRequest
from bookkeeper_tx.protocol.bookie.v3_last_add_confirmed import ReadLacRequest, WriteLacRequest
from bookkeeper_tx.protocol.bookie.v3_list_entries import ListEntriesRequest
from bookkeeper_tx.protocol.bookie.v3_long_poll import LongPollRequest
from bookkeeper_tx.protocol.bookie.v3_read_entry import ReadRequests
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs.wire import framing, v3, v3_pb2
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import V3Operation

__all__ = [
    "CONTEXT_TAG",
    "AddRequests",
    "BatchReadRequest",
    "BookieInfoRequest",
    "ForceLedgerRequest",
    "ListEntriesRequest",
    "LongPollRequest",
    "ReadLacRequest",
    "ReadRequests",
    "Run",
    "WriteLacRequest",
    "decode",
    "parse",
    "request_of",
    "run_of",
]

Run: TypeAlias = AddRequests | ReadRequests
"""A request that takes in the similar requests that follow it."""

CONTEXT_LENGTH_MAX = 1024
"""Characters kept of a request's context: it goes into a line of the log."""

CONTEXT_TAG = v3.REQUEST_CONTEXT_TAG
"""In every frame that has a context, and by chance in some others."""

_new_message = v3_pb2.Request
_FIRST_BYTE_MIN = framing.V3_FIRST_BYTE_MIN


def parse(frame: bytes) -> Decoded | None:
    """Return the message in ``frame`` (without its length), or None when the frame is not V3."""
    if not frame or frame[0] < _FIRST_BYTE_MIN:
        return None
    message = _new_message()
    try:
        message.ParseFromString(frame)
    except DecodeError:
        return None
    # A parse succeeds although required fields are missing or enum values are unknown; only this call finds them.
    return message if message.IsInitialized() else None


def request_of(message: Decoded) -> Request:
    """Return the request in ``message``."""
    read = _READERS.get(message.header.operation)
    if read is None:
        return Answered(v3_replies.header_copied(message, statuses.EBADREQ))
    request = read(message)
    if message.request_context and not isinstance(request, Answered | StartTls):
        return InContext(request, _context(message))
    return request


def run_of(request: Request) -> Run | None:
    """Return ``request`` if it may take more."""
    return request if isinstance(request, AddRequests | ReadRequests) else None


def decode(frame: bytes) -> Request | None:
    """Return the request in ``frame`` (without its length), or None when the frame is not V3."""
    message = parse(frame)
    return None if message is None else request_of(message)


def _context(message: Decoded) -> str:
    context = ""
    for pair in message.request_context:
        # A frame may have a million of them: no more are looked at than are kept.
        context += f"{' ' if context else ''}{pair.key}={pair.value}"
        if len(context) >= CONTEXT_LENGTH_MAX:
            break
    return context[:CONTEXT_LENGTH_MAX]


_READERS: dict[int, Callable[[Decoded], Request]] = {
    V3Operation.READ_ENTRY: v3_read_entry.read,
    V3Operation.ADD_ENTRY: v3_add_entry.read,
    V3Operation.AUTH: v3_handshake.read_auth,
    V3Operation.WRITE_LAC: WriteLacRequest.read,
    V3Operation.READ_LAC: ReadLacRequest.read,
    V3Operation.GET_BOOKIE_INFO: BookieInfoRequest.read,
    V3Operation.START_TLS: v3_handshake.read_start_tls,
    V3Operation.FORCE_LEDGER: ForceLedgerRequest.read,
    V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER: ListEntriesRequest.read,
    V3Operation.BATCH_READ_ENTRY: BatchReadRequest.read,
}
"""The operations that are served; every other known one is answered EBADREQ under the request's header."""
