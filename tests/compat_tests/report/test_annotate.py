"""Exchanges frame by frame."""

import pytest

from compat_tests.judge.recording import NOTE, SUITE, TARGET, Event
from compat_tests.report.annotate import DUMP_SHOWN, AnnotatedEvent, annotate
from protocol_specs import vectors

READ = bytes.fromhex("00000014020200000000000000000001ffffffffffffffff")
NO_ENTRY = bytes.fromhex("0000001802020000000000020000000000000001ffffffffffffffff")


def sent(data: bytes, at: float = 0.0, line: str = "main") -> Event:
    return Event(at, line, SUITE, data)


def received(data: bytes, at: float = 1.0, line: str = "main") -> Event:
    return Event(at, line, TARGET, data)


def titles(shown: list[AnnotatedEvent]) -> list[str]:
    return [each.title for each in shown]


def test_each_field_stands_beside_its_bytes() -> None:
    request, reply = annotate([sent(READ, 0.5), received(NO_ENTRY, 0.75)], "bookie")
    assert (request.sender, request.time_s, request.line) == ("suite", 0.5, "main")
    assert request.title == "V2 READ_ENTRY request, 24 bytes"
    assert [(row.offset, row.hex, row.name, row.value) for row in request.rows] == [
        (0, "00000014", "length", "20"),
        (4, "02020000", "header", "0x02020000: version 2, READ_ENTRY"),
        (8, "0000000000000001", "ledger_id", "1"),
        (16, "ffffffffffffffff", "entry_id", "-1: the last entry that the bookie stores"),
    ]
    assert reply.title == "V2 READ_ENTRY response, 28 bytes"
    assert reply.rows[2].value.startswith("2: ENOENTRY")


def test_a_client_is_the_one_that_asks() -> None:
    shown = annotate([received(READ), sent(NO_ENTRY, 2)], "client")
    assert titles(shown) == ["V2 READ_ENTRY request, 24 bytes", "V2 READ_ENTRY response, 28 bytes"]
    assert [each.sender for each in shown] == ["target", "suite"]


def test_a_frame_stands_where_its_last_byte_came() -> None:
    events = [sent(bytes([byte]), number) for number, byte in enumerate(READ)]
    events.insert(3, Event(2.5, "main", NOTE, text="waits"))
    note, frame = annotate(events, "bookie")
    assert note.title == "waits"
    assert frame.time_s == len(READ) - 1


def test_lines_are_read_apart() -> None:
    shown = annotate([sent(READ[:9], 0, "a"), sent(READ, 1, "b"), sent(READ[9:], 2, "a")], "bookie")
    assert [(each.line, each.time_s) for each in shown] == [("b", 1), ("a", 2)]


def test_several_frames_of_one_segment_are_told_apart() -> None:
    assert len(annotate([sent(READ * 3)], "bookie")) == 3


def test_what_cannot_be_read_is_a_plain_hexdump() -> None:
    (frame,) = annotate([sent(b"GET / HTTP/1.1\r\n\r\n")], "bookie")
    assert frame.broken
    assert frame.rows[0].hex == b"GET / HTTP/1.1\r\n".hex()
    assert frame.rows[0].value == "GET / HTTP/1.1.."
    (long,) = annotate([sent(b"\xff" * 1000)], "bookie")
    assert long.rows[-1].value == f"… {1000 - DUMP_SHOWN} more"


def test_what_comes_behind_a_broken_frame_is_shown_too() -> None:
    unknown = bytes.fromhex("00000004 02630000")
    shown = annotate([sent(unknown + READ)], "bookie")
    assert "unknown operation 99" in shown[0].broken
    assert shown[1].title == "24 bytes after the last field that can be read"


def test_the_bytes_of_a_field_are_shown_once() -> None:
    for vector in vectors.load("wire"):
        for side, direction in (("request", sent), ("reply", received)):
            if side in vector:
                data = bytes.fromhex(vector[side])
                for frame in annotate([direction(data)], "bookie"):
                    whole = "".join(row.hex for row in frame.rows)
                    assert frame.broken or "…" in whole or whole == data.hex()


@pytest.mark.parametrize("role", ["bookie", "client"])
def test_nothing_is_shown_of_nothing(role: str) -> None:
    assert annotate([], role) == []


def test_a_line_that_was_closed_is_another_connection() -> None:
    unknown, closed = bytes.fromhex("00000004 02630000"), Event(1, "main", NOTE, text="closed by the target")
    shown = annotate([sent(unknown), closed, sent(READ, 2)], "bookie")
    assert titles(shown)[-1] == "V2 READ_ENTRY request, 24 bytes"
    stopped = Event(1, "", NOTE, text="the bookie is killed")
    shown = annotate([sent(READ[:9]), received(NO_ENTRY), stopped, sent(READ, 2)], "bookie")
    assert titles(shown)[-1] == "V2 READ_ENTRY request, 24 bytes"
