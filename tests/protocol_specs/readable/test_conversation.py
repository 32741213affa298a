"""Captures: segments in any order become what each side said, in order."""

import io
import sys
from typing import Any

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.readable import conversation
from protocol_specs.readable.capture import Capture, NotACapture
from protocol_specs.readable.reassembly import Connection, Reassembly
from protocol_specs.readable.shown import Frame, Note
from protocol_specs.readable.verdicts import Verdicts
from tests.protocol_specs.readable import captures
from tests.protocol_specs.readable.captures import (
    BOOKIE,
    BOOKIE_6,
    CLIENT,
    CLIENT_6,
    hello,
    packet,
    pcap,
    replies,
    requests,
)

READ = bytes.fromhex("00000014020200000000000000000001ffffffffffffffff")
NO_ENTRY = bytes.fromhex("0000001802020000000000020000000000000001ffffffffffffffff")
V3_FORCE = bytes.fromhex("0000000e0a060803100a1805da060308ec0e")


def connections(data: bytes, *ports: int) -> list[Connection]:
    reassembly = Reassembly(ports or (BOOKIE[1],))
    for segment in Capture(io.BytesIO(data)).segments():
        reassembly.add(segment)
    return reassembly.connections


def said(data: bytes) -> list[str]:
    """Return what was said on all connections, in short."""
    found = []
    for connection in connections(data):
        for each in conversation.read(connection, Verdicts()):
            item = each.item
            if isinstance(item, Frame):
                broken = " broken" if item.broken else ""
                found.append(f"{item.direction} {item.operation}{broken} @{each.segment.number}")
            else:
                found.append(item.text)
    return found


TALK = ["request READ_ENTRY @4", "response READ_ENTRY @5"]


@pytest.mark.parametrize("ng", [False, True])
@pytest.mark.parametrize("link", [dpkt.pcap.DLT_EN10MB, dpkt.pcap.DLT_LINUX_SLL, dpkt.pcap.DLT_RAW, dpkt.pcap.DLT_NULL])
def test_both_sides_are_read(link: int, ng: bool) -> None:
    assert said(pcap([*hello(), *requests(READ), *replies(NO_ENTRY)], link, ng)) == TALK


def test_version_6_of_ip() -> None:
    packets = [packet(CLIENT_6, BOOKIE_6, 0, flags=captures.SYN), packet(CLIENT_6, BOOKIE_6, 1, READ)]
    (connection,) = connections(pcap(packets))
    assert str(connection.client) == "[fd00::1]:50000"
    assert said(pcap(packets)) == ["request READ_ENTRY @2"]


def test_frames_are_told_in_the_order_in_which_they_were_complete() -> None:
    packets = [*hello(), *requests(READ + READ[:5]), *replies(NO_ENTRY), *requests(READ[5:], start=1 + 24 + 5)]
    assert said(pcap(packets)) == [*TALK, "request READ_ENTRY @6"]


@given(st.data())
def test_segments_may_come_in_any_order_and_twice(data: st.DataObject) -> None:
    whole = READ * 3 + V3_FORCE[:3]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=6)))
    starts = [0, *cuts]
    pieces = [requests(whole[a:b], start=1 + a)[0] for a, b in zip(starts, [*cuts, len(whole)], strict=True)]
    again = [requests(whole[a : a + 9], start=1 + a)[0] for a in data.draw(st.lists(st.integers(0, 60), max_size=3))]
    packets = data.draw(st.permutations(pieces + again))
    (connection,) = connections(pcap([*hello(), *packets]))
    (stretch,) = connection.requests.stretches()
    assert stretch.data == whole
    assert stretch.missing == 0


def test_sequence_numbers_pass_two_to_the_32() -> None:
    assert said(pcap([*hello(), *replies(NO_ENTRY, NO_ENTRY, NO_ENTRY)])) == [
        f"response READ_ENTRY @{number}" for number in (4, 5, 6)
    ]


def test_other_ports_are_passed_over() -> None:
    packets = [packet(CLIENT, ("10.0.0.2", 2181), 5, b"zookeeper"), *hello(), *requests(READ)]
    assert said(pcap(packets)) == ["request READ_ENTRY @5"]
    assert connections(pcap(packets), 9999) == []
    assert [str(each.bookie) for each in connections(pcap(packets), 2181, 3181)] == ["10.0.0.2:2181", "10.0.0.2:3181"]


def test_a_port_that_is_used_again_is_another_connection() -> None:
    again = [packet(CLIENT, BOOKIE, 77_000, flags=captures.SYN), packet(CLIENT, BOOKIE, 77_001, V3_FORCE)]
    data = pcap([*hello(), *requests(READ), *hello()[:1], *again])
    assert len(connections(data)) == 2
    assert said(data) == ["request READ_ENTRY @4", "request FORCE_LEDGER @7"]


def test_a_capture_from_the_middle_says_so() -> None:
    assert said(pcap(requests(READ, READ))) == [
        "the capture starts in mid-connection",
        "request READ_ENTRY @1",
        "request READ_ENTRY @2",
    ]
    assert said(pcap(requests(READ[7:], READ))) == [
        "the capture starts in mid-connection: the next request is found 17 bytes on",
        "request READ_ENTRY @2",
    ]
    assert said(pcap(requests(bytes(50)))) == [
        "the capture starts in mid-connection: no request is found in the bytes that follow"
    ]


