"""Both sides of a connection as frames, in the order in which they were complete."""

from collections.abc import Iterator

from attrs import frozen

from protocol_specs.readable.reassembly import Connection, Half, Segment
from protocol_specs.readable.shown import Direction, Frame, Item, Note
from protocol_specs.readable.stream import Stream, first_frame
from protocol_specs.readable.verdicts import Verdicts


@frozen
class Said:
    """A frame or a note, and the segment that completed it."""

    item: Item
    segment: Segment


def read(connection: Connection, verdicts: Verdicts) -> list[Said]:
    """Return all that both sides sent, as far as it can be read."""
    said = [*_of_half("request", connection.requests, verdicts), *_of_half("response", connection.responses, verdicts)]
    return sorted(said, key=lambda each: each.segment.number)


def _of_half(direction: Direction, half: Half, verdicts: Verdicts) -> Iterator[Said]:
    stream, end, encrypted = Stream(direction, verdicts), 0, False
    for stretch in half.stretches():
        if encrypted:
            break
        start: int | None = 0
        if stretch.missing is None or stretch.missing:
            start = first_frame(stretch.data, direction)
            lost = stretch.missing is not None or start is None
            yield Said(Note(end, _say_missing(direction, stretch.missing, start), lost), stretch.segments[0])
        for item in stream.read(stretch.data, start) if start is not None else ():
            at = item.offset + (item.size if isinstance(item, Frame) else 0)
            yield Said(item, stretch.segment_at(at))
            encrypted = encrypted or isinstance(item, Note)
        end += len(stretch.data)
    if half.reset is not None:
        yield Said(Note(end, f"the {_SENDER[direction]} reset the connection"), half.reset)


_SENDER = {"request": "client", "response": "bookie"}


def _say_missing(direction: Direction, missing: int | None, start: int | None) -> str:
    lost = "the capture starts in mid-connection" if missing is None else f"the capture lacks {missing} bytes"
    if start is None:
        return f"{lost}: no {direction} is found in the bytes that follow"
    return f"{lost}: the next {direction} is found {start} bytes on" if start else lost
