"""Cuts a byte stream into frames (docs/protocol/framing.md)."""

from bookkeeper_tx.errors import ProtocolViolation
from protocol_specs import codecs, fields
from protocol_specs.wire import v2

FRAME_START = codecs.derive("frame", v2.FRAME_START)
FRAME_LENGTH_SIZE = fields.FRAME_LENGTH_SIZE
_length_at = codecs.RECORD_LENGTH.unpack_fixed

SMALL = 4096
"""Smaller pieces of a frame are held together."""


class FrameBuffer:
    """Holds the bytes of a frame that is not complete yet.

    A reader loops: ``buffer = feed(data)``, walk the complete frames in it, ``keep(buffer, position)``.  Pieces of a
    large frame are joined once, when it is complete; small pieces, which would take many times their size, at once.
    """

    __slots__ = ("_needed", "_pieces", "frame_number", "frame_size_max", "held")

    def __init__(self, frame_size_max: int) -> None:
        self.frame_size_max = frame_size_max
        self._pieces: list[bytes | bytearray] = []
        self.held = 0
        """Bytes of the frame that is not complete yet, if there is one."""
        self._needed = 0
        self.frame_number = 0
        """How often a frame was not complete when its first bytes came."""

    def feed(self, data: bytes) -> bytes:
        """Return bytes that start at a frame, or none while the first frame is not complete."""
        if not self._pieces:
            return data
        self._hold(data)
        self.held += len(data)
        if self.held < self._needed:
            return b""
        buffer = b"".join(self._pieces)
        self._pieces.clear()
        return buffer

    def keep(self, buffer: bytes, position: int) -> None:
        """Hold the bytes from ``position`` on, where a frame starts that is not complete.

        Raises :class:`ProtocolViolation` as soon as the length of that frame is known to be over the limit.
        """
        held = len(buffer) - position
        if held <= 0:
            return
        self._needed = FRAME_LENGTH_SIZE
        if held >= FRAME_LENGTH_SIZE:
            self._needed += self.check(_length_at(buffer, position)[0])
        self._pieces.append(buffer[position:])
        self.held = held
        self.frame_number += 1

    @property
    def frame_size(self) -> int:
        """Size of the frame that is not complete yet, as far as it is known; 0 if there is none."""
        return self._needed if self._pieces else 0

    def _hold(self, data: bytes) -> None:
        last = self._pieces[-1]
        if len(data) >= SMALL:
            self._pieces.append(data)
        elif type(last) is bytearray:
            last += data
        else:
            self._pieces.append(bytearray(data))

    def check(self, length: int) -> int:
        """Return ``length``; raise :class:`ProtocolViolation` if such a frame is over the limit."""
        if not 0 <= length <= self.frame_size_max - FRAME_LENGTH_SIZE:
            unsigned = length & 0xFFFFFFFF
            raise ProtocolViolation(
                f"frame of {unsigned} bytes is over the limit of {self.frame_size_max}; raise frame_size_max "
                "(nettyMaxFrameSizeBytes) on both sides if the peer is right"
            )
        return length
