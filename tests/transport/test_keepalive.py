"""bookkeeper_tx.transport.keepalive: the system is asked to look for clients that vanish."""

import socket
from typing import Any

from bookkeeper_tx.transport.keepalive import KeepAlive


class Transport:
    """Remembers the settings."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def setTcpKeepAlive(self, enabled: bool) -> None:
        self.asked.append(enabled)

    def getHandle(self) -> "Transport":
        return self

    def setsockopt(self, *option: int) -> None:
        self.asked.append(option)


def test_the_system_asks_a_silent_client_as_often_as_configured() -> None:
    transport = Transport()
    KeepAlive(60, 10, 6).switch_on(transport)
    assert transport.asked == [
        True,
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
    ]
