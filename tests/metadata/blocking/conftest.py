"""Two stores of one cluster, of each kind."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bookkeeper_tx.metadata.blocking.etcd import BlockingEtcdStore
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.metadata.uri import EtcdUri
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL, LONG_HIERARCHICAL
from tests.metadata.etcd.etcd_world import SCOPE
from tests.metadata.etcd.etcd_world import World as EtcdWorld
from tests.metadata.etcd.fake_etcd import FakeChannel
from tests.metadata.zookeeper.fake_kazoo import BlockingWorld

Stores = tuple[BlockingStore, BlockingStore]


@pytest.fixture(params=["sqlite", "etcd", HIERARCHICAL, LONG_HIERARCHICAL, FLAT])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """In an SQLite file, and on an etcd and a ZooKeeper of each layout in memory."""
    if request.param == "sqlite":
        Tables(str(tmp_path / "meta.sqlite")).create()
        open_one = partial(open_blocking_store, f"sqlite://{tmp_path}/meta.sqlite")
    elif request.param == "etcd":
        etcd = EtcdWorld().etcd
        open_one = partial(
            BlockingEtcdStore, EtcdUri(("fake:2379",), SCOPE), 10.0, make_channel=lambda _: FakeChannel(etcd)
        )
    else:
        world = BlockingWorld(request.param)
        open_one = lambda: world.open_blocking()[0]  # noqa: E731
    with open_one() as here, open_one() as elsewhere:
        yield here, elsewhere