def test_only_what_is_lost_is_a_failure() -> None:
    def failed(*packets: Any) -> list[bool]:
        (connection,) = connections(pcap(packets))
        return [each.item.failed for each in conversation.read(connection, Verdicts()) if isinstance(each.item, Note)]

    assert failed(*requests(READ)) == [False]
    assert failed(*requests(bytes(50))) == [True]
    assert failed(*hello(), *requests(READ), *requests(READ, start=1 + 24 + 24)) == [True]


def test_a_hole_is_told_and_reading_goes_on_behind_it() -> None:
    packets = [*hello(), *requests(READ), *requests(READ[3:] + READ, start=1 + 24 + 3)]
    assert said(pcap(packets)) == [
        "request READ_ENTRY @4",
        "the capture lacks 3 bytes: the next request is found 21 bytes on",
        "request READ_ENTRY @5",
    ]


def test_what_is_malformed_ends_one_side_only() -> None:
    packets = [*hello(), *requests(READ + bytes(8) + READ), *replies(NO_ENTRY)]
    assert said(pcap(packets)) == ["request READ_ENTRY @4", "request  broken @4", "response READ_ENTRY @5"]


def test_what_is_encrypted_is_passed_over_whole() -> None:
    tls = bytes.fromhex("1603010200") + bytes(40)
    start_tls = bytes.fromhex("0000000b0a06080310091805d20600")
    packets = [*hello(), *requests(start_tls, tls), *requests(tls, start=1000), *requests(tls, start=3000)]
    assert said(pcap(packets)) == [
        "request START_TLS @4",
        "TLS from here on: 45 bytes that cannot be read",
    ]


def test_a_reset_is_told() -> None:
    reset = packet(BOOKIE, CLIENT, captures.BOOKIE_ISN + 1, flags=captures.RST)
    assert said(pcap([*hello(), *requests(READ), reset])) == [TALK[0], "the bookie reset the connection"]


# Files ---------------------------------------------------------------------------------------------------------------


def test_fragments_are_counted() -> None:
    whole: Any = requests(READ)[0]
    whole.mf = 1
    capture = Capture(io.BytesIO(pcap([whole, *requests(READ)])))
    assert len(list(capture.segments())) == 1
    assert capture.fragments == 1


def test_what_is_no_ip_is_counted() -> None:
    file = io.BytesIO()
    writer = dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_EN10MB)
    writer.writepkt(bytes(12) + b"\x08\x06" + bytes(28), ts=0)
    writer.writepkt(b"short", ts=1)
    capture = Capture(io.BytesIO(file.getvalue()))
    assert list(capture.segments()) == []
    assert capture.unreadable == 2


@pytest.mark.parametrize("ends", [(CLIENT, BOOKIE), (CLIENT_6, BOOKIE_6)])
def test_the_padding_of_short_packets_is_no_data(ends: Any) -> None:
    file = io.BytesIO()
    writer = dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_EN10MB)
    for data in (b"", b"ab"):
        kind = b"\x86\xdd" if ":" in ends[0][0] else b"\x08\x00"
        writer.writepkt(bytes(12) + kind + bytes(packet(*ends, 1, data)) + bytes(20), ts=0)
    file.seek(0)
    assert [segment.payload for segment in Capture(file).segments()] == [b"", b"ab"]


@pytest.mark.parametrize("ends", [(CLIENT, BOOKIE), (CLIENT_6, BOOKIE_6)])
def test_a_packet_that_is_cut_inside_its_header_is_counted(ends: Any) -> None:
    file = io.BytesIO()
    writer = dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_RAW)
    writer.writepkt(bytes(packet(*ends, 1, READ))[: -len(READ) - 10], ts=0)
    file.seek(0)
    capture = Capture(file)
    assert list(capture.segments()) == []
    assert capture.unreadable == 1


def test_a_capture_that_ends_inside_a_packet() -> None:
    data = pcap([*hello(), *requests(READ, READ)])
    assert said(data[:-5])[0] == "request READ_ENTRY @4"


def test_a_capture_that_is_damaged_is_read_up_to_there() -> None:
    """dpkt raises UnicodeDecodeError over a comment that is not ASCII."""
    data = pcap([*hello(), *requests(READ)], ng=True)
    comment = bytes.fromhex("0100 0400 61800000 0000 0000")
    size = (32 + len(comment)).to_bytes(4, "little")
    packet_block = bytes.fromhex("06000000") + size + bytes(20) + comment + size
    capture = Capture(io.BytesIO(data + packet_block + data))
    assert len(list(capture.segments())) == 4
    assert capture.unreadable == 1


@given(st.data())
def test_no_capture_is_too_strange(data: st.DataObject) -> None:
    whole = bytearray(pcap([*hello(), *requests(READ), *replies(NO_ENTRY)], ng=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        said(bytes(whole))
    except NotACapture:
        pass


@pytest.mark.parametrize("data", [b"", b"not a capture at all, no", b"\x0a\x0d\x0d\x0a", b"\xa1\xb2\xc3\xd4\x00"])
def test_what_is_no_capture(data: bytes) -> None:
    with pytest.raises(NotACapture, match="no capture"):
        Capture(io.BytesIO(data))


def test_without_dpkt_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dpkt", None)
    with pytest.raises(NotACapture, match=r"pip install 'bookkeeper_tx\[pcap\]'"):
        Capture(io.BytesIO(pcap([])))
