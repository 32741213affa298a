from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage import ledger_storage
from bookkeeper_tx.bookie.storage.storage_class import indexes_of
from bookkeeper_tx.config import BookieConfig
from tests.bookie.crashing_disk import CrashingDisk, new_disk


@pytest.fixture
def disk() -> CrashingDisk:
    return new_disk()


@pytest.fixture(params=["SortedLedgerStorage", "DbLedgerStorage"])
def ledger_storage_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The class of every storage that the test makes, whatever its configuration says."""
    name: str = request.param

    def chosen(disk: Disk, disks: LedgerDisks, config: BookieConfig, choose: Any) -> object:
        return indexes_of(disk, disks, evolve(config, ledger_storage_class=name), choose)

    monkeypatch.setattr(ledger_storage, "indexes_of", chosen)
    return name
