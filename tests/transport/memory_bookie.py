"""A bookie in memory, and the client's end of the connection to it in place of a socket."""

import ssl
from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import NoSuchEntry, status_of
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken, StartTls
from bookkeeper_tx.security.authentication import BookieAuthProviderFactory, ConnectionPeer
from compat_tests.client.tls_side import TlsSide
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation

ENTRY = b"entry" * 10


def not_authenticated_yet() -> bytes:
    """The bytes of Java's bookie inside TLS for a client that has not authenticated when the TLS handshake ends."""
    header = v3_pb2.PacketHeader(version=3, operation=V3Operation.START_TLS, txn_id=0)  # type: ignore[arg-type]
    body = v3_pb2.Response(header=header, status=501).SerializeToString()  # type: ignore[arg-type]
    return len(body).to_bytes(4, "big") + body


class MemoryBookie:
    """Answers every request at once; the entries 0 to 9 of any ledger are ``ENTRY``.  It does not keep added entries.

    It is the socket as well: ``room`` is how many bytes it takes until :attr:`taken` is emptied, ``piece`` how many it
    gives at a time.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        auth: BookieAuthProviderFactory | None = None,
        *,
        like_java: bool = False,
        piece: int = 1 << 20,
    ) -> None:
        self._connection = ServerConnection()
        self._context, self._like_java = tls, like_java
        self._authenticates = auth is not None
        self._side: TlsSide | None = None
        self._leaving = bytearray()
        self._piece = piece
        self._open = True
        self.room: int | None = None
        self.timeouts: list[float | None] = []
        self.hung_up = False
        self.resets = False
        """Whether the client's sends fail once the bookie has hung up."""
        self.silent = False
        self.wire = bytearray()
        """All bytes that the client has sent."""
        self.requests: list[Any] = []
        self.peer = ConnectionPeer("client:1")
        if tls is not None:
            self._connection.offer_tls()
        if auth is not None:
            self._connection.require_authentication(auth, self.peer, self._handle)

    # The bookie ------------------------------------------------------------------------------------------------------

    def say(self, data: bytes) -> None:
        """Send ``data``, inside TLS if that is up."""
        self._leaving += data if self._side is None or not self._side.up else self._side.seal(data)

    def say_in_clear(self, data: bytes) -> None:
        self._leaving += data

    def hang_up(self, *, goodbye: bool = False) -> None:
        if goodbye and self._side is not None:
            self._leaving += self._side.goodbye()
        self.hung_up = True

    def _take(self, data: bytes) -> None:
        self.wire += data
        if self._side is None:
            self._serve(data)
            return
        was_up = self._side.up
        try:
            inside = self._side.receive(data)
        except ssl.SSLError:
            self._leaving += self._side.wire()
            self.hung_up = True
            return
        self._leaving += self._side.wire()
        if self._side.up and not was_up:
            self.peer.certificate = self._side.certificate
            if self._like_java and self._authenticates:
                self.say(not_authenticated_yet())
        if inside:
            self._serve(inside)

    def _serve(self, data: bytes) -> None:
        for request in self._connection.receive(data):
            self._handle(request)

    def _handle(self, request: Any) -> None:
        if self.silent:
            return
        if isinstance(request, Answered):
            self.say(request.reply)
        elif isinstance(request, StartTls):
            self.say_in_clear(request.accepted)
            self._connection.secured()
            assert self._context is not None
            self._side = TlsSide(self._context)
        elif isinstance(request, ConnectionBroken):
            self.hung_up = self.hung_up or not self._like_java
        elif hasattr(request, "entries"):
            self.requests.append(request)
            self.say(request.replies(statuses.EOK))
        else:
            self.requests.append(request)
            missing = status_of(NoSuchEntry())
            answers = [ENTRY if 0 <= entry_id < 10 else missing for entry_id in request.entry_ids]
            for reply in request.replies(answers, -1):
                self.say(bytes(reply))

    # The socket ------------------------------------------------------------------------------------------------------

    def setsockopt(self, *_: Any) -> None: ...

    def settimeout(self, timeout_s: float | None) -> None:
        assert timeout_s != 0
        self.timeouts.append(timeout_s)

    def setblocking(self, blocking: bool) -> None:
        assert not blocking
        self.timeouts.append(0)

    @property
    def waits(self) -> bool:
        return bool(self.timeouts) and self.timeouts[-1] != 0

    def sendall(self, data: bytes) -> None:
        assert self.waits
        if self.resets and self.hung_up:
            raise ConnectionResetError("reset")
        self._take(bytes(data))

    def send(self, data: bytes | memoryview) -> int:
        assert not self.waits
        if self.resets and self.hung_up:
            raise ConnectionResetError("reset")
        room = len(data) if self.room is None else min(self.room, len(data))
        if not room:
            raise BlockingIOError
        if self.room is not None:
            self.room -= room
        self._take(bytes(data[:room]))
        return room

    def recv(self, size: int) -> bytes:
        if self._leaving:
            count = min(size, self._piece)
            data = bytes(self._leaving[:count])
            del self._leaving[:count]
            return data
        if self.hung_up:
            return b""
        raise TimeoutError("timed out") if self.waits else BlockingIOError

    @property
    def readable(self) -> bool:
        return bool(self._leaving) or self.hung_up

    @property
    def writable(self) -> bool:
        return self.room is None or self.room > 0

    def fileno(self) -> int:
        return 7 if self._open else -1

    def close(self) -> None:
        self._open = False


class MemorySelector:
    """Takes the place of ``selectors.DefaultSelector`` for one :class:`MemoryBookie`."""

    def __init__(self, bookie: Callable[[], MemoryBookie]) -> None:
        self._bookie = bookie
        self._events = 0

    def register(self, stream: Any, events: int) -> None:
        assert stream.fileno() == 7
        self._events = events

    modify = register

    def select(self, timeout_s: float) -> list[tuple[None, int]]:
        bookie = self._bookie()
        mask = self._events & ((1 if bookie.readable else 0) | (2 if bookie.writable else 0))
        return [(None, mask)] if mask else []

    def close(self) -> None: ...
