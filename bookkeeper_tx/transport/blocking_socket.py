"""The streams of a channel without a reactor: a socket that never waits, or the same with TLS on it."""

import socket
from collections.abc import Callable
from typing import Protocol

from bookkeeper_tx.transport.blocking_tls import TlsSession

HANDSHAKE_RECEIVE_SIZE = 64 * 1024
"""Bytes asked of the socket at once before requests are sent, and after nothing can be sent any more."""

SEALED_SIZE = 256 * 1024
"""Bytes in clear that are sealed at once; while a bookie does not take them, so many bytes are held twice."""


class Stream(Protocol):
    """The methods of a socket that a channel calls, with their meaning for a non-blocking one."""

    def send(self, data: bytes | memoryview, /) -> int:
        """Send some of ``data``; return how much.

        Raises BlockingIOError while nothing is taken; then the next call must begin with the same bytes.
        """

    def recv(self, size: int, /) -> bytes:
        """Return the bytes that have come, none at the end; raises BlockingIOError while there are none."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


def hear_reason(sock: socket.socket, session: TlsSession) -> None:
    """Raise TlsFailed if the bookie gave a reason before it ended a connection on which nothing can be sent any more.

    In TLS 1.3 a bookie refuses our certificate only after the handshake.  A Java bookie then sends the reason and
    resets the connection, while our first request may be on its way.
    """
    try:
        while data := sock.recv(HANDSHAKE_RECEIVE_SIZE):
            session.open(data)
    except OSError:
        return


class TlsSocket:
    """A socket inside TLS, whose handshake is over.

    ``look_at_first`` is called with the first bytes that come inside TLS, and may raise.
    """

    def __init__(
        self, sock: socket.socket, session: TlsSession, look_at_first: Callable[[bytes], None] | None = None
    ) -> None:
        self._socket = sock
        self._session = session
        self._look_at_first = look_at_first
        self._sealed = memoryview(b"")
        self._sealed_from = 0
        """How many bytes in clear are in ``_sealed``; these cannot be sealed once more."""

    def send(self, data: bytes | memoryview, /) -> int:
        """Send some of ``data``.  Raises TlsFailed, too, if the bookie gave a reason before it ended the connection."""
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
        """Return the bytes in the records that have come, about ``size``.  Raises TlsFailed, too."""
        if self._session.ended:
            return b""
        data = self._socket.recv(size)
        # At the end of the connection as well: bytes may have come in one piece with the handshake.
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
        """Close the connection, without TLS's close_notify: a bookie takes the end of the connection for it."""
        self._socket.close()
