"""A client's connection for one request, with somebody who looks at the reply."""

from collections.abc import Sequence
from typing import Any

from bookkeeper_tx.protocol.bookie.messages import Buffer
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol


class ObservedConnection:
    """Shows each reply to :meth:`look` and sends it; in all else it is the connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: BookieProtocol) -> None:
        self._connection = connection

    def look(self, reply: Sequence[Buffer]) -> None:
        """Take notice of a reply, in parts, that is about to be sent."""
        raise NotImplementedError

    def send(self, reply: Sequence[Buffer]) -> None:
        self.look(reply)
        self._connection.send(reply)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    # Bounds on a client count by its connection.
    def __eq__(self, other: object) -> bool:
        return bool(self._connection == (other._connection if isinstance(other, ObservedConnection) else other))

    def __hash__(self) -> int:
        return hash(self._connection)
