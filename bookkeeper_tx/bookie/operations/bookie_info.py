"""The disk space of the bookie (docs/protocol/bookie-info.md)."""

from collections.abc import Sequence
from typing import Final

from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.space import space_of
from bookkeeper_tx.protocol.bookie.v3_bookie_info import BookieInfoRequest
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

log = Logger()


WAITING_MAX: Final = 64
"""Requests of all clients that may wait for the disk; more are answered ETOOMANYREQUESTS."""


class BookieInfo:
    """Serves the size of the file systems that hold the ledgers."""

    def __init__(self, disk: Disk, ledger_directories: Sequence[str], worker: Threads) -> None:
        self._disk = disk
        self._directories = ledger_directories
        self._worker = worker
        self._waiting = 0

    def serve(self, request: BookieInfoRequest, connection: Connection) -> None:
        if self._waiting >= WAITING_MAX:
            _reply(request, connection, statuses.ETOOMANYREQUESTS)
            return
        self._waiting += 1
        space = self._worker.run(space_of, self._disk, self._directories)
        space.addCallbacks(lambda found: (statuses.EOK, *found), self._failed)
        space.addCallback(self._found, request, connection)
        space.addErrback(lambda failure: log.failure("the space of the disks could not be found out", failure))

    def _failed(self, failure: Failure) -> tuple[Status, int, int]:
        log.error("cannot tell the space of {directories}: {error}", directories=self._directories, error=failure.value)
        return statuses.EIO, 0, 0

    def _found(self, answer: tuple[Status, int, int], request: BookieInfoRequest, connection: Connection) -> None:
        self._waiting -= 1
        _reply(request, connection, *answer)


def _reply(request: BookieInfoRequest, connection: Connection, status: Status, total: int = 0, free: int = 0) -> None:
    connection.reply(request, status, [request.reply(status, total, free)])
