"""Two stores of one cluster, of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.sqlite.tables import Tables
from tests.metadata.zookeeper.fake_kazoo import BlockingWorld

Stores = tuple[BlockingStore, BlockingStore]


@pytest.fixture(params=["sqlite", "zookeeper"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """In an SQLite file, and on a ZooKeeper in memory."""
    if request.param == "zookeeper":
        world = BlockingWorld()
        yield world.open_blocking()[0], world.open_blocking()[0]
        return
    Tables(str(tmp_path / "meta.sqlite")).create()
    uri = f"sqlite://{tmp_path}/meta.sqlite"
    with open_blocking_store(uri) as here, open_blocking_store(uri) as elsewhere:
        yield here, elsewhere
