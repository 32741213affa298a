"""The words that a client sends along for the bookie's log (docs/protocol/v3.md, request context)."""

from twisted.logger import Logger

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.protocol.bookie.requests import Replied, Request
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

log = Logger()


def logged(connection: Connection, context: str) -> Replied:
    """Return what logs ``context`` when the bookie fails a request of ``connection``.

    A request that the client itself got wrong is not logged, or clients could fill the log.
    """

    def replied(request: Request, status: Status, size: int) -> None:
        if status is statuses.EIO:
            log.error(
                "a request of {connection} has failed; its context: {context!r}",
                connection=connection,
                context=context,
            )

    return replied
