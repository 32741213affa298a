"""Room in memory for what requests bring there: who finds none waits for its turn."""

from collections import deque

from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.bookie.operations.connection import Connection


class Room:
    """Room for ``bytes_max``, or for more of one request alone."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0
        """Bytes in use."""
        self._waiting: deque[tuple[int, Connection, Deferred[None]]] = deque()
        self._is_giving = False

    def take(self, size: int, connection: Connection) -> Deferred[None]:
        """Fire when there is room for ``size`` bytes, after all who came before; :meth:`give_back` is called then.

        Does not fire if the client has gone meanwhile.
        """
        if not self._waiting and self._fits(size):
            self.bytes += size
            return succeed(None)
        # Clients that have gone would gather here while others come.
        self._waiting = deque(each for each in self._waiting if each[1].connected_to_client)
        taken: Deferred[None] = Deferred()
        self._waiting.append((size, connection, taken))
        return taken

    def give_back(self, size: int) -> None:
        self.bytes -= size
        if self._is_giving:
            return  # one call gives to all: each of them may give back at once
        self._is_giving = True
        while self._waiting and self._fits(self._waiting[0][0]):
            next_size, connection, taken = self._waiting.popleft()
            if connection.connected_to_client:
                self.bytes += next_size
                taken.callback(None)
        self._is_giving = False

    def _fits(self, size: int) -> bool:
        return not self.bytes or self.bytes + size <= self.bytes_max
