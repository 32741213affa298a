"""Keep-alive of TCP: a peer that vanishes without a word is noticed, and its connection ends."""

import socket
from typing import Any

from attrs import frozen


@frozen
class KeepAlive:
    """When the system asks a silent peer whether it is there."""

    idle_s: int
    """Seconds of silence before it asks."""
    interval_s: int
    """Seconds before it asks again."""
    count: int
    """How often it asks in vain before the connection ends."""

    def switch_on(self, handle: Any) -> None:
        """Switch it on for a socket; a system that lacks one of the settings uses its own."""
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        settings = {"TCP_KEEPIDLE": self.idle_s, "TCP_KEEPINTVL": self.interval_s, "TCP_KEEPCNT": self.count}
        for name, value in settings.items():
            if hasattr(socket, name):
                handle.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


OF_CLIENTS = KeepAlive(idle_s=60, interval_s=15, count=4)
"""Routers that translate addresses forget a connection after a few minutes of silence."""
