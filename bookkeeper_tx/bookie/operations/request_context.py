"""The words that a client sends along for the bookie's log (docs/protocol/v3.md, request context)."""

from collections.abc import Sequence

from twisted.logger import Logger

from bookkeeper_tx.bookie.operations.observed_connection import ObservedConnection
from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.messages import Buffer
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from protocol_specs.wire import status as statuses

log = Logger()


class ContextConnection(ObservedConnection):
    """A client's connection for one request with a context: logs the context when the bookie fails it.

    What is the client's own doing is not logged, or clients could fill the log.
    """

    __slots__ = ("_context",)

    def __init__(self, connection: BookieProtocol, context: str) -> None:
        super().__init__(connection)
        self._context = context

    def look(self, reply: Sequence[Buffer]) -> None:
        """Log a reply that says EIO."""
        if v3_replies.status_in(b"".join(reply)) == statuses.EIO.v3:
            log.error(
                "a request of {connection} has failed; its context: {context!r}",
                connection=self._connection,
                context=self._context,
            )
