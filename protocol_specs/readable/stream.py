"""Reads one direction of a connection as V2 and V3 frames, as a bookie detects them (docs/protocol/detection.md)."""

from collections.abc import Iterator

from attrs import define

from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.readable import v3
from protocol_specs.readable.shown import UNREADABLE, Broken, Direction, Frame, Item, Note, Sheet, broken_by
from protocol_specs.readable.v2 import V2Frames
from protocol_specs.readable.v3 import V3Frames
from protocol_specs.readable.verdicts import Verdicts
from protocol_specs.wire import framing, v2

_LENGTH = codecs.derive("frame", codecs.leading(v2.FRAME_START, "header"))

TLS_CONTENT_TYPES = range(0x14, 0x18)
TLS_MAJOR_VERSION = 3
"""The first two bytes of a TLS record.  As the length of a frame they would be above any limit."""


@define
class Stream:
    """Reads one direction of a connection, frame by frame.

    A bookie takes frames for V3 until one does not parse; that one and all later ones it takes for V2.  A reply has the
    protocol version of its request, which may have been sent before that.  So each reply is detected by itself.
    """

    direction: Direction
    verdicts: Verdicts
    may_be_v3: bool = True
    """Whether the next request is tried as V3."""

    def read(self, data: bytes, start: int = 0) -> Iterator[Item]:
        """Yield the frames in ``data`` from ``start`` on, up to the byte where they break."""
        at, tls_may_follow = start, False
        while at < len(data):
            if tls_may_follow and is_tls(data, at):
                yield Note(at, f"TLS from here on: {len(data) - at} bytes that cannot be read")
                return
            frame, tls_may_follow = self._frame(data, at)
            yield frame
            if frame.broken is not None and frame.broken.ends:
                return
            at += frame.size

    def _frame(self, data: bytes, at: int) -> tuple[Frame, bool]:
        sheet = Sheet(data)
        body, available = at + _LENGTH.size, len(data)
        try:
            (length,) = _LENGTH.unpack_from(data, at)
        except Malformed as error:
            sheet.add(UNREADABLE, at, available - at, data[at:])
            return self._shown(at, available, "", "", sheet, broken_by(error)), False
        sheet.add("length", at, _LENGTH.size, length, _say_length(length))
        if body + length > available:
            return self._cut_short(data, at, length, sheet), False
        dialect = self._dialect(data[body : body + length])
        return self._whole(data, at, body + length, dialect, sheet)

    def _cut_short(self, data: bytes, at: int, length: int, sheet: Sheet) -> Frame:
        """Read as far as there are bytes."""
        body, available = at + _LENGTH.size, len(data)
        broken = Broken("frame", "body", available, f"needs {length} bytes, has {available - body}")
        if _LENGTH.size + length > fields.FRAME_SIZE_MAX:
            if body < available:
                sheet.add(UNREADABLE, body, available - body, data[body:])
            return self._shown(at, available, "", "", sheet, broken)
        dialect = "V3" if body < available and data[body] >= framing.V3_FIRST_BYTE_MIN else "V2"
        frame, _ = self._whole(data, at, available, dialect, sheet)
        return self._shown(at, available, dialect, frame.operation, sheet, broken)

    def _whole(self, data: bytes, at: int, end: int, dialect: str, sheet: Sheet) -> tuple[Frame, bool]:
        v3_frames = V3Frames(self.verdicts)
        frames = v3_frames if dialect == "V3" else V2Frames(self.verdicts, v3_frames)
        body = at + _LENGTH.size
        operation, broken = "", None
        try:
            operation = frames.read(sheet, self.direction, data, body, end)
        except Malformed as error:
            broken = broken_by(error)
            sheet.add_unreadable(error, end)
        if broken is None and frames.failed_inside is not None:
            broken = broken_by(frames.failed_inside, ends=False)
        tls = dialect == "V3" and v3.starts_tls(v3.parsed(self.direction, data[body:end]))
        return self._shown(at, end, dialect, operation, sheet, broken), tls

    def _shown(self, at: int, end: int, dialect: str, operation: str, sheet: Sheet, broken: Broken | None) -> Frame:
        return Frame(at, end - at, self.direction, dialect, operation, tuple(sheet.fields), broken)

    def _dialect(self, body: bytes) -> str:
        """Return the protocol version, detected as a bookie does for requests; remembers that a request was not V3.

        Bytes that can be read as neither version are shown as V3 if they start as V3 messages do.
        """
        if self.direction == "response":
            return "V3" if v3.is_v3("response", body) or _starts_as_v3(body) else "V2"
        if self.may_be_v3 and v3.is_v3("request", body):
            return "V3"
        was_v3, self.may_be_v3 = self.may_be_v3, False
        return "V3" if was_v3 and _starts_as_v3(body) and not self._is_v2(body) else "V2"

    def _is_v2(self, body: bytes) -> bool:
        """Return whether this can be read as V2; a header of packet version 10 starts as V3 messages do."""
        try:
            V2Frames(self.verdicts, V3Frames(self.verdicts)).read(Sheet(body), self.direction, body, 0, len(body))
        except Malformed:
            return False
        return True


