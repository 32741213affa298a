"""A bookie's operations over real storage and journal, from bytes to bytes, without a connection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.operations.dispatch import Dispatch
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered
from compat_tests.wire.replies import parse
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status
from tests.bookie.seams import Client
from tests.bookie.workers import InlineWorker, SteppedWorker


def config_of(directory: Path, **values: Any) -> BookieConfig:
    fields = {"metadata_uri": "sqlite:///x", "journal_directory": str(directory), "ledger_directory": str(directory)}
    return BookieConfig(**fields, **values)


class CheckedClient(Client):
    """A client's connection that looks into each reply for the status that it is said to have."""

    def reply(self, request: Any, status: Status, reply: Sequence[Any]) -> None:
        found = statuses_in(b"".join(bytes(part) for part in reply))
        assert status is next((each for each in found if each is not statuses.EOK), statuses.EOK)
        super().reply(request, status, reply)


def statuses_in(replies: bytes) -> list[Status]:
    """Return the status of each reply."""
    found: list[Status] = []
    at = 0
    while at < len(replies):
        end = at + 4 + int.from_bytes(replies[at : at + 4], "big")
        status = parse(replies[at + 4 : end]).status
        assert status is not None
        found.append(status)
        at = end
    return found


class Bookie:
    """Real storage and journal on real files, the journal's thread moved by hand."""

    def __init__(
        self, directory: Path, disk: Disk | None = None, read_worker: SteppedWorker | None = None, **settings: Any
    ) -> None:
        disk, config, inline = disk or Disk(), config_of(directory, **settings), InlineWorker()
        reading = read_worker or inline
        self.journal_worker = SteppedWorker()
        self.storage = storage = LedgerStorage(
            disk, LedgerDisks(disk, [str(directory)], config), config, inline, reading
        )
        storage.start()
        StorageSink(storage).finish()
        self.journal = Journal(disk, str(directory), config, threads=self.journal_worker, on_fatal=pytest.fail)
        self.journal.start()
        self.journal_worker.step()
        self.clock = Clock()
        self.dispatch = Dispatch(config, disk, storage, self.journal, Availability(), self.clock, reading)
        self.connection, self.client = ServerConnection(), CheckedClient()

    def receive(self, data: bytes) -> bytes:
        client: Any = self.client
        for request in self.connection.receive(data):
            if isinstance(request, Answered):
                self.client.replies.append(request.reply)
            else:
                self.dispatch.serve(request, client)
        return b"".join(bytes(part) for part in self.client.take())

    def sync(self) -> bytes:
        self.journal_worker.step()
        return self.receive(b"")
