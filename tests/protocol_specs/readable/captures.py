"""Captures made up for tests: packets of connections, written as pcap or pcapng."""

import io
import socket
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import dpkt

CLIENT, BOOKIE = ("10.0.0.1", 50000), ("10.0.0.2", 3181)
CLIENT_6, BOOKIE_6 = ("fd00::1", 50000), ("fd00::2", 3181)
SYN, ACK, RST = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK, dpkt.tcp.TH_RST
CLIENT_ISN, BOOKIE_ISN = 1000, 2**32 - 10
"""The bookie's sequence numbers pass 2^32 after a few bytes."""

Address = tuple[str, int]


def packet(source: Address, target: Address, sequence: int, data: bytes = b"", flags: int = ACK) -> Any:
    """Return an IP packet with a TCP segment."""
    tcp = dpkt.tcp.TCP(sport=source[1], dport=target[1], seq=sequence % 2**32, flags=flags, data=data)
    if ":" in source[0]:
        ends = {"src": _ip6(source), "dst": _ip6(target)}
        return dpkt.ip6.IP6(**ends, nxt=dpkt.ip.IP_PROTO_TCP, hlim=64, data=tcp, plen=len(tcp))
    ends = {"src": socket.inet_aton(source[0]), "dst": socket.inet_aton(target[0])}
    return dpkt.ip.IP(**ends, p=dpkt.ip.IP_PROTO_TCP, data=tcp, len=20 + len(tcp))


def _ip6(address: Address) -> bytes:
    return socket.inet_pton(socket.AF_INET6, address[0])


def requests(*datas: bytes, start: int = 1) -> list[Any]:
    """Return packets of a client, one a piece; ``start`` is where the first lies in what it sends."""
    return _pieces(CLIENT, BOOKIE, CLIENT_ISN, datas, start)


def replies(*datas: bytes, start: int = 1) -> list[Any]:
    """Return packets of a bookie."""
    return _pieces(BOOKIE, CLIENT, BOOKIE_ISN, datas, start)


def _pieces(source: Address, target: Address, isn: int, datas: Sequence[bytes], start: int) -> list[Any]:
    packets, at = [], isn + start
    for data in datas:
        packets.append(packet(source, target, at, data))
        at += len(data)
    return packets


def hello() -> list[Any]:
    """Return how a connection starts."""
    return [
        packet(CLIENT, BOOKIE, CLIENT_ISN, flags=SYN),
        packet(BOOKIE, CLIENT, BOOKIE_ISN, flags=SYN | ACK),
        packet(CLIENT, BOOKIE, CLIENT_ISN + 1),
    ]


def pcap(packets: Iterable[Any], link: int = dpkt.pcap.DLT_EN10MB, ng: bool = False) -> bytes:
    """Return a capture file of ``packets`` over one kind of link."""
    file = io.BytesIO()
    writer = dpkt.pcapng.Writer(file, idb=_interface(link)) if ng else dpkt.pcap.Writer(file, linktype=link)
    for number, each in enumerate(packets):
        writer.writepkt(_linked(each, link), ts=number)
    return file.getvalue()


def _interface(link: int) -> Any:
    block = dpkt.pcapng.InterfaceDescriptionBlock
    if sys.byteorder == "little":
        block = dpkt.pcapng.InterfaceDescriptionBlockLE
    return block(linktype=link)


def _linked(packet: Any, link: int) -> bytes:
    is_6 = isinstance(packet, dpkt.ip6.IP6)
    if link == dpkt.pcap.DLT_EN10MB:
        kind = dpkt.ethernet.ETH_TYPE_IP6 if is_6 else dpkt.ethernet.ETH_TYPE_IP
        return bytes(dpkt.ethernet.Ethernet(type=kind, data=packet))
    if link == dpkt.pcap.DLT_LINUX_SLL:
        return bytes(dpkt.sll.SLL(ethtype=0x86DD if is_6 else 0x0800, data=packet))
    if link == dpkt.pcap.DLT_NULL:
        return bytes([30 if is_6 else 2, 0, 0, 0]) + bytes(packet)
    return bytes(packet)
