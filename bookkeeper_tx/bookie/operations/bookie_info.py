"""The disk space of the bookie (docs/protocol/bookie-info.md)."""

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.protocol.bookie.requests import BookieInfoRequest
from protocol_specs.wire import status as statuses

log = Logger()


class BookieInfo:
    """Serves the size of the file system that holds the ledgers."""

    def __init__(self, disk: Disk, ledger_directory: str) -> None:
        self._disk = disk
        self._directory = ledger_directory

    def serve(self, request: BookieInfoRequest, connection: Connection) -> None:
        status, total, free = statuses.EOK, 0, 0
        try:
            total, free = self._disk.total_bytes(self._directory), self._disk.free_bytes(self._directory)
        except OSError as error:
            log.error("cannot tell the space of {directory}: {error}", directory=self._directory, error=error)
            status = statuses.EIO
        connection.reply(request, status, [request.reply(status, total, free)])
