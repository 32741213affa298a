"""The source and its reader, without Spark: the contents of their pickles."""

import pickle
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark import cloudpickle
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidConfig, NoSuchLedger
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed
from bookkeeper_tx.spark.entries.source_reader import FilteringLedgerReader, LedgerBatchReader, LedgerPartition
from bookkeeper_tx.spark.options import metadata_store
from bookkeeper_tx.spark.plan import ledger_ranges, planning
from bookkeeper_tx.spark.source import LedgerSource
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.tables import BookKeeperSource
from tests.spark.stores import StoreOfDict, closed_ledger, open_ledger

PASSWORD = b"hunter2-hunter2"
ENTRY_IDS = StructType().add("entry_id", "long")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One ledger, whose number is unique in a pickle; the list grows with each read of the metadata store."""
    seen: list[str] = []

    def open_store(uri: str, *_: Any) -> StoreOfDict:
        seen.append(uri)
        return StoreOfDict({7: closed_ledger(100, password=PASSWORD)})

    monkeypatch.setattr(metadata_store, "open_blocking_store", open_store)
    return seen


@pytest.fixture
def source(tmp_path: Path, looks: list[str]) -> Any:
    path = tmp_path / "password"
    path.write_bytes(PASSWORD)

    def made(**options: str) -> LedgerSource:
        given = {"metadataServiceUri": "sqlite:///m", "ledger": "7", "passwordFile": str(path), **options}
        return LedgerSource(CaseInsensitiveDict(given))

    return made


def travelled(value: Any) -> Any:
    data = cloudpickle.dumps(value)
    assert PASSWORD not in data or isinstance(value, LedgerPartition)
    return pickle.loads(data)


def test_the_ledgers_are_looked_at_once(source: Any, looks: list[str]) -> None:
    made = source()
    assert made.schema().simpleString() == "struct<ledger_id:bigint,entry_id:bigint,payload:binary>"
    for _ in range(3):
        planned = travelled(made)
        assert len(planned.reader(made.schema()).partitions()) == 1
    assert len(looks) == 1


def test_with_a_schema_of_the_users_they_are_looked_at_before_the_source_travels(source: Any, looks: list[str]) -> None:
    made = travelled(source())
    assert len(looks) == 1
    made.reader(ENTRY_IDS).partitions()
    assert len(looks) == 1


def test_what_is_no_read_travels_without_a_look(source: Any, looks: list[str]) -> None:
    """As Spark sends it for a write, with or without the options that a sink needs."""
    for options, source_class in product(
        ({"sinkId": "s"}, {"ensembleSize": "1"}, {}), (LedgerSource, BookKeeperSource)
    ):
        made = travelled(source_class(CaseInsensitiveDict({"metadataServiceUri": "sqlite:///m", **options})))
        with pytest.raises(InvalidConfig, match=r"no ledgers are named|sinkId|ensembleSize"):
            made.reader(ENTRY_IDS)
    assert not looks


def test_ledgers_are_recovered_for_a_query_and_not_for_a_stream(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ledgers = {7: open_ledger(password=PASSWORD)}
    monkeypatch.setattr(metadata_store, "open_blocking_store", lambda *_: StoreOfDict(ledgers))
    monkeypatch.setattr(
        ledger_ranges, "last_confirmed", lambda channels, ledgers, *_: [LastConfirmed(4)] * len(ledgers)
    )
    recovered = []

    def recover(uri: str, ledger_id: int, password: bytes, digest_type: DigestType, **_: Any) -> Any:
        recovered.append(ledger_id)
        return closed_ledger(20)

    monkeypatch.setattr(ledger_ranges, "recover_ledger", recover)
    made = source(allowRecovery="true")
    made.schema()
    with pytest.raises(InvalidConfig, match="allowRecovery"):
        travelled(made).streamReader(ENTRY_IDS)
    assert not recovered
    (part,) = travelled(made).reader(ENTRY_IDS).partitions()
    assert [(each.first, each.last) for each in part.ranges] == [(0, 19)]
    assert recovered == [7]


def test_a_query_fails_when_it_is_planned_if_a_ledger_is_gone(source: Any) -> None:
    made = travelled(source(ledger="8"))
    schema = made.schema()
    with pytest.raises(NoSuchLedger, match=r"ledger 8: .*failOnDataLoss=false"):
        travelled(made).reader(schema)
    assert travelled(source(ledger="8", failOnDataLoss="false")).reader(schema).partitions() == []


def test_a_stream_fails_only_if_it_needs_the_ledger_that_is_gone(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_store(uri: str, *_: Any) -> StoreOfDict:
        return StoreOfDict({})

    monkeypatch.setattr(metadata_store, "open_blocking_store", open_store)

    def restarted(**options: str) -> DataSourceStreamReader:
        made = source(**options)
        return travelled(made).streamReader(made.schema())

    def latest(offset: StreamOffset) -> Any:
        return restarted().latestOffset(offset.to_json(), ReadAllAvailable())

    with pytest.raises(NoSuchLedger, match=r"ledger 7: .*failOnDataLoss=false"):
        restarted().initialOffset()
    read = StreamOffset(closed={7: 100})
    assert latest(read) == read.to_json()
    with pytest.raises(NoSuchLedger, match=r"ledger 7: .*did not read it to its end"):
        latest(StreamOffset(open={7: 50}))
    assert restarted(failOnDataLoss="false").initialOffset() == StreamOffset().to_json()


def test_tasks_get_neither_ledgers_nor_more_than_their_part(source: Any) -> None:
    made = travelled(source(minPartitions="4"))
    reader = made.reader(ENTRY_IDS)
    assert made.__getstate__()["_snapshot"] is None
    assert travelled(reader)._snapshot is None
    parts = reader.partitions()
    spans = [(each.first, each.last) for part in parts for each in part.ranges]
    assert spans == [(0, 24), (25, 49), (50, 74), (75, 99)]
    assert set(parts[0].bookies) == {"bookie:3181"}


def test_the_password_is_in_the_parts_and_shown_nowhere(source: Any) -> None:
    made = travelled(source())
    (part,) = made.reader(made.schema()).partitions()
    assert travelled(part).password.value == PASSWORD
    assert PASSWORD.decode() not in repr(part)


def test_what_spark_makes_of_no_partitions_reads_nothing(source: Any) -> None:
    reader = source(startingOffsets="latest").reader(ENTRY_IDS)
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


def test_filters_are_taken_only_where_spark_asks_for_them(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = source().schema()
    base = DataSourceReader.pushFilters
    assert source(pushdown="true").reader(schema).pushFilters.__func__ is base
    monkeypatch.setitem(sys.modules, planning.PUSHDOWN_PLANNER, ModuleType("planner"))
    assert type(source().reader(schema)) is LedgerBatchReader
    reader = source(pushdown="true").reader(schema)
    assert isinstance(reader, FilteringLedgerReader)
    payload = EqualTo(("payload",), b"")
    assert list(reader.pushFilters([EqualTo(("entry_id",), 5), payload])) == [payload]
    (part,) = reader.partitions()
    assert [(each.first, each.last) for each in part.ranges] == [(5, 5)]


def test_columns_that_there_are_not(source: Any) -> None:
    with pytest.raises(InvalidConfig, match="lenght"):
        source().reader(StructType().add("lenght", "long"))
    with pytest.raises(InvalidConfig, match="entry_id"):
        source().reader(StructType().add("entry_id", "string"))


def test_options_of_another_use_are_refused_when_the_use_is_known(source: Any) -> None:
    made = source(maxEntriesPerTrigger="5")
    schema = made.schema()
    with pytest.raises(InvalidConfig, match="maxEntriesPerTrigger does nothing here"):
        made.reader(schema)
