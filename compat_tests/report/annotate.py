"""An exchange frame by frame: its sender, its time, and every field beside its bytes."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from attrs import define, frozen

from compat_tests.judge.recording import NOTE, SUITE, Event
from compat_tests.report.connections import Connection, by_connection
from protocol_specs.readable.shown import Direction, Field, Frame, Item
from protocol_specs.readable.stream import Stream
from protocol_specs.readable.verdicts import Verdicts

BYTES_SHOWN = 24
"""Bytes of a field that are shown; the JSON form and captures have all."""

DUMP_SHOWN = 128
"""Bytes that are shown of data that cannot be decoded."""

DUMP_WIDTH = 16

UNSEALED = "digest_and_payload"
"""The field of an entry whose digest is not known, so that it cannot be told from the payload."""

TEXT_SHOWN = 60
"""Characters of a value that is text."""


@frozen
class Row:
    """A field, or a line of a plain hexdump."""

    offset: int
    """Of its first byte in the frame."""
    hex: str
    """Its bytes, or the first of them; of a field with parts, those that belong to none of them."""
    name: str
    """Empty in a plain hexdump."""
    value: str
    """The value and its meaning; in a plain hexdump, the bytes as text."""
    depth: int = 0


@frozen
class AnnotatedEvent:
    """A frame, bytes that are no frame, or a remark."""

    time_s: float
    """Since the case began, when it was complete."""
    line: str
    """The connection's name."""
    sender: str
    """``suite``, ``target`` or ``note``."""
    title: str
    rows: tuple[Row, ...] = ()
    broken: str = ""
    """Where the bytes break their declaration."""


@define
class _SenderStream:
    """The bytes of one sender on a connection."""

    data: bytearray
    ends: list[int]
    """After how many bytes each event ends."""
    events: list[tuple[int, Event]]
    """Each with its place among all."""

    def event_at(self, end: int) -> tuple[int, Event]:
        return self.events[min(bisect_left(self.ends, end), len(self.events) - 1)]


def annotate(events: Sequence[Event], role: str, password: bytes | None = None) -> list[AnnotatedEvent]:
    """Return the exchange in the order in which its frames were complete.

    ``role`` is that of the target, a bookie or a client: it decides which side sent requests.  With ``password``,
    master keys and HMAC digests are checked as well.
    """
    found: list[tuple[int, AnnotatedEvent]] = []
    streams: dict[tuple[Connection, str], _SenderStream] = {}
    for place, (event, connection) in enumerate(by_connection(events)):
        if event.sender == NOTE:
            found.append((place, AnnotatedEvent(event.time_s, event.line, NOTE, event.text)))
            continue
        stream = streams.setdefault((connection, event.sender), _SenderStream(bytearray(), [], []))
        stream.data += event.data
        stream.ends.append(len(stream.data))
        stream.events.append((place, event))
    for (_, sender), stream in streams.items():
        direction: Direction = "request" if (sender == SUITE) == (role == "bookie") else "response"
        found += _stream_events(stream, direction, Verdicts(password))
    return [shown for _, shown in sorted(found, key=lambda each: each[0])]


def _stream_events(
    stream: _SenderStream, direction: Direction, verdicts: Verdicts
) -> Iterator[tuple[int, AnnotatedEvent]]:
    data, read = bytes(stream.data), 0
    for item in Stream(direction, verdicts).read(data):
        end = item.offset + (item.size if isinstance(item, Frame) else 0)
        place, event = stream.event_at(end)
        yield place, _of_item(item, data, event)
        read = end
    if read < len(data):
        place, event = stream.event_at(len(data))
        title = f"{_bytes(len(data) - read)} after the last field that can be read"
        yield place, AnnotatedEvent(event.time_s, event.line, event.sender, title, dump(data[read:]))


def _of_item(item: Item, data: bytes, event: Event) -> AnnotatedEvent:
    if not isinstance(item, Frame):
        return AnnotatedEvent(event.time_s, event.line, event.sender, item.text)
    what = " ".join(filter(None, (item.dialect, item.operation))) or "no frame"
    body = data[item.offset : item.offset + item.size]
    rows = dump(body) if item.broken is not None and not item.dialect else tuple(_rows(item, data))
    broken = "" if item.broken is None else str(item.broken)
    title = f"{what} {item.direction}, {_bytes(item.size)}"
    return AnnotatedEvent(event.time_s, event.line, event.sender, title, rows, broken)


def _bytes(size: int) -> str:
    return f"{size} byte" if size == 1 else f"{size} bytes"


# Fields --------------------------------------------------------------------------------------------------------------


def _rows(frame: Frame, data: bytes) -> Iterator[Row]:
    covered = frame.offset
    for field, depth in _flat(frame.fields, 0):
        end = field.parts[0].offset if field.parts else field.offset + field.size
        own = data[max(field.offset, covered) : end]
        covered = max(covered, end)
        yield Row(field.offset - frame.offset, _hex(own), field.name, _value(field), depth)


def _flat(fields: Sequence[Field], depth: int) -> Iterator[tuple[Field, int]]:
    for field in fields:
        yield field, depth
        yield from _flat(field.parts, depth + 1)


def _hex(data: bytes) -> str:
    shown = data[:BYTES_SHOWN].hex()
    return f"{shown}… {_bytes(len(data))}" if len(data) > BYTES_SHOWN else shown


def _value(field: Field) -> str:
    value = field.value
    if value is None:
        return field.meaning
    if isinstance(value, bytes):
        if field.name == UNSEALED:  # most cases send entries without a digest: no bookie looks at it
            return f"{_text(value)} no digest fits".strip()
        return field.meaning or _text(value)
    text = f"{value:#010x}" if field.name == "header" and isinstance(value, int) else str(value)
    text = text if text.isprintable() else repr(text)
    return f"{text}: {field.meaning}" if field.meaning else text


def _text(value: bytes) -> str:
    """Return bytes as text if that is what they seem to be."""
    text = value[:TEXT_SHOWN].decode("ascii", "replace")
    if not text or not text.isascii() or not text.isprintable():
        return ""
    return repr(text) + ("…" if len(value) > TEXT_SHOWN else "")


def dump(data: bytes) -> tuple[Row, ...]:
    """Return a plain hexdump."""
    rows = []
    for at in range(0, min(len(data), DUMP_SHOWN), DUMP_WIDTH):
        line = data[at : min(at + DUMP_WIDTH, DUMP_SHOWN)]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
        rows.append(Row(at, line.hex(), "", text))
    if len(data) > DUMP_SHOWN:
        rows.append(Row(DUMP_SHOWN, "", "", f"… {len(data) - DUMP_SHOWN} more"))
    return tuple(rows)
