"""Adds of V2 by the run: requests for many entries at once, replies as runs; no IO, no clock.

:class:`~bookkeeper_tx.protocol.client.v2.V2ClientConnection` adds one entry at a time.  This is for a writer that has
thousands of entries at hand and counts the missing replies by entry ids (docs/protocol/v2.md).
"""

from collections.abc import Sequence

from attrs import frozen

from bookkeeper_tx.entry.frame_runs import RUN_MIN, consecutive_frames
from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from bookkeeper_tx.protocol.v2_frames import ADD_OVERHEAD, ADD_REPLY, ADD_REQUEST_PREFIX, LENGTH
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire.operations import Operation

_ADD_HEADER = framing.join_header(framing.VERSION_MAX, Operation.ADD_ENTRY)
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed


@frozen
class AddReplies:
    """One answer to adds of consecutive entries."""

    status: int
    """The V2 code."""
    ledger_id: int
    entry_ids: range


def add_requests(master_key: bytes, entries: Sequence[bytes]) -> bytes:
    """Return the frames that ask to add sealed ``entries``."""
    pack = ADD_REQUEST_PREFIX.pack_fixed
    sizes = set(map(len, entries))
    if len(sizes) == 1:
        return pack(ADD_OVERHEAD + sizes.pop(), _ADD_HEADER, master_key).join((b"", *entries))
    parts: list[bytes] = [b""] * (2 * len(entries))
    parts[0::2] = [pack(ADD_OVERHEAD + len(entry), _ADD_HEADER, master_key) for entry in entries]
    parts[1::2] = entries
    return b"".join(parts)


class AddReplyReader:
    """Cuts the bytes of a bookie, on a connection that carries adds only, into runs of replies."""

    def __init__(self, frame_size_max: int) -> None:
        self._frames = FrameBuffer(frame_size_max)

    def receive(self, data: bytes) -> list[AddReplies]:
        """Return the answers that ``data`` completes; raises ProtocolViolation for anything but replies to adds."""
        replies: list[AddReplies] = []
        try:
            buffer = self._frames.feed(data)
            position, end = 0, len(buffer)
            while end - position >= LENGTH:
                frame_end = position + LENGTH + self._frames.check(_unpack_length(buffer, position)[0])
                if frame_end > end:
                    break
                run, position = _replies_at(buffer, position, end, frame_end)
                replies.append(run)
            self._frames.keep(buffer, position)
        except Malformed as error:
            raise ProtocolViolation(str(error)) from error
        return replies


def _replies_at(buffer: bytes, start: int, end: int, frame_end: int) -> tuple[AddReplies, int]:
    """Return the run of equal replies at ``start`` and where it ends."""
    stride = frame_end - start
    if stride < ADD_REPLY.size:
        raise Malformed("reply", "status", start, f"a frame of {stride} bytes is no reply")
    _, header, status, ledger_id, first = ADD_REPLY.unpack_fixed(buffer, start)
    if header != _ADD_HEADER:
        raise Malformed("reply", "header", start, f"header {header:#010x} answers no add")
    count = (end - start) // stride
    if count >= RUN_MIN:
        count = consecutive_frames(buffer, start, stride, count, ADD_REPLY.offsets["entry_id"], first)
    else:
        count = 1
    return AddReplies(status, ledger_id, range(first, first + count)), start + count * stride
