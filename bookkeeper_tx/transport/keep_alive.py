"""Keep-alive of TCP: it ends an idle connection whose other side is gone, and keeps routers from forgetting it."""

import socket
from typing import Any

IDLE_S = 60
"""Silence before the first probe; routers that translate addresses forget a connection after a few minutes."""

INTERVAL_S = 15
"""Time between probes."""

PROBES_MAX = 4
"""Probes without an answer that end the connection."""


def keep_alive(transport: Any) -> None:
    """Switch keep-alive on for a connected TCP transport, before TLS; with our times where the system takes them."""
    transport.setTcpKeepAlive(True)
    for option, value in (("TCP_KEEPIDLE", IDLE_S), ("TCP_KEEPINTVL", INTERVAL_S), ("TCP_KEEPCNT", PROBES_MAX)):
        if hasattr(socket, option):
            transport.getHandle().setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
