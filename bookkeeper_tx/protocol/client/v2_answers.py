"""How a client reads the replies of V2 that are not runs of equal ones (docs/protocol/v2.md)."""

from bookkeeper_tx.errors import RemoteError, error_of
from bookkeeper_tx.protocol.v2_frames import ADD_REPLY, ADD_REPLY_HEAD, LENGTH, READ_REPLY
from protocol_specs.wire import status as statuses

_unpack_reply = ADD_REPLY.unpack_fixed
_unpack_reply_head = ADD_REPLY_HEAD.unpack_fixed


def error_of_code(status: int) -> RemoteError | None:
    """Return the error that a status stands for, None for success."""
    if status == statuses.OK:
        return None
    known = statuses.BY_V2_CODE.get(status)
    return error_of(known) if known else RemoteError(f"the bookie answered with the unknown status {status}")


def good_replies(buffer: bytes, start: int, end: int, frame_end: int) -> list[int]:
    """Return the offsets of the good replies at ``start``, of any ledgers and sizes, and where the last one ends."""
    unpack, size_min = _unpack_reply_head, READ_REPLY.size
    _, header, status = unpack(buffer, start)
    offsets, position = [start, frame_end], frame_end
    while end - position >= size_min:
        length, next_header, next_status = unpack(buffer, position)
        position += LENGTH + length
        if next_status != status or next_header != header or position > end or length < size_min - LENGTH:
            break
        offsets.append(position)
    return offsets


def uneven_replies(buffer: bytes, start: int, end: int, frame_end: int) -> list[int]:
    """Return the offsets of the run of good replies at ``start``, of any size, and where the last one ends."""
    unpack = _unpack_reply
    _, header, status, ledger_id, expected = unpack(buffer, start)
    offsets, position = [start, frame_end], frame_end
    while end - position >= READ_REPLY.size:
        length, next_header, next_status, next_ledger, entry_id = unpack(buffer, position)
        expected += 1
        position += LENGTH + length
        if (
            entry_id != expected
            or next_status != status
            or next_header != header
            or next_ledger != ledger_id
            or position > end
            or length < READ_REPLY.size - LENGTH
        ):
            break
        offsets.append(position)
    return offsets
