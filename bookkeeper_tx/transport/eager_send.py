"""Sending at once what would otherwise wait for the next turn of the reactor.

A Twisted transport copies what it is given, twice, and sends it a turn of the reactor later.  A reply of many kilobytes
is better handed to the socket as it is when nothing waits before it: for batches of 1 KiB entries that halves the CPU
of a bookie.  Small ones are left to the transport, which makes one system call of all those of a turn.  A client, whose
requests of a turn are together already, saves the transport's two calls to the poller and a turn of the reactor.
"""

from collections.abc import Sequence
from typing import Any

from twisted.internet import tcp

from bookkeeper_tx.protocol.bookie.messages import Buffer

EAGER_SIZE_MIN = 4096
"""Fewer bytes than this cost less when they are sent together with the replies that follow."""

PARTS_MAX = 16
"""More parts than this are joined: a vector of many small ones costs more than a copy."""


def send(transport: Any, parts: Sequence[Buffer], size_min: int = EAGER_SIZE_MIN) -> None:
    """Send ``parts`` in order behind all that ``transport`` was given before; at once from ``size_min`` bytes on."""
    if len(parts) > PARTS_MAX:
        parts = (b"".join(parts),)
    size = sum(map(len, parts))
    if size < size_min or not _sends_at_once(transport):
        transport.write(b"".join(parts))
        return
    try:
        sent = transport.socket.sendmsg(parts)
    except OSError:
        # A full socket, or a dead one: the transport knows what to do, and finds out itself.
        sent = 0
    if sent < size:
        transport.write(b"".join(parts)[sent:])


def _sends_at_once(transport: Any) -> bool:
    """Tell whether nothing stands between us and the socket: no bytes that wait, no TLS, no end under way."""
    return (
        isinstance(transport, tcp.Connection)
        and not transport.TLS
        and not transport._tempDataLen
        and not transport.dataBuffer
        and not transport.disconnecting
        and bool(transport.connected)
    )
