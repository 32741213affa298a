"""A connection whose other side is a list."""

import errno
import os


class FakeSocket:
    """Gives the pieces that it was made with, one by one; then silence, or its end."""

    def __init__(self, *pieces: bytes | type[OSError] | str) -> None:
        self.pieces = list(pieces)
        """Bytes, an error to raise, or ``"end"``; silence once there are no more."""
        self.sent = b""
        self.closed = False
        self.broken = False

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def sendall(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self.sent += data

    def recv(self, size: int) -> bytes:
        if not self.pieces:
            raise TimeoutError
        piece = self.pieces.pop(0)
        if piece == "end":
            return b""
        if isinstance(piece, type):
            raise piece
        assert isinstance(piece, bytes)
        return piece

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        self.closed = True
