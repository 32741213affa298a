"""Exchanges as a capture file: each connection is a TCP stream on the loopback, with the times of the run.

The packets are synthetic, the bytes in them are real: Wireshark, tcpflow and ``bktx wire`` read the file as any other.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpkt

from compat_tests.judge.recording import NOTE, SUITE, TARGET, Event
from compat_tests.judge.result import Result, Run
from compat_tests.report.connections import Connection, by_connection

BOOKIE_PORT = 3181
CLIENT_PORT_MIN = 20000
LOOPBACK = bytes([127, 0, 0, 1])
SEGMENT_SIZE_MAX = 32 * 1024
"""An IP packet holds 64 KiB at most."""
INITIAL_SEQUENCE = 1000

SYN, ACK, FIN, PUSH = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK, dpkt.tcp.TH_FIN, dpkt.tcp.TH_PUSH


class _Stream:
    """One connection, as packets."""

    def __init__(self, number: int, requests_from: str) -> None:
        self._requests_from = requests_from
        client_port = CLIENT_PORT_MIN + number % (2**16 - CLIENT_PORT_MIN)
        self._ports = {True: client_port, False: BOOKIE_PORT}
        start = INITIAL_SEQUENCE + number  # connections that share a port differ in this number
        self._next = {True: start, False: start}

    def hello(self) -> Iterator[bytes]:
        yield self._packet(True, SYN)
        yield self._packet(False, SYN | ACK)
        yield self._packet(True, ACK)

    def data(self, event: Event) -> Iterator[bytes]:
        by_client = event.sender == self._requests_from
        for at in range(0, len(event.data), SEGMENT_SIZE_MAX):
            yield self._packet(by_client, ACK | PUSH, event.data[at : at + SEGMENT_SIZE_MAX])

    def bye(self) -> Iterator[bytes]:
        yield self._packet(True, FIN | ACK)
        yield self._packet(False, FIN | ACK)
        yield self._packet(True, ACK)

    def _packet(self, by_client: bool, flags: int, data: bytes = b"") -> bytes:
        tcp = dpkt.tcp.TCP(
            sport=self._ports[by_client],
            dport=self._ports[not by_client],
            seq=self._next[by_client] % 2**32,
            ack=self._next[not by_client] % 2**32 if flags & ACK else 0,
            flags=flags,
            data=data,
        )
        self._next[by_client] += len(data) + bool(flags & (SYN | FIN))
        packet = dpkt.ip.IP(src=LOOPBACK, dst=LOOPBACK, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
        packet.len = len(packet)
        return bytes(packet)


def write_pcap(run: Run, path: Path, case: str | None = None) -> int:
    """Write the exchanges of a run, or those of one case, and return how many connections they were.

    Cases follow each other in time, in the order of the run, whether or not they ran side by side.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    count, start_s = 0, _seconds(run.started)
    with path.open("wb") as file:
        writer: Any = dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_RAW, snaplen=2**16)
        for result in run.results:
            if case in (None, result.case):
                for time_s, packet, begins in _packets(run.role, result, count):
                    writer.writepkt(packet, ts=start_s + time_s)
                    count += begins
                start_s += result.duration_s
    return count


def _packets(role: str, result: Result, first: int) -> Iterator[tuple[float, bytes, bool]]:
    """Yield the packets of a case: time, bytes, and whether a connection begins with it."""
    streams: dict[Connection, _Stream] = {}
    last_s = 0.0
    for event, connection in by_connection(result.exchange):
        last_s = event.time_s
        if event.sender == NOTE:
            continue
        stream = streams.get(connection)
        if stream is None:
            stream = streams[connection] = _Stream(first + len(streams), SUITE if role == "bookie" else TARGET)
            for number, packet in enumerate(stream.hello()):
                yield event.time_s, packet, not number
        for packet in stream.data(event):
            yield event.time_s, packet, False
    for stream in streams.values():
        for packet in stream.bye():
            yield last_s, packet, False


def _seconds(started: str) -> float:
    try:
        return datetime.datetime.fromisoformat(started).timestamp()
    except ValueError:
        return 0.0
