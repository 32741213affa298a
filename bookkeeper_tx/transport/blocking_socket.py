"""What a channel without a reactor sends and receives on: a socket that never waits, or the same with TLS on it."""

import socket
from collections.abc import Callable
from typing import Protocol

from bookkeeper_tx.transport.blocking_tls import TlsSession

RECEIVE_SIZE = 64 * 1024

SEALED_SIZE = 256 * 1024
"""Bytes in clear that are sealed at once; so much of what a bookie does not take is held twice."""


class Stream(Protocol):
    """The methods of a socket that are called, with the meaning that they have for one that never waits."""

    def send(self, data: bytes | memoryview, /) -> int:
        """Send some of ``data``; return how much.

        Raises BlockingIOError while nothing is taken; then the next call must begin with the same bytes.
        """

    def recv(self, size: int, /) -> bytes:
        """Return what has come, nothing at the end; raises BlockingIOError while there is nothing."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


def hear_reason(sock: socket.socket, session: TlsSession) -> None:
    """Raise TlsFailed if a connection on which nothing can be sent any more was ended with a reason.

    In TLS 1.3 a bookie refuses our certificate only behind the handshake; a Java bookie says so, and resets the
    connection, while our first request may be on its way.
    """
    try:
        while data := sock.recv(RECEIVE_SIZE):
            session.open(data)
    except OSError:
        return


class TlsSocket:
    """A socket inside TLS, whose handshake is over.

    ``look_at_first`` is shown what comes first inside TLS, and may raise.
    """

    def __init__(
        self, sock: socket.socket, session: TlsSession, look_at_first: Callable[[bytes], None] | None = None
    ) -> None:
        self._socket = sock
        self._session = session
        self._look_at_first = look_at_first
        self._sealed = memoryview(b"")
        self._sealed_from = 0
        """Bytes in clear that are in ``_sealed``, which cannot be sealed once more."""

    def send(self, data: bytes | memoryview, /) -> int:
        """Send some of ``data``.  Raises TlsFailed, too, on a connection whose end has the reason in front of it."""
        if not self._sealed_from:
            part = memoryview(data)[:SEALED_SIZE]
            self._sealed, self._sealed_from = memoryview(self._session.seal(part)), len(part)
        try:
            while self._sealed:
                self._sealed = self._sealed[self._socket.send(self._sealed) :]
        except BlockingIOError:
            raise
        except OSError:
            hear_reason(self._socket, self._session)
            raise
        sent, self._sealed_from = self._sealed_from, 0
        return sent

    def recv(self, size: int, /) -> bytes:
        """Return what the records hold that have come: about ``size`` bytes.  Raises TlsFailed, too."""
        if self._session.ended:
            return b""
        data = self._socket.recv(size)
        # At the end as well: something may have come in one piece with the handshake.
        opened = self._session.open(data)
        if data and not opened and not self._session.ended:
            raise BlockingIOError
        if opened and self._look_at_first is not None:
            self._look_at_first(opened)
            self._look_at_first = None
        return opened

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection.  TLS says no goodbye: a bookie takes the end of the connection for one."""
        self._socket.close()
