"""A client that speaks TLS, in memory."""

import ssl
import threading
from pathlib import Path

from compat_tests.targets.certificates import Secrets
from compat_tests.wire.tls import client_context


class TlsPeer:
    """Bytes of a bookie go in; bytes of the client come out.

    As a socket it first sends ``clear``, then carries out the handshake, then sends ``inside`` in one record, and ends.
    """

    def __init__(self, secrets: Secrets, clear: bytes = b"", inside: bytes = b"", shows: bool = False) -> None:
        self.arriving, self.leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = client_context(secrets.client_files, show_certificate=shows)
        self.tls = context.wrap_bio(self.arriving, self.leaving)
        self.clear, self.inside = clear, inside
        self.heard_in_clear = b""
        self.wire = b""
        """All bytes that came after the agreement to TLS."""
        self.ended = threading.Event()
        self._begun = self._up = False

    def answer(self) -> bytes:
        """The next bytes of the client; none if the handshake is done and all are sent."""
        self._begun = True
        try:
            if not self._up:
                self.tls.do_handshake()
                self._up = True
            if self.inside:
                self.tls.write(self.inside)
                self.inside = b""
        except ssl.SSLWantReadError:
            pass
        return self.leaving.read()

    def heard(self) -> bytes:
        """The bytes that came inside TLS."""
        found = b""
        try:
            while data := self.tls.read(1 << 16):
                found += data
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return found

    # As a socket -----------------------------------------------------------------------------------------------------

    def recv(self, size: int) -> bytes:
        data, self.clear = self.clear, b""
        data = data or self.answer()
        if not data:
            self.ended.set()
        return data

    def sendall(self, data: bytes) -> None:
        if not self._begun:
            self.heard_in_clear += data
            return
        self.wire += data
        self.arriving.write(data)

    def setsockopt(self, *options: object) -> None:
        pass

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        pass


def records(wire: bytes) -> list[int]:
    """The sizes of the records of TLS that bytes consist of."""
    found, position = [], 0
    while position < len(wire):
        size = int.from_bytes(wire[position + 3 : position + 5], "big")
        found.append(size)
        position += 5 + size
    return found


def secrets_in(folder: Path, name: str) -> Secrets:
    """An authority of its own."""
    (folder / name).mkdir()
    return Secrets.make(folder / name)
