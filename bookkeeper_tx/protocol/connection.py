"""A bookie's side of a connection: bytes in, requests out; no IO, no clock (docs/protocol/detection.md)."""

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol import v2, v3
from bookkeeper_tx.protocol.frame_buffer import FRAME_START, FrameBuffer
from bookkeeper_tx.protocol.messages import ConnectionBroken, Request
from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire.operations import Operation

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
LENGTH = fields.FRAME_LENGTH_SIZE


class ServerConnection:
    """Reads requests of both dialects.

    Every frame is first tried as V3, until one is not; from then on the connection is V2 for good, as in Java.
    """

    def __init__(self, frame_size_max: int = fields.FRAME_SIZE_MAX, serves_batch_read: bool = True) -> None:
        self._frames = FrameBuffer(frame_size_max)
        self._serves_batch_read = serves_batch_read
        self._may_be_v3 = True
        self._broken = False

    def receive(self, data: bytes) -> list[Request]:
        """Return the requests that ``data`` completes.

        Bytes that break the protocol give a last :class:`ConnectionBroken`, behind the requests that came before them;
        nothing is read after that.
        """
        requests: list[Request] = []
        if self._broken:
            return requests
        try:
            buffer = self._frames.feed(data)
            self._frames.keep(buffer, self._read(buffer, requests))
        except (Malformed, ProtocolViolation) as error:
            self._broken = True
            requests.append(ConnectionBroken(error))
        return requests

    def _read(self, buffer: bytes, requests: list[Request]) -> int:
        position, end = 0, len(buffer)
        while end - position >= LENGTH:
            length = self._frames.check(_unpack_length(buffer, position)[0])
            frame_end = position + LENGTH + length
            if frame_end > end:
                break
            if self._may_be_v3:
                request = v3.decode(buffer[position + LENGTH : frame_end])
                if request is not None:
                    requests.append(request)
                    position = frame_end
                    continue
                self._may_be_v3 = False
            request, position = self._read_v2(buffer, position, end, frame_end)
            requests.append(request)
        return position

    def _read_v2(self, buffer: bytes, start: int, end: int, frame_end: int) -> tuple[Request, int]:
        """Return the request, or run of requests, at ``start``, and where the next one starts."""
        if frame_end - start < FRAME_START.size:
            raise Malformed(FRAME_START.name, "header", start, "the frame is shorter than its header")
        _, header = FRAME_START.unpack_fixed(buffer, start)
        version, operation, _ = framing.split_header(header)
        if operation == Operation.AUTH:
            return v2.answer_auth(buffer, start, frame_end), frame_end
        if (operation == Operation.BATCH_READ_ENTRY and not self._serves_batch_read) or operation not in _READABLE:
            raise ProtocolViolation(f"unknown operation {operation} of a version {version} request")
        if version > framing.VERSION_MAX:
            return v2.answer_bad_version(buffer, start, frame_end, operation), frame_end
        if operation == Operation.ADD_ENTRY:
            return v2.read_adds(buffer, start, end)
        if operation == Operation.READ_ENTRY:
            return v2.read_reads(buffer, start, end, frame_end)
        return v2.read_batch_read(buffer, start, frame_end), frame_end


_READABLE = frozenset(Operation) - {Operation.AUTH}
