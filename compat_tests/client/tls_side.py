"""The bookie's side of TLS on one connection: bytes of the wire in, bytes inside out, and back.  No socket is in it."""

from __future__ import annotations

import ssl

_CHUNK = 1 << 18


class TlsSide:
    """Not thread-safe: bytes that it gives for the wire have to be sent in the order in which it made them."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._arriving, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arriving, self._leaving, server_side=True)
        self.up = False
        """Whether the handshake is done."""
        self.ended = False
        """Whether the peer has announced the end of its bytes."""

    def receive(self, data: bytes) -> bytes:
        """Take bytes of the wire and give those inside, perhaps none; :meth:`wire` has to be sent next.

        Raises ssl.SSLError when the handshake fails, and for bytes that are no TLS.
        """
        self._arriving.write(data)
        try:
            if not self.up:
                self._tls.do_handshake()
                self.up = True
            return self._inside()
        except ssl.SSLWantReadError:
            return b""

    def seal(self, data: bytes) -> bytes:
        """The bytes of the wire for bytes inside: one record, unless they are more than a record can hold."""
        self._tls.write(data)
        return self.wire()

    def goodbye(self) -> bytes:
        """The bytes of the close_notify; none before the handshake is done."""
        if self.up:
            try:
                self._tls.unwrap()
            except ssl.SSLError:  # the peer has not sent its own yet, and need not
                pass
        return self.wire()

    def wire(self) -> bytes:
        """The bytes that have to be sent now."""
        return self._leaving.read()

    @property
    def about(self) -> str:
        """Version and cipher."""
        return f"{self._tls.version()}, {(self._tls.cipher() or ('',))[0]}"

    @property
    def certificate(self) -> bytes | None:
        """The certificate (DER) that the client has shown, if any."""
        return self._tls.getpeercert(binary_form=True)

    def _inside(self) -> bytes:
        found = bytearray()
        while not self.ended:
            try:
                data = self._tls.read(_CHUNK)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                data = b""
            self.ended = not data
            found += data
        return bytes(found)
