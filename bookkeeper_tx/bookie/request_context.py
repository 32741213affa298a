"""The words that a client sends along for the bookie's log (docs/protocol/v3.md, request context)."""

from collections.abc import Sequence
from typing import Any

from twisted.logger import Logger

from bookkeeper_tx.protocol import v3_replies
from bookkeeper_tx.protocol.messages import Buffer
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from protocol_specs.wire import status as statuses

log = Logger()


class ContextConnection:
    """A client's connection for one request with a context: logs the context when the bookie fails it.

    What is the client's own doing is not logged, or clients could fill the log.  In all else it is the connection.
    """

    def __init__(self, connection: BookieProtocol, context: str) -> None:
        self._connection = connection
        self._context = context

    def send(self, reply: Sequence[Buffer]) -> None:
        """Send a reply, and log that it says EIO."""
        if v3_replies.status_in(b"".join(reply)) == statuses.EIO.v3:
            log.error(
                "a request of {connection} has failed; its context: {context!r}",
                connection=self._connection,
                context=self._context,
            )
        self._connection.send(reply)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    # Bounds on a client count by its connection.
    def __eq__(self, other: object) -> bool:
        return bool(self._connection == (other._connection if isinstance(other, ContextConnection) else other))

    def __hash__(self) -> int:
        return hash(self._connection)
