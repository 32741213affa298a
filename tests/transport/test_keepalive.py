"""bookkeeper_tx.transport.keepalive: the system is asked to look for peers that vanish."""

import socket

import pytest

from bookkeeper_tx.transport.keepalive import OF_CLIENTS, KeepAlive


@pytest.mark.parametrize("settings", [KeepAlive(60, 10, 6), OF_CLIENTS])
def test_the_system_asks_a_silent_peer_as_often_as_configured(settings: KeepAlive) -> None:
    with socket.socket() as handle:
        settings.switch_on(handle)
        assert handle.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        names = socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT
        found = [handle.getsockopt(socket.IPPROTO_TCP, name) for name in names]
    assert found == [settings.idle_s, settings.interval_s, settings.count]
