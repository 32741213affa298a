"""Metadata stores full of ledgers, made for planning over them, and read without this library for comparison."""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from attrs import evolve
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from bookkeeper_tx.errors import InvalidArgument, MetadataUnavailable
from bookkeeper_tx.metadata.blocking.requests import WINDOW, BlockingRequests, run
from bookkeeper_tx.metadata.blocking.session import BlockingSession
from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.metadata.uri import ZooKeeperUri, parse_metadata_uri
from bookkeeper_tx.metadata.zookeeper.cluster import ZooKeeperCluster
from bookkeeper_tx.metadata.zookeeper.kazoo_client import refused
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata

TIMEOUT_S = 60.0
"""A server on a busy machine may be silent for long."""

AT_ONCE = 500
"""Nodes of one transaction: ZooKeeper takes a megabyte."""

LEDGER = LedgerMetadata(
    3,
    3,
    2,
    [Fragment(0, ("10.0.0.1:3181", "10.0.0.2:3181", "10.0.0.3:3181"))],
    DigestType.CRC32C,
    b"",
    ctime_ms=1_700_000_000_000,
    custom_metadata={"application": b"bktx bench spark"},
).with_close(9_999, 1_000_000)
"""The metadata of every ledger; nothing connects to these bookies."""


class PlanningStore(Protocol):
    """A store with ledgers 0, 1, … and nothing else."""

    uri: str

    def raw_reads(self, count: int) -> int:
        """Read the records of the first ``count`` ledgers with the store's own client alone; return how many came."""


class SqlitePlanning:
    """An SQLite file."""

    def __init__(self, path: Path, count: int) -> None:
        """Make the file at ``path`` with ``count`` ledgers."""
        self.uri = f"sqlite://{path}"
        self._path = path
        tables = Tables(str(path))
        tables.create()
        with closing(tables), transaction(tables.opened()) as connection:
            connection.executemany("INSERT INTO ledgers VALUES (?, 0, ?)", _records(count))

    def raw_reads(self, count: int) -> int:
        statement = "SELECT record, version FROM ledgers WHERE ledger_id = ?"
        with closing(sqlite3.connect(self._path)) as connection:
            return sum(connection.execute(statement, (each,)).fetchone() is not None for each in range(count))


class ZooKeeperPlanning:
    """A cluster of its own in ZooKeeper."""

    def __init__(self, uri: str) -> None:
        """Connect; raises InvalidConfig, MetadataUnavailable, and InvalidArgument for any other store."""
        where = parse_metadata_uri(uri)
        if not isinstance(where, ZooKeeperUri):
            raise InvalidArgument(f"{uri}: ledgers to plan over are made in a ZooKeeper, as zk://host:2181/planning")
        self.uri = uri
        self._where = where
        self._session = BlockingSession(where.hosts, TIMEOUT_S)
        self._session.open()
        self._client: KazooClient = self._session.client
        self._tree = LedgerTree(where.root)

    def check_absent(self) -> None:
        """Raise InvalidArgument if the root is there already."""
        if self._client.exists(self._where.root) is not None:
            raise InvalidArgument(
                f"{self._where.root} exists in ZooKeeper at {self._session.hosts}: name a root that is not there yet, "
                "for what is made below it is deleted afterwards"
            )

    def make(self, count: int) -> None:
        """Make the cluster with ``count`` ledgers."""
        requests = BlockingRequests(self._session)
        cluster = ZooKeeperCluster(requests, self._where.root, self._where.layout)
        run(requests.within(cluster.initialize(), extra_timeout_s=TIMEOUT_S))
        self._tree = LedgerTree(self._where.root, cluster.layouts[0])
        parents: set[str] = set()
        for part in _parts(_records(count)):
            paths = {self._tree.path(ledger_id): record for ledger_id, record in part}
            for parent in sorted({path.rpartition("/")[0] for path in paths} - parents):
                self._client.ensure_path(parent)
                parents.add(parent)
            changes = self._client.transaction()
            for path, record in paths.items():
                changes.create(path, record)
            for result in self._results(changes):
                if isinstance(result, KazooException):
                    raise refused(self._session.hosts, result)

    def raw_reads(self, count: int) -> int:
        """Read with as many requests in flight as our store has."""
        source, sent, done = map(self._tree.path, range(count)), deque[Any](), 0
        while True:
            for path in islice(source, WINDOW - len(sent)):
                sent.append(self._client.get_async(path))
            if not sent:
                return done
            sent.popleft().get(timeout=TIMEOUT_S)
            done += 1

    def remove(self, count: int) -> None:
        """Delete the nodes that :meth:`make` has made, even if it failed in the middle."""
        for part in _parts(range(count)):
            changes = self._client.transaction()
            for ledger_id in part:
                changes.delete(self._tree.path(ledger_id))
            self._results(changes)  # deletes nothing if one node is missing: the rest goes node by node
        self._client.delete(self._where.root, recursive=True)

    def _results(self, changes: Any) -> list[Any]:
        """Commit a transaction; raises MetadataUnavailable if the server is gone."""
        try:
            results: list[Any] = changes.commit_async().get(timeout=TIMEOUT_S)
        except (KazooTimeoutError, ConnectionLoss, SessionExpiredError) as error:
            raise MetadataUnavailable(
                f"ZooKeeper at {self._session.hosts} was lost, with {self._where.root} made in part ({error!r}): see "
                "its log, it may lack memory, and delete that root when it is back"
            ) from error
        return results

    def close(self) -> None:
        self._session.close()


@contextmanager
def planning_store(uri: str | None, directory: Path, count: int) -> Iterator[PlanningStore]:
    """Make ``count`` ledgers: in the ZooKeeper of ``uri``, deleted at the end; without one in a file in ``directory``.

    Raises InvalidArgument for a root that is there already and for any other store, InvalidConfig, MetadataUnavailable.
    """
    if uri is None:
        yield SqlitePlanning(directory / "planning.db", count)
        return
    with closing(ZooKeeperPlanning(uri)) as store:
        store.check_absent()
        try:
            store.make(count)
            yield store
        finally:
            store.remove(count)


def _records(count: int) -> Iterator[tuple[int, bytes]]:
    return ((ledger_id, serialize(evolve(LEDGER, create_token=ledger_id))) for ledger_id in range(count))


def _parts(items: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(items)
    while part := list(islice(source, AT_ONCE)):
        yield part