EFFORT_MIN = 16 * 1024 * 1024
EFFORT_PER_BYTE = 8
"""The search for the first frame reads at most so many bytes of possible frames: a minimum, and more for each byte of
the data.  Zeros need four for each byte; hostile bytes could make each frame overlap with thousands of others."""


def first_frame(data: bytes, direction: Direction) -> int | None:
    """Return where the first frame starts in bytes from the middle of a connection, None if none is found.

    Bytes count as a frame if they can be read as one, and the bytes after them too.
    """
    effort = EFFORT_MIN + EFFORT_PER_BYTE * len(data)
    for at in range(len(data) - _LENGTH.size):
        if data[at + _LENGTH.size] not in _FIRST_BYTES:
            continue
        size = _size_at(data, at)
        effort -= _effort(data, at, size)
        if effort < 0:
            return None
        if _is_frame(data, at, size, direction):
            behind = at + size
            if behind + _LENGTH.size >= len(data):
                return at
            size = _size_at(data, behind)
            effort -= _effort(data, behind, size)
            if _is_frame(data, behind, size, direction):
                return at
    return None


def _size_at(data: bytes, at: int) -> int:
    (length,) = _LENGTH.unpack_from(data, at)
    return int(_LENGTH.size + length)


def _effort(data: bytes, at: int, size: int) -> int:
    """Return how many bytes it takes to check whether a frame of this size is at ``at``."""
    return size if size <= min(fields.FRAME_SIZE_MAX, len(data) - at) else 0


def _is_frame(data: bytes, at: int, size: int, direction: Direction) -> bool:
    """Return whether bytes can be read as a frame; if they end before it does, whether they start as one."""
    body, end = at + _LENGTH.size, at + size
    if size > fields.FRAME_SIZE_MAX:
        return False
    if end > len(data):
        return data[body : body + 1] == b"" or data[body] in _FIRST_BYTES
    frame = next(Stream(direction, Verdicts()).read(data[at:end]))
    return isinstance(frame, Frame) and frame.broken is None


def is_tls(data: bytes, at: int) -> bool:
    """Return whether a TLS record may start at ``at``."""
    start = data[at : at + 2]
    return len(start) == 2 and start[0] in TLS_CONTENT_TYPES and start[1] == TLS_MAJOR_VERSION


def _starts_as_v3(body: bytes) -> bool:
    return body[:1] == _HEADER_TAG


def _say_length(length: int) -> str:
    return "above the default frame limit" if _LENGTH.size + length > fields.FRAME_SIZE_MAX else ""


_HEADER_TAG = b"\n"
"""The tag of ``header``, with which Java starts every V3 message."""

_FIRST_BYTES = (*range(framing.VERSION_MAX + 1), *_HEADER_TAG)
"""The first bytes of frames that bookies serve: a V2 version, or the tag of V3's header."""
