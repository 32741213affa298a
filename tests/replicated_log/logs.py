"""Logs on puppets: clients of one cluster, each with its namespace."""

from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.replicated_log import DLSN, LogRecord, LogWriter, Namespace
from bookkeeper_tx.replicated_log.segment_list import SegmentList, parse
from tests.client.puppets import Cluster

LOG = "orders"
SMALL_CONFIG = ClientConfig(outstanding_adds_max=4)


class Logs:
    """A cluster with one log, of one bookie to each ledger unless told otherwise."""

    def __init__(self, ensemble_size: int = 1) -> None:
        self.cluster = Cluster()
        self.first = self.client()
        self.result(self.logs(self.first).create_log(LOG, ensemble_size, ensemble_size, ensemble_size))

    def client(self, config: ClientConfig | None = None) -> BookKeeper:
        return self.cluster.client(config)

    def logs(self, client: BookKeeper | None = None) -> Namespace:
        return Namespace(client or self.first)

    def result(self, deferred: Deferred[Any]) -> Any:
        return self.cluster.result(deferred)

    def open(self, client: BookKeeper | None = None, **options: Any) -> LogWriter:
        writer: LogWriter = self.result(self.logs(client).open_log_writer(LOG, **options))
        return writer

    def write(self, writer: LogWriter, *payloads: bytes) -> list[DLSN]:
        """Write records, and wait for them all."""
        return [self.result(each) for each in [writer.write(payload) for payload in payloads]]

    def read(self, start: DLSN | None = None) -> list[LogRecord]:
        """Return what a reader finds that does not follow."""
        return collected(self, start)

    @property
    def segments(self) -> SegmentList:
        """The newest part of the list, as it is stored."""
        (record,) = [data for path, (data, _) in self.cluster.state.records.items() if path[-1] == "list"]
        return parse(record, LOG)

    @property
    def noted(self) -> list[str]:
        """The notes of ledgers that are being made."""
        return [path[-1] for path in self.cluster.state.records if path[-1].startswith("made-")]

    @property
    def ledger_ids(self) -> list[int]:
        return [each.ledger_id for each in self.segments.segments]


def collected(logs: Logs, start: DLSN | None = None, client: BookKeeper | None = None) -> list[LogRecord]:
    """Read a log to its end, with a client of its own so that nothing is known before."""
    reader = Namespace(client or logs.client())

    async def read() -> list[LogRecord]:
        return [each async for each in reader.read(LOG, start)]

    found: list[LogRecord] = logs.result(Deferred.fromCoroutine(read()))
    return found


def payloads(records: list[LogRecord]) -> list[bytes]:
    return [each.payload for each in records]


def outcome(deferred: Deferred[Any]) -> list[Any]:
    """Return a list that will have what ``deferred`` fires with, or its error."""
    found: list[Any] = []
    deferred.addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found
