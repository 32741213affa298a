"""TLS of connections without a reactor, by Python's own ``ssl``: sessions that do no IO.

Configuration and refusals are as in ``transport/tls.py``, which Twisted needs (docs/protocol/tls.md).
"""

import ssl
from typing import Any

from bookkeeper_tx.errors import TlsFailed
from bookkeeper_tx.security.tls_reasons import reason_of

RECORD_SIZE = 16 * 1024
"""Bytes in clear that a record of TLS holds at most."""

_WRONG_HOST = frozenset({62, 64})
"""OpenSSL's numbers for a certificate of another host, and of another address."""


class TlsSession:
    """A client's side of one TLS session: turns records into the bytes in them, and bytes into records."""

    def __init__(self, context: ssl.SSLContext, host: str, bookie: str) -> None:
        """``host`` is the name or address that the bookie has registered; errors call the bookie ``bookie``."""
        self._host = host
        self._bookie = bookie
        self._arriving, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            self._tls = context.wrap_bio(self._arriving, self._leaving, server_hostname=host)
        except ValueError as error:
            raise TlsFailed(f"no TLS with bookie {bookie}: {host!r} is no name of a host: {error}") from error
        self.ended = False
        """Whether the bookie has sent TLS's close_notify: nothing more comes."""

    def shake_hands(self, data: bytes = b"") -> bool:
        """Take the bookie's bytes of the handshake; return whether it is over.

        Over or not, the bytes of :meth:`leaving` are to be sent then.  Raises TlsFailed; they are to be sent all the
        same, since they give the bookie the reason.
        """
        self._arriving.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise self._failed(error) from error
        return True

    def leaving(self) -> bytes:
        """Return, once, the records that are to be sent."""
        return self._leaving.read()

    @property
    def certificate(self) -> bytes | None:
        """The bookie's certificate (DER)."""
        return self._tls.getpeercert(binary_form=True)

    def seal(self, data: bytes | memoryview) -> bytes:
        """Return the records that are to be sent: those still unsent, then those of ``data``."""
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left) :]
        return self._leaving.read()

    def open(self, data: bytes) -> bytes:
        """Return the bytes in the records that ``data`` completes.  Raises TlsFailed."""
        self._arriving.write(data)
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(RECORD_SIZE):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise self._failed(error) from error
        return b"".join(pieces)

    def _failed(self, error: Any) -> TlsFailed:
        if getattr(error, "verify_code", None) in _WRONG_HOST:
            return TlsFailed(
                f"the certificate of bookie {self._bookie} is not for {self._host}, the host it has registered"
            )
        return TlsFailed(f"TLS with bookie {self._bookie} failed: {reason_of(error)}")
