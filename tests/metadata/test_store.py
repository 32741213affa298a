from pathlib import Path

import pytest
from twisted.internet.task import Clock
from zope.interface.verify import verifyClass, verifyObject

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.interfaces import IMetadataStore
from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore


@pytest.mark.parametrize("kind", [SqliteMetadataStore, ZooKeeperMetadataStore])
def test_stores_provide_the_interface(kind: type) -> None:
    assert verifyClass(IMetadataStore, kind)


def test_the_uri_chooses_the_store(tmp_path: Path) -> None:
    sqlite = open_metadata_store(f"sqlite://{tmp_path}/meta.sqlite", Clock())
    assert isinstance(sqlite, SqliteMetadataStore)
    assert verifyObject(IMetadataStore, sqlite)
    assert isinstance(open_metadata_store("zk+hierarchical://h:2181/ledgers", Clock()), ZooKeeperMetadataStore)
    assert list(tmp_path.iterdir()) == []  # opening touches nothing


def test_a_uri_that_names_no_store() -> None:
    with pytest.raises(InvalidConfig, match="not built yet"):
        open_metadata_store("zk+flat://h:2181/ledgers", Clock())
