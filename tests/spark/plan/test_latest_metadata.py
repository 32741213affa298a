"""Entries that none of the bookies in the partition gives: the task reads the metadata again."""

from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from attrs import evolve

from bookkeeper_tx.errors import EntriesMissing, MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo, DigestType, Fragment, LedgerMetadata, Versioned
from bookkeeper_tx.spark.entries import partition_reader
from bookkeeper_tx.spark.entries.partition_reader import read_ranges
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan import latest_metadata
from tests.spark.bookies.stored_entries import LEDGER, PASSWORD, Site, sealed
from tests.spark.writing.memory_store import MemoryStore

SCHEMA = pa.schema([("entry_id", pa.int64())])


class Store(MemoryStore):
    """Knows the addresses of puppets, and counts sessions that open and close."""

    opened = closed = 0

    def bookie_info(self, bookie_id: str) -> BookieServiceInfo:
        return BookieServiceInfo(bookie_id, 3181)

    def close(self) -> None:
        self.closed += 1


class World:
    """A ledger that was on bookie b0 when the read was planned, and is on b1 now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = Site(2)
        for bookie in self.site.bookies:
            bookie.entries = dict(enumerate(map(sealed, range(10))))
        self.site.bookies[0].knows_ledger = False
        self.site.names.remove("b1")
        self.store = Store()
        planned = LedgerMetadata(1, 1, 1, [Fragment(0, ("b0",))], DigestType.CRC32C).with_close(9, 200)
        self.store.ledgers[LEDGER] = Versioned(evolve(planned, fragments=(Fragment(0, ("b1",)),)), 1)
        self.range = type(self.site.ledger(0, 9)).of_metadata(LEDGER, planned, 0, 9)
        monkeypatch.setattr(partition_reader, "channels_to", lambda *_: self.site.channels())
        monkeypatch.setattr(latest_metadata.LatestMetadata.__init__, "__defaults__", (self._open,))

    def _open(self, options: Options) -> Any:
        self.store.opened += 1
        return self.store

    def read(self, **more: str) -> list[int]:
        options = Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledger": "7", **more}, Use.READ)
        batches = read_ranges([self.range], {}, Secret(PASSWORD), options, SCHEMA)
        return [row["entry_id"] for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.mark.parametrize("fail", ["true", "false"])
def test_entries_that_were_moved_since_the_read_was_planned_are_no_loss(world: World, fail: str) -> None:
    assert world.read(failOnDataLoss=fail) == list(range(10))
    assert (world.store.opened, world.store.closed) == (1, 1)


def test_nobody_connects_to_the_metadata_store_while_all_is_well(world: World) -> None:
    world.site.bookies[0].knows_ledger = True
    assert world.read() == list(range(10))
    assert world.store.opened == 0


def test_what_nobody_has_is_lost_all_the_same(world: World) -> None:
    world.site.bookies[1].knows_ledger = False
    assert world.read(failOnDataLoss="false") == []
    with pytest.raises(EntriesMissing, match="entry 0 of ledger 7"):
        world.read()
    assert world.store.opened == world.store.closed


def test_without_the_metadata_store_nothing_is_called_lost(world: World) -> None:
    def refuse(request: str) -> None:
        raise MetadataUnavailable

    world.store.before = refuse
    with pytest.raises(MetadataUnavailable):
        world.read(failOnDataLoss="false")
    assert world.store.opened == world.store.closed
