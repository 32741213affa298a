"""Sending bytes at once that would otherwise wait for the next turn of the reactor.

A Twisted transport copies its bytes twice, and sends them a turn of the reactor later.  If nothing waits before it, a
reply of many kilobytes is better handed to the socket as it is: for batches of 1 KiB entries that halves the CPU time
of a bookie.  Small ones that others may follow are left to the transport, which sends all those of a turn in one system
call.  Who has all bytes of a turn together saves the transport's two calls to the poller, and a turn of the reactor.
"""

import contextlib
import fcntl
import sys
import termios
from collections.abc import Sequence
from typing import Any

from twisted.internet import tcp

from bookkeeper_tx.protocol.bookie.requests import Buffer

EAGER_SIZE_MIN = 4096
"""Fewer bytes than this cost less when they are sent together with the replies that follow."""

PARTS_MAX = 16
"""More parts than this are joined: a vector of many small ones costs more than a copy."""


def send(transport: Any, parts: Sequence[Buffer], size_min: int = EAGER_SIZE_MIN) -> int:
    """Send ``parts`` in order, after all bytes that ``transport`` has; at once from ``size_min`` bytes on.

    Returns how many bytes they are.
    """
    if len(parts) > PARTS_MAX:
        parts = (b"".join(parts),)
    size = sum(map(len, parts))
    if size < size_min or not _sends_at_once(transport):
        transport.write(b"".join(parts))
        return size
    try:
        sent = transport.socket.sendmsg(parts)
    except OSError:
        # The socket is full or dead: the transport takes the bytes, and finds out itself.
        sent = 0
    if sent < size:
        transport.write(b"".join(parts)[sent:])
    return size


def unsent_bytes(transport: Any) -> int:
    """Return how many bytes ``transport`` has that the socket has not taken."""
    if not isinstance(transport, tcp.Connection):
        return 0
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen


def untaken_bytes(transport: Any) -> int:
    """Return how many bytes the peer's system has not taken, those in the socket included if ours tells."""
    queued = bytes(4)
    if isinstance(transport, tcp.Connection):
        with contextlib.suppress(OSError, ValueError):
            queued = fcntl.ioctl(transport.fileno(), termios.TIOCOUTQ, queued)
    return unsent_bytes(transport) + int.from_bytes(queued, sys.byteorder)


def _sends_at_once(transport: Any) -> bool:
    """Tell whether we may write to the socket directly: no bytes wait, there is no TLS, no close is under way."""
    return (
        isinstance(transport, tcp.Connection)
        and not transport.TLS
        and not transport._tempDataLen
        and not transport.dataBuffer
        and not transport.disconnecting
        and bool(transport.connected)
    )
