"""One connection to a bookie on which entries are added without waiting for their answers; V2, no Twisted."""

from collections import deque

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookieUnavailable
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.protocol.client.v2_add_runs import AddReplies, AddReplyReader
from bookkeeper_tx.transport.blocking_connect import connect_to_bookie
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE


class AddChannel:
    """Sends frames and takes replies as far as the socket allows, never waiting; a selector says when to go on.

    Not thread-safe, and not to be carried over a fork.  After an error the caller closes it.
    """

    def __init__(self, bookie_id: BookieId, address: tuple[str, int], config: ClientConfig) -> None:
        """Connect, with TLS and authentication if ``config`` asks for them, within ``config.connect_timeout_s``.

        Raises CannotConnect, TlsFailed, AuthenticationFailed, and InvalidConfig for a file that cannot be used.
        """
        self.bookie_id = bookie_id
        host, port = address
        self._socket = connect_to_bookie(host, port, config, WireProtocol.V2, f"{bookie_id} at {host}:{port}")
        self._replies = AddReplyReader(config.frame_size_max)
        self._unsent: deque[memoryview] = deque()

    @property
    def unsent(self) -> bool:
        """Whether frames wait for the socket to take them."""
        return bool(self._unsent)

    @property
    def closed(self) -> bool:
        return self._socket.fileno() < 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def queue(self, frames: bytes | memoryview) -> None:
        """Queue ``frames`` for :meth:`send`."""
        self._unsent.append(memoryview(frames))

    def send(self) -> None:
        """Send as much as the socket takes; raises BookieUnavailable, or TlsFailed, when the connection is lost."""
        try:
            while self._unsent:
                frames = self._unsent[0]
                count = self._socket.send(frames)
                if count < len(frames):
                    self._unsent[0] = frames[count:]
                    return
                self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(error) from error

    def receive(self) -> list[AddReplies]:
        """Return the answers that have come; raises BookieUnavailable, ProtocolViolation, TlsFailed or
        AuthenticationFailed (a bookie may ask for authentication only now).
        """
        try:
            data = self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return []
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise BookieUnavailable(f"bookie {self.bookie_id} closed the connection")
        return self._replies.receive(data)

    def close(self) -> None:
        """Close the connection; requests in flight are given up."""
        self._unsent.clear()
        self._socket.close()

    def _lost(self, error: OSError) -> BookieUnavailable:
        return BookieUnavailable(f"the connection to bookie {self.bookie_id} is lost: {error}")
