"""A client's connection on asyncio: the wire of a :class:`~bookkeeper_tx.transport.client_link.ClientLink`."""

import asyncio
import ssl
from typing import Any

from bookkeeper_tx.errors import TlsFailed
from bookkeeper_tx.transport.blocking_tls import TlsSession
from bookkeeper_tx.transport.client_link import ClientLink
from bookkeeper_tx.transport.keepalive import OF_CLIENTS


class AioWire(asyncio.Protocol):
    """Carries the bytes of ``link``, inside TLS once that has begun; ``context`` is for TLS."""

    _transport: asyncio.Transport

    def __init__(self, link: ClientLink, context: ssl.SSLContext | None = None) -> None:
        self._link = link
        self._context = context
        self._session: TlsSession | None = None
        self._shaking_hands = False
        self._address = ""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        handle = transport.get_extra_info("socket")
        if handle is not None:
            OF_CLIENTS.switch_on(handle)
        peer = transport.get_extra_info("peername") or ("", "")
        self._address = f"{peer[0]}:{peer[1]}"
        self._link.connected(self)

    def data_received(self, data: bytes) -> None:
        if self._session is None:
            self._link.received(data)
            return
        try:
            opened = self._opened(self._session, data)
        except TlsFailed as error:
            self._transport.write(self._session.leaving())  # the bookie learns why
            self._link.drop(error)
            return
        if opened:
            self._link.received(opened)

    def connection_lost(self, error: Exception | None) -> None:
        self._link.lost("Connection was closed cleanly." if error is None else f"Connection was lost: {error}.")

    def pause_writing(self) -> None:
        self._link.takes_nothing()

    def resume_writing(self) -> None:
        self._link.takes_again()

    # The wire --------------------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        return self._address

    def send(self, data: bytes) -> None:
        self._transport.write(data if self._session is None else self._session.seal(data))

    def start_tls(self, host: str) -> None:
        assert self._context is not None
        try:
            self._session = TlsSession(self._context, host, self._address)
        except TlsFailed as error:
            self._link.drop(error)
            return
        self._shaking_hands = True
        self._shake_hands(self._session, b"")

    def abort(self) -> None:
        self._transport.abort()

    # TLS -------------------------------------------------------------------------------------------------------------

    def _opened(self, session: TlsSession, data: bytes) -> bytes:
        """Return the bytes in the records that ``data`` completes.  Raises TlsFailed."""
        if self._shaking_hands:
            self._shake_hands(session, data)
            if self._shaking_hands:
                return b""
            data = b""
        opened = session.open(data)
        if session.ended:
            self._transport.close()
        return opened

    def _shake_hands(self, session: TlsSession, data: bytes) -> None:
        over = session.shake_hands(data)
        self._transport.write(session.leaving())
        if over:
            self._shaking_hands = False
            self._link.secured(session.certificate)
