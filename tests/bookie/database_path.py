"""A database on real files, whose keys are all in table files."""

from pathlib import Path

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.rocks_db import RocksDb
from tests.bookie.test_key_values import CONFIG

KEYS = [at.to_bytes(3, "big") for at in range(30_000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "db"
    db = RocksDb(str(path), evolve(CONFIG, rocksdb_block_bytes=4096))
    db.put(KEYS, KEYS)
    db.sync()
    db.close()
    return path
