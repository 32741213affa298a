from inspect import signature
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.aio_store import AioMetadataStore
from bookkeeper_tx.metadata.etcd.etcd import EtcdMetadataStore
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore, MetadataStore
from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore


@pytest.mark.parametrize(
    ("kind", "interface"),
    [
        (SqliteMetadataStore, MetadataStore),
        (ZooKeeperMetadataStore, MetadataStore),
        (EtcdMetadataStore, MetadataStore),
        (AioMetadataStore, ClientMetadataStore),
    ],
)
def test_stores_have_the_methods_of_the_interface(kind: type, interface: type) -> None:
    methods = {name for name in dir(interface) if not name.startswith("_")}
    assert methods > {"start", "read_ledger", "watch_bookies"}
    for name in methods:
        # What a promise is differs from world to world.
        assert signature(getattr(kind, name)).parameters == signature(getattr(interface, name)).parameters, name


def test_the_uri_chooses_the_store(tmp_path: Path) -> None:
    sqlite = open_metadata_store(f"sqlite://{tmp_path}/meta.sqlite", Clock())
    assert isinstance(sqlite, SqliteMetadataStore)
    assert isinstance(open_metadata_store("zk+hierarchical://h:2181/ledgers", Clock()), ZooKeeperMetadataStore)
    assert isinstance(open_metadata_store("etcd://h:2379/ledgers", Clock()), EtcdMetadataStore)
    assert list(tmp_path.iterdir()) == []  # opening touches nothing


def test_a_uri_that_names_no_store() -> None:
    with pytest.raises(InvalidConfig, match="is not built"):
        open_metadata_store("zk+legacyhierarchical://h:2181/ledgers", Clock())
