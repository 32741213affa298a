"""Packets of a capture file, pcap or pcapng, as TCP segments.  Needs dpkt."""

import ipaddress
from collections.abc import Iterator
from typing import Any, BinaryIO

from protocol_specs.readable.reassembly import Address, Segment

MAGICS = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
"""The first bytes of capture files: pcap in either byte order, with micro- or nanoseconds, and pcapng."""

MISSING = "reading a capture needs dpkt: pip install 'bookkeeper_tx[pcap]'"


class NotACapture(ValueError):
    """The file cannot be read as a capture; the text says why, and what to do."""


class Capture:
    """Reads a capture file; counts the packets that it skips."""

    def __init__(self, file: BinaryIO) -> None:
        """Open the capture in ``file``; raises :class:`NotACapture` if it is none, and if dpkt is missing."""
        try:
            import dpkt
        except ImportError as error:
            raise NotACapture(MISSING) from error
        self.fragments = 0
        """How many IP fragments there were; they are not reassembled."""
        self.unreadable = 0
        """How many packets were not IP over a known link layer, or were damaged."""
        self._dpkt: Any = dpkt
        try:
            self._packets = dpkt.pcap.UniversalReader(file)
        except (ValueError, dpkt.Error) as error:
            raise NotACapture(f"this is no capture, neither pcap nor pcapng: {error}") from error
        self._link = self._packets.datalink()

    def segments(self) -> Iterator[Segment]:
        """Yield the TCP segments."""
        number = 0
        packets = iter(self._packets)
        while True:
            try:
                time_s, data = next(packets)
            except StopIteration:
                return
            except Exception:  # the capture ends inside a packet, or is damaged: dpkt raises anything then
                self.unreadable += 1
                return
            number += 1
            segment = self._segment(number, float(time_s), data)
            if segment is not None:
                yield segment

    def _segment(self, number: int, time_s: float, data: bytes) -> Segment | None:
        dpkt = self._dpkt
        try:
            packet = self._network_packet(data)
        except Exception:  # dpkt raises anything over damaged packets
            packet = None
        if not isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6):
            self.unreadable += 1
            return None
        if isinstance(packet, dpkt.ip.IP) and (packet.mf or packet.offset):
            self.fragments += 1
            return None
        tcp = packet.data
        if not isinstance(tcp, dpkt.tcp.TCP):
            self.unreadable += packet.p == dpkt.ip.IP_PROTO_TCP  # cut short inside the TCP header
            return None
        return Segment(
            number,
            time_s,
            Address(str(ipaddress.ip_address(packet.src)), tcp.sport),
            Address(str(ipaddress.ip_address(packet.dst)), tcp.dport),
            tcp.seq,
            bytes(tcp.data),
            syn=bool(tcp.flags & dpkt.tcp.TH_SYN),
            ack=bool(tcp.flags & dpkt.tcp.TH_ACK),
            fin=bool(tcp.flags & dpkt.tcp.TH_FIN),
            rst=bool(tcp.flags & dpkt.tcp.TH_RST),
        )

    def _network_packet(self, data: bytes) -> Any:
        dpkt, pcap = self._dpkt, self._dpkt.pcap
        if self._link == pcap.DLT_EN10MB:
            return dpkt.ethernet.Ethernet(data).data
        if self._link == pcap.DLT_LINUX_SLL:
            return dpkt.sll.SLL(data).data
        if self._link == pcap.DLT_LINUX_SLL2:
            return dpkt.sll2.SLL2(data).data
        if self._link in (pcap.DLT_NULL, pcap.DLT_LOOP):
            return dpkt.loopback.Loopback(data).data
        version = data[0] >> 4 if data else 0
        return {4: dpkt.ip.IP, 6: dpkt.ip6.IP6}.get(version, lambda _: None)(data)
