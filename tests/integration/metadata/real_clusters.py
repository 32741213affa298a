"""Real stores under the contract of tests/metadata/contract.py: an SQLite file, real ZooKeepers, a real etcd."""

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from twisted.internet import reactor, task

from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.uri import ZooKeeperUri, parse_metadata_uri
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL, LONG_HIERARCHICAL, LedgerTree
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore
from tests.integration.support.secured_zookeeper import SecuredZooKeeper
from tests.metadata import contract

SECURED = "secured"
STORES = [
    "sqlite",
    pytest.param("etcd", marks=pytest.mark.etcd),
    pytest.param(HIERARCHICAL, marks=pytest.mark.java),
    pytest.param(LONG_HIERARCHICAL, marks=[pytest.mark.java, pytest.mark.full]),
    pytest.param(FLAT, marks=pytest.mark.java),
]
"""All kinds of store that are open to everybody: ZooKeeper's are named by their layouts."""
ALL_STORES = [*STORES, pytest.param(SECURED, marks=pytest.mark.java)]


class RealCluster(contract.Cluster):
    """Stores at one metadata URI, on the real reactor."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.stores: list[Any] = []

    def make_store(self) -> Any:
        return open_metadata_store(self.uri, reactor)

    async def open(self) -> Any:
        store = self.make_store()
        self.stores.append(store)
        await store.start()
        return store

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], timeout_s: float = 60) -> None:
        for _ in range(int(timeout_s / 0.02)):
            if condition():
                return
            await task.deferLater(reactor, 0.02, lambda: None)
        raise AssertionError(f"not so within {timeout_s} s")

    async def close(self) -> None:
        for store in self.stores:
            await store.stop()


class SqliteCluster(RealCluster):
    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite://{path}")
        self.path = str(path)

    async def raw_ledger(self, ledger_id: int) -> bytes:
        return Tables(self.path).ledger(ledger_id)[0]

    async def put_raw_ledger(self, ledger_id: int, record: bytes) -> None:
        Tables(self.path).insert_ledger(ledger_id, record)


class ZooKeeperCluster(RealCluster):
    def __init__(self, hosts: str, tree: LedgerTree, secured: SecuredZooKeeper | None = None) -> None:
        super().__init__(f"zk+{tree.layout}://{(secured.hosts if secured else hosts).replace(',', ';')}{tree.root}")
        self.tree = tree
        self.security = secured and secured.security()
        self.client = secured.new_client() if secured else KazooClient(hosts)
        self.client.start(10)

    def make_store(self) -> Any:
        uri = parse_metadata_uri(self.uri)
        assert isinstance(uri, ZooKeeperUri)
        store = ZooKeeperMetadataStore(uri, reactor, self.security)
        store._registrations.patience_s = 1.0  # nobody of the contract is killed, so no registration is left to vanish
        return store

    async def raw_ledger(self, ledger_id: int) -> bytes:
        return self.client.get(self.tree.path(ledger_id))[0]

    async def put_raw_ledger(self, ledger_id: int, record: bytes) -> None:
        self.client.create(self.tree.path(ledger_id), record, makepath=True)

    async def close(self) -> None:
        await super().close()
        self.client.stop()
        self.client.close()


class EtcdCluster(RealCluster):
    def __init__(self, hosts: str, scope: str) -> None:
        super().__init__(f"etcd://{hosts}{scope}")
        self.client = EtcdClient(EtcdChannel([hosts]), timeout_s=10)
        self.folder = f"{scope}/ledgers"

    def make_store(self) -> Any:
        store = super().make_store()
        store._registrations.patience_s = 1.0  # as above
        return store

    async def raw_ledger(self, ledger_id: int) -> bytes:
        found = self.client.read(f"{self.folder}/{uuid.UUID(int=ledger_id)}")
        assert found is not None
        return found.value

    async def put_raw_ledger(self, ledger_id: int, record: bytes) -> None:
        assert self.client.write(f"{self.folder}/{uuid.UUID(int=ledger_id)}", record, None).done

    async def close(self) -> None:
        await super().close()
        self.client.channel.close()


def real_cluster(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> RealCluster:
    """Return a cluster of one of :data:`ALL_STORES`, which is not made yet."""
    if kind == "sqlite":
        return SqliteCluster(tmp_path / "directory" / "meta data.sqlite")
    if kind == "etcd":
        return EtcdCluster(request.getfixturevalue("etcd").hosts, f"/made/{uuid.uuid4()}")
    if kind == SECURED:
        secured = request.getfixturevalue("secured")
        return ZooKeeperCluster(secured.server.hosts, LedgerTree(f"/made-{uuid.uuid4()}/ledgers"), secured)
    hosts = request.getfixturevalue("zookeeper").hosts
    return ZooKeeperCluster(hosts, LedgerTree(f"/made/{uuid.uuid4()}/ledgers", kind))
