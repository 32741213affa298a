"""kazoo's connections inside TLS.

kazoo can speak TLS by itself, but trusts the authorities of the operating system too, shows no reason when a handshake
fails, and waits for the network while what it waits for has been deciphered already.
"""

import errno
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.zookeeper.connections import Connections
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.tls_reasons import reason_of

_NO_REFUSALS = (
    ssl.SSLEOFError,
    ssl.SSLSyscallError,
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
    ssl.SSLZeroReturnError,
)
"""Errors of TLS that say nothing about certificates: a connection broke, or is to be asked again."""

Refused = Callable[[str], None]
"""Is told, on kazoo's thread, why a handshake failed."""


class TlsConnections(Connections):
    """kazoo's threads and sockets, the latter inside TLS."""

    def __init__(
        self, tls: TlsConfig, refused: Refused, trying: Callable[[Any], None], died: Callable[[Exception], None]
    ) -> None:
        super().__init__(trying, died)
        self._tls = tls
        self._refused = refused

    def create_connection(self, address: Any, hostname: str | None = None, timeout: Any = None, **_: Any) -> Any:
        """Connect, with the files as they are now; any failure is one of the connection to kazoo, which tries again."""
        plain: socket.socket = super().create_connection(address, timeout=timeout)
        try:
            context = client_context(self._tls)
            context.sslsocket_class = _Secured
            secured = context.wrap_socket(plain, server_hostname=hostname)
        except (OSError, InvalidConfig) as error:
            plain.close()
            self._look_at(error)
            raise ConnectionAbortedError(errno.ECONNABORTED, str(error)) from error
        assert isinstance(secured, _Secured)
        secured.failed = self._look_at
        return secured

    def select(self, read: Any, *more: Any, **named: Any) -> Any:
        """Wait, but not for sockets that have deciphered bytes: their network may stay silent."""
        pending = [each for each in read if isinstance(each, _Secured) and each.pending()]
        return (pending, [], []) if pending else super().select(read, *more, **named)

    def _look_at(self, error: BaseException) -> None:
        if isinstance(error, InvalidConfig):
            self._refused(str(error))
        elif isinstance(error, ssl.SSLError) and not isinstance(error, _NO_REFUSALS):
            self._refused(reason_of(error))


class _Secured(ssl.SSLSocket):
    """Tells of errors after the handshake, too: there TLS 1.3 has the server's verdict on our certificate."""

    failed: Callable[[BaseException], None] = partial(lambda error: None)

    def recv(self, *arguments: Any) -> bytes:
        try:
            return super().recv(*arguments)
        except ssl.SSLError as error:
            self.failed(error)
            raise
