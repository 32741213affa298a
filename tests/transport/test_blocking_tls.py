"""TLS by Python's own ``ssl``: files, sessions, and a socket inside TLS.  No sockets."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.errors import TlsFailed
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport import blocking_socket
from bookkeeper_tx.transport.blocking_socket import TlsSocket
from bookkeeper_tx.transport.blocking_tls import TlsSession
from compat_tests.client.tls_side import TlsSide
from compat_tests.wire.tls import bookie_context
from tests.certificates import Authority
from tests.sampling import examples


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(directory: Path) -> Authority:
    return Authority(directory)


@pytest.fixture(scope="module")
def trusting(authority: Authority) -> TlsConfig:
    return TlsConfig(trust_path=str(authority.path))


class NarrowSocket:
    """Takes and gives as many bytes at a time as its lists say, now and then none."""

    def __init__(self, takes: list[int], gives: list[int]) -> None:
        self._takes, self._gives = takes, gives
        self.taken = bytearray()
        self.held = bytearray()
        self._turn = 0

    def send(self, data: Any) -> int:
        self._turn += 1
        count = min(self._takes[self._turn % len(self._takes)], len(data))
        if not count:
            raise BlockingIOError
        self.taken += data[:count]
        return count

    def recv(self, size: int) -> bytes:
        self._turn += 1
        count = min(self._gives[self._turn % len(self._gives)], size)
        if not count or not self.held:
            raise BlockingIOError
        data = bytes(self.held[:count])
        del self.held[:count]
        return data


@pytest.fixture(scope="module")
def contexts(authority: Authority, trusting: TlsConfig) -> tuple[Any, Any]:
    identity = authority.issue("bookie")
    return client_context(trusting), bookie_context(identity.certificate_path, identity.key_path)


def secured(contexts: tuple[Any, Any]) -> tuple[TlsSession, TlsSide]:
    """Both ends after their handshake."""
    session, side = TlsSession(contexts[0], "localhost", "b:1"), TlsSide(contexts[1])
    over = session.shake_hands()
    while not (over and side.up):
        assert side.receive(session.leaving()) == b""
        over = over or session.shake_hands(side.wire())
    return session, side


counts = st.lists(st.integers(0, 700), min_size=1, max_size=6).filter(any)


@settings(max_examples=examples(40))
@given(takes=counts, gives=counts, sizes=st.lists(st.integers(1, 3000), max_size=12))
def test_bytes_arrive_once_and_in_order_whatever_a_socket_takes(
    contexts: tuple[Any, Any], takes: list[int], gives: list[int], sizes: list[int]
) -> None:
    session, side = secured(contexts)
    raw = NarrowSocket(takes, gives)
    stream = TlsSocket(raw, session)  # type: ignore[arg-type]
    data = bytes(index % 251 for index in range(sum(sizes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocking_socket, "SEALED_SIZE", 1000)
        left = memoryview(data)
        while left:
            try:
                left = left[stream.send(left) :]
            except BlockingIOError:
                pass
    assert side.receive(bytes(raw.taken)) == data
    start = 0
    for size in sizes:
        raw.held += side.seal(data[start : start + size])
        start += size
    opened = b""
    while raw.held:
        try:
            piece = stream.recv(1 << 16)
        except BlockingIOError:
            continue
        assert piece, "nothing would be the end"
        opened += piece
    assert opened == data


@given(st.binary(min_size=1, max_size=200))
def test_junk_is_tls_that_failed_or_not_whole_yet(contexts: tuple[Any, Any], junk: bytes) -> None:
    session, _ = secured(contexts)
    said = []
    for take in (session.open, TlsSession(contexts[0], "localhost", "b:1").shake_hands):
        try:
            assert not take(junk)
        except TlsFailed as error:
            said.append(str(error))
    assert all("bookie b:1" in each for each in said)
