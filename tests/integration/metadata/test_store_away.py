"""The metadata store is away, longer than sessions and leases live: open ledgers are written and read."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet import reactor

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.pytest_plugin import is_full
from compat_tests.targets.twistd_bookie import TwistdBookie
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, read, wait_for
from tests.reactor_thread import run_in_reactor

TIMEOUT_S = 3.0
"""Of sessions, leases and operations."""

pytestmark = pytest.mark.slow


class SqliteFile:
    """A file that another process keeps locked while it is paused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def pause(self) -> None:
        self._connection = sqlite3.connect(self.path, isolation_level=None)
        self._connection.execute("BEGIN EXCLUSIVE")

    def resume(self) -> None:
        assert self._connection is not None
        self._connection.close()


Server = ZooKeeper | Etcd | SqliteFile


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("zk+hierarchical", marks=pytest.mark.java),
        pytest.param("zk+flat", marks=[pytest.mark.java, pytest.mark.full]),
        pytest.param("zk+longhierarchical", marks=[pytest.mark.java, pytest.mark.full]),
        pytest.param("etcd", marks=pytest.mark.etcd),
    ]
)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Server]:
    """The URI of a cluster in a server, and the server."""
    server: Server
    if request.param == "sqlite":
        server = SqliteFile(tmp_path / "meta.sqlite")
        uri = f"sqlite://{server.path}"
    else:
        server = request.getfixturevalue("own_etcd" if request.param == "etcd" else "own_zookeeper")
        assert not isinstance(server, SqliteFile)
        uri = f"{request.param}://{server.hosts}/ledgers"

    async def initialize() -> None:
        store = open_metadata_store(uri, reactor)
        await store.start()
        await store.initialize()
        await store.stop()

    run_in_reactor(initialize)
    return uri, server


@pytest.fixture
def bookie_ids(server: tuple[str, Server], tmp_path: Path) -> Iterator[set[str]]:
    bookies = [TwistdBookie(server[0], tmp_path / str(number), settings=_TIMEOUT) for number in range(2)]
    for bookie in bookies:
        bookie.work_dir.mkdir()
        bookie.start()
    yield {bookie.bookie_id for bookie in bookies}
    for bookie in bookies:
        bookie.stop()


_TIMEOUT = {"zkTimeout": int(TIMEOUT_S * 1000)}


def test_open_ledgers_go_on(server: tuple[str, Server], bookie_ids: set[str], request: pytest.FixtureRequest) -> None:
    uri, process = server
    away_s = 60 if is_full(request.config) else 3 * TIMEOUT_S
    with OurClient(uri, metadata_timeout_s=TIMEOUT_S) as ours:
        closed = append_and_close(ours.create_ledger(2, 2, 2), [b"closed"])
        writer = ours.create_ledger(2, 2, 2)
        append(writer, [b"before"])
        reader, tail = ours.open_ledger(closed), ours.open_ledger(writer.ledger_id, recovery=False)
        process.pause()
        ends, appended = time.monotonic() + away_s, [b"before"]
        while time.monotonic() < ends:
            appended.append(b"%d" % len(appended))
            assert append(writer, appended[-1:]) == [len(appended) - 1]
            assert read(reader, 0, 0) == [b"closed"]
            if len(appended) > 2:
                wait_for(tail.read_last_add_confirmed)
                assert read(tail, len(appended) - 2, len(appended) - 2) == appended[-2:-1]
            time.sleep(0.1)
        with pytest.raises(MetadataUnavailable):
            ours.create_ledger()
        process.resume()
        assert poll(lambda: _writable(uri) == bookie_ids)
        wait_for(writer.close)
        assert read(ours.open_ledger(writer.ledger_id), 0, len(appended) - 1) == appended
        append_and_close(ours.create_ledger(2, 2, 2), [b"after"])


def _writable(uri: str) -> frozenset[str]:
    try:
        with open_blocking_store(uri, TIMEOUT_S) as store:
            return store.writable_bookies()
    except MetadataUnavailable:
        return frozenset()
