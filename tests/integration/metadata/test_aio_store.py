"""The metadata store of asyncio on real servers: who watches is told, and nobody looks in the meantime."""

import asyncio

import pytest
from twisted.internet import reactor

from bookkeeper_tx.metadata import aio_store
from bookkeeper_tx.metadata.aio_store import AioMetadataStore
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper
from tests.metadata.contract import METADATA
from tests.reactor_thread import run_in_reactor

TIMEOUT_S = 60.0


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [
        pytest.param("zk+hierarchical", "own_zookeeper", marks=pytest.mark.java),
        pytest.param("etcd", "own_etcd", marks=pytest.mark.etcd),
    ],
)
def test_who_watches_is_told_also_after_the_server_was_away(
    scheme: str, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: ZooKeeper | Etcd = request.getfixturevalue(kind)
    uri = f"{scheme}://{server.hosts}/ledgers"

    async def initialize() -> None:
        twisted = open_metadata_store(uri, reactor)
        await twisted.start()
        await twisted.initialize()
        await twisted.stop()

    async def main() -> None:
        store = AioMetadataStore(uri, 20.0, asyncio.get_running_loop())
        await store.start()
        changed = asyncio.Event()
        with open_blocking_store(uri, 20.0) as other:
            version = other.create_ledger(5, METADATA).version
            store.watch_ledger(5, changed.set)
            await store.read_ledger(5)
            monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 24 * 3600)  # nothing is found by looking
            version = other.write_ledger(5, METADATA, version).version
            await asyncio.wait_for(changed.wait(), TIMEOUT_S)
            changed.clear()
            server.stop()
            server.start()
            await store.read_ledger(5)
            assert not changed.is_set()
            other.write_ledger(5, METADATA, version)
            await asyncio.wait_for(changed.wait(), TIMEOUT_S)
        await store.stop()

    run_in_reactor(initialize)
    asyncio.run(main())
