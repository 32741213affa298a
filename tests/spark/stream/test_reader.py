import json
import pickle
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bookkeeper_tx.errors import InvalidArgument, InvalidConfig, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.spark.options.offsets import Edge, Offsets
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from tests.spark.memory_store import MemoryStore
from tests.spark.stores import open_ledger

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import (  # noqa: E402
    ReadAllAvailable,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import LongType, StructField, StructType  # noqa: E402

from bookkeeper_tx.spark.entries.source_reader import LedgerPartition  # noqa: E402
from bookkeeper_tx.spark.plan.ledger_ranges import KnownLedger, Snapshot  # noqa: E402
from bookkeeper_tx.spark.stream.cluster import StreamCluster  # noqa: E402
from bookkeeper_tx.spark.stream.offsets import StreamOffset  # noqa: E402
from bookkeeper_tx.spark.stream.planning import LedgerEnd  # noqa: E402
from bookkeeper_tx.spark.stream.reader import LOOK_INTERVAL_S, Beginning, LedgerStreamReader, make_stream_reader  # noqa: E402
from tests.sampling import examples  # noqa: E402

ALL = ReadAllAvailable()
SCHEMA = pa.schema([("entry_id", pa.int64())])


class Time:
    """A clock that only a sleep moves."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.slept_s += seconds


def reader_of(
    store: MemoryStore,
    start: Edge | Offsets = Edge.EARLIEST,
    known: Iterable[LedgerEnd] = (),
    time: Time | None = None,
    **values: str,
) -> LedgerStreamReader:
    time = time or Time()
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledgers": "0-", **values}, Use.STREAM)
    cluster = StreamCluster(options, Secret(b"secret"), store.ends_of_open, store.open, time.sleep)  # type: ignore[arg-type]
    offsets = start if isinstance(start, Offsets) else Offsets(start)
    return LedgerStreamReader(options, Beginning(offsets, tuple(known)), cluster, SCHEMA, time, time.sleep)


def rows_of(reader: LedgerStreamReader, start: dict[str, Any], end: dict[str, Any]) -> dict[int, list[int]]:
    """Return the entries that the tasks of a batch read, by ledger."""
    rows = defaultdict(list)
    for each in reader.partitions(start, end):
        assert isinstance(each, LedgerPartition)
        for entries in each.ranges:
            rows[entries.ledger_id] += range(entries.first, entries.last + 1)
    return dict(rows)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_a_batch(store: MemoryStore) -> None:
    store.add(1, end=3, closed=True, length=300)
    store.add(2, end=2)
    reader = reader_of(store)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert rows_of(reader, start, end) == {1: [0, 1, 2], 2: [0, 1]}
    assert reader.latestOffset(end, ALL) is end
    assert reader.partitions(end, end) == []


def test_initial_offset_is_the_same_each_time(store: MemoryStore) -> None:
    known = [LedgerEnd(1, 9, True), LedgerEnd(2, 4, False)]
    reader = reader_of(store, Edge.LATEST, known)
    first = reader.initialOffset()
    store.add(2, end=8)
    assert json.dumps(reader.initialOffset()) == json.dumps(first)
    assert first == {"closed": {}, "closedThrough": 1, "open": {"2": 4}, "unread": "0", "v": 2}
    assert rows_of(reader, first, reader.latestOffset(first, ALL)) == {2: [4, 5, 6, 7]}


def test_starting_offsets_of_other_ledgers_are_refused(store: MemoryStore) -> None:
    reader = reader_of(store, Offsets(Edge.EARLIEST, {5: 1}))
    with pytest.raises(InvalidConfig, match="startingOffsets"):
        reader.initialOffset()


def test_the_limit_that_the_options_ask_for(store: MemoryStore) -> None:
    assert reader_of(store).getDefaultReadLimit() == ALL
    assert reader_of(store, maxEntriesPerTrigger="7").getDefaultReadLimit() == ReadMaxRows(7)
    assert reader_of(store, maxOffsetsPerTrigger="8").getDefaultReadLimit() == ReadMaxRows(8)
    assert reader_of(store, maxBytesPerTrigger="1k").getDefaultReadLimit() == ReadMaxBytes(1024)


def test_the_limit_that_spark_gives_counts(store: MemoryStore) -> None:
    store.add(1, end=100, closed=True, length=1000)
    reader = reader_of(store, maxEntriesPerTrigger="7")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadMaxRows(7))["open"] == {"1": 7}
    assert reader.latestOffset(start, ReadMaxBytes(200))["open"] == {"1": 20}
    assert reader.latestOffset(start, ALL)["closed"] == {"1": 100}
    for limit in (ReadMaxFiles(3), ReadMinRows(3)):
        with pytest.raises(InvalidArgument, match="maxEntriesPerTrigger"):
            reader.latestOffset(start, limit)


def test_available_now_ends_where_it_was_prepared(store: MemoryStore) -> None:
    store.add(1, end=5)
    store.add(2, end=3, closed=True)
    reader = reader_of(store)
    assert isinstance(reader, SupportsTriggerAvailableNow)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    store.add(1, end=9)
    store.add(3, end=3)
    rows: defaultdict[int, list[int]] = defaultdict(list)
    while (end := reader.latestOffset(start, ReadMaxRows(3))) != start:
        for ledger, entries in rows_of(reader, start, end).items():
            rows[ledger] += entries
        start = end
        store.add(1, end=store.ends[1] + 1)
    assert rows == {1: [0, 1, 2, 3, 4], 2: [0, 1, 2]}


def test_available_now_ends_if_a_ledger_begun_is_chosen_no_more(store: MemoryStore) -> None:
    store.add(1, end=5)
    store.add(2, end=5)
    start = reader_of(store).latestOffset(reader_of(store).initialOffset(), ReadMaxRows(4))
    reader = reader_of(store, ledgers="1")
    reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(start, ALL)
    assert rows_of(reader, start, end) == {1: [2, 3, 4]}
    assert reader.latestOffset(end, ALL) is end


def test_available_now_does_without_a_ledger_that_was_read_and_deleted(store: MemoryStore) -> None:
    store.add(1, end=5, closed=True)
    store.add(2, end=5)
    start = reader_of(store, ledgers="1,2").latestOffset(reader_of(store).initialOffset(), ALL)
    del store.ledgers[1]
    store.add(2, end=7)
    reader = reader_of(store, ledgers="1,2")
    reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(start, ALL)
    assert rows_of(reader, start, end) == {2: [5, 6]}


@pytest.mark.parametrize("available_now", [False, True])
def test_a_ledger_that_is_gone(store: MemoryStore, available_now: bool) -> None:
    store.add(1, end=5)
    start = reader_of(store).latestOffset(reader_of(store).initialOffset(), ReadMaxRows(2))
    del store.ledgers[1]
    strict, lenient = (reader_of(store, failOnDataLoss=each) for each in ("true", "false"))
    for reader in (strict, lenient):
        if available_now:
            reader.prepareForTriggerAvailableNow()
    with pytest.raises(NoSuchLedger, match="failOnDataLoss=false"):
        strict.latestOffset(start, ALL)
    end = lenient.latestOffset(start, ALL)
    assert end["closed"] == {"1": 2}
    assert lenient.partitions(start, end) == []
    assert lenient.latestOffset(end, ALL) is end


def test_a_checkpoint_of_version_1_is_read_on(store: MemoryStore) -> None:
    for each in (0, 2, 4):
        store.add(each, end=3, closed=True)
    store.add(5, end=2)
    first = {"closed": {"4": 3}, "closedThrough": 2, "open": {"5": 1}, "unread": "1", "v": 1}
    reader = reader_of(store)
    store.add(5, end=1)
    assert reader.latestOffset(first, ALL) is first, "Spark must see the text of the checkpoint while nothing is new"
    store.add(1, end=2, closed=True)
    store.add(5, end=4)
    end = reader.latestOffset(first, ALL)
    assert end == {"closed": {"1": 2}, "closedThrough": 4, "open": {"5": 4}, "unread": "3", "v": 2}
    assert rows_of(reader, first, end) == rows_of(reader_of(store), first, end) == {1: [0, 1], 5: [1, 2, 3]}


def test_offsets_that_are_named_again_are_not_parsed_again(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(1, end=5)
    reader = reader_of(store)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    monkeypatch.setattr(StreamOffset, "of_json", None)
    for _ in range(3):
        assert reader.latestOffset(json.loads(json.dumps(end)), ALL) == end
        assert rows_of(reader, dict(start), dict(end)) == {1: [0, 1, 2, 3, 4]}


def test_a_ledger_that_goes_between_plan_and_read(store: MemoryStore) -> None:
    store.add(1, end=5)
    store.add(2, end=5)
    strict, lenient = (reader_of(store, failOnDataLoss=each) for each in ("true", "false"))
    start = strict.initialOffset()
    end = strict.latestOffset(start, ALL)
    del store.ledgers[1]
    with pytest.raises(NoSuchLedger, match=r"ledger 1.*failOnDataLoss=false"):
        strict.partitions(start, end)
    assert rows_of(lenient, start, end) == {2: [0, 1, 2, 3, 4]}


def test_the_latest_offset_that_is_reported(store: MemoryStore) -> None:
    store.add(1, end=5)
    reader = reader_of(store)
    assert reader.reportLatestOffset() is None
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(2))
    reported = reader.reportLatestOffset()
    assert reported is not None
    assert (end["open"], reported["open"]) == ({"1": 2}, {"1": 5})
    reader.latestOffset(end, ALL)
    assert reader.reportLatestOffset() == reported


def test_the_report_never_raises(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of(store)
    reader.latestOffset(reader.initialOffset(), ALL)
    monkeypatch.setattr("bookkeeper_tx.spark.stream.reader.plan_end", None)
    assert reader.reportLatestOffset() is None


def test_an_idle_stream_leaves_the_cluster_alone(store: MemoryStore) -> None:
    time = Time()
    reader = reader_of(store, time=time)
    start = reader.initialOffset()
    reader.latestOffset(start, ALL)
    assert time.slept_s == 0
    reader.latestOffset(start, ALL)
    assert time.slept_s == pytest.approx(LOOK_INTERVAL_S)
    time.now_s += LOOK_INTERVAL_S
    reader.latestOffset(start, ALL)
    assert time.slept_s == pytest.approx(LOOK_INTERVAL_S)
    store.add(1, end=1)
    end = reader.latestOffset(start, ALL)
    slept_s = time.slept_s
    assert reader.latestOffset(end, ALL) is end
    assert time.slept_s == slept_s


def test_a_lost_connection_is_made_again(store: MemoryStore) -> None:
    time = Time()
    store.add(1, end=5)
    reader = reader_of(store, time=time, numRetries="2", retryIntervalMs="500")
    start = reader.initialOffset()
    store.fails = 2
    assert reader.latestOffset(start, ALL)["open"] == {"1": 5}
    assert (store.opened, store.closed, time.slept_s) == (3, 2, 1.0)
    store.fails = 3
    with pytest.raises(MetadataUnavailable):
        reader.latestOffset(start, ALL)
    assert store.opened == store.closed
    reader.stop()
    assert store.opened == store.closed


def test_stopping_gives_up_the_connection(store: MemoryStore) -> None:
    reader = reader_of(store)
    reader.commit(reader.latestOffset(reader.initialOffset(), ALL))
    reader.stop()
    reader.stop()
    assert (store.opened, store.closed) == (1, 1)


def test_what_is_sent_to_tasks_is_small_and_has_no_password(store: MemoryStore) -> None:
    reader = reader_of(store, known=[LedgerEnd(each, 10**6, True) for each in range(10_000)])
    sent = pickle.dumps(reader)
    assert len(sent) < 10_000
    assert b"secret" not in sent


def test_ledgers_of_several_scopes_need_the_scope_as_a_column() -> None:
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledgers": "0-", "scope": "all"}, Use.STREAM)
    schema = StructType([StructField("ledger_id", LongType())])
    with pytest.raises(InvalidConfig, match="includeScope=true"):
        make_stream_reader(options, Snapshot((), {}), schema)
    make_stream_reader(options, Snapshot((), {}), schema.add("scope_id", LongType()))


def test_a_stream_begins_at_the_latest_of_the_snapshot_unless_told_otherwise() -> None:
    snapshot = Snapshot((KnownLedger(5, open_ledger(), 8),), {})
    values = {"metadataServiceUri": "sqlite:///m", "ledgers": "0-"}
    schema = StructType([StructField("ledger_id", LongType())])
    for start, position in (({}, {"5": 8}), ({"startingOffsets": "earliest"}, {})):
        options = Options.from_spark({**values, **start}, Use.STREAM)
        assert make_stream_reader(options, snapshot, schema).initialOffset()["open"] == position


def test_partitions_are_cut_by_entries(store: MemoryStore) -> None:
    store.add(1, end=10, closed=True, length=100)
    reader = reader_of(store, maxEntriesPerPartition="5")
    start = reader.initialOffset()
    found = reader.partitions(start, reader.latestOffset(start, ALL))
    assert [[(each.first, each.last) for each in part.ranges] for part in found] == [[(0, 4)], [(5, 9)]]  # type: ignore[attr-defined]
    assert all(part.bookies == {"bookie:3181": BookieServiceInfo("10.0.0.1", 3181)} for part in found)  # type: ignore[attr-defined]


@pytest.mark.parametrize("closed", [True, False])
def test_partitions_are_cut_by_bytes(store: MemoryStore, closed: bool) -> None:
    store.add(1, end=10, closed=closed, length=10_000)
    store.entry_bytes = 1000
    reader = reader_of(store, maxBytesPerPartition="5000")
    start = reader.initialOffset()
    found = reader.partitions(start, reader.latestOffset(start, ALL))
    assert [[(each.first, each.last) for each in part.ranges] for part in found] == [[(0, 4)], [(5, 9)]]  # type: ignore[attr-defined]


IDS = st.integers(0, 12)


class Tailing(RuleBasedStateMachine):
    """A query over the ledgers of one of several applications; the query is killed now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.texts: list[str] = []
        """The offsets of the checkpoint."""
        self.rows: defaultdict[int, list[int]] = defaultdict(list)
        self.deleted: set[int] = set()
        self.restart()

    @rule()
    def restart(self) -> None:
        self.reader = self.new_reader()
        if not self.texts:
            self.texts.append(json.dumps(self.reader.initialOffset()))

    def new_reader(self) -> LedgerStreamReader:
        options = Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledgerMetadata.app": "mine"}, Use.STREAM)
        time = Time()
        cluster = StreamCluster(options, Secret(), self.store.ends_of_open, self.store.open)  # type: ignore[arg-type]
        return LedgerStreamReader(options, Beginning(Offsets(Edge.EARLIEST), ()), cluster, SCHEMA, time, time.sleep)

    @rule(ledger_id=IDS, app=st.sampled_from(["mine", "theirs"]), end=st.integers(0, 4))
    def create(self, ledger_id: int, app: str, end: int) -> None:
        if ledger_id not in self.store.ledgers and ledger_id not in self.deleted:
            self.store.add(ledger_id, end=end, app=app)

    def still_open(self) -> list[int]:
        return [each for each, found in self.store.ledgers.items() if not found.closed]  # type: ignore[union-attr]

    def app(self, ledger_id: int) -> str:
        return self.store.ledgers[ledger_id].custom_metadata["app"].decode()  # type: ignore[union-attr]

    def mine(self) -> list[int]:
        return [each for each in self.store.ledgers if self.app(each) == "mine"]

    @precondition(lambda self: self.still_open())
    @rule(data=st.data(), more=st.integers(0, 6), closed=st.booleans())
    def write(self, data: st.DataObject, more: int, closed: bool) -> None:
        ledger_id = data.draw(st.sampled_from(self.still_open()))
        end = self.store.ends[ledger_id] + more
        self.store.add(ledger_id, end=end, closed=closed, length=end * 3, app=self.app(ledger_id))

    @precondition(lambda self: self.finished())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Retention deletes a ledger that the stream has read, or one of another application."""
        ledger_id = data.draw(st.sampled_from(self.finished()))
        del self.store.ledgers[ledger_id]
        self.deleted.add(ledger_id)

    def finished(self) -> list[int]:
        """Return the ledgers that the last committed batch has finished."""
        closed = json.loads(self.texts[-2])["closed"] if len(self.texts) > 1 else {}
        return [each for each in self.store.ledgers if str(each) in closed or self.app(each) == "theirs"]

    @rule(limit=st.sampled_from([ALL, ReadMaxRows(1), ReadMaxRows(5), ReadMaxBytes(7), ReadMaxBytes(30)]))
    def batch(self, limit: Any) -> None:
        self.run(self.reader, limit)

    def run(self, reader: LedgerStreamReader, limit: Any) -> bool:
        start = json.loads(self.texts[-1])
        text = json.dumps(reader.latestOffset(start, limit))
        if text == self.texts[-1]:
            return False
        for ledger_id, entries in rows_of(reader, start, json.loads(text)).items():
            assert self.app(ledger_id) == "mine"
            assert entries[0] == len(self.rows[ledger_id])
            self.rows[ledger_id] += entries
        self.texts.append(text)
        return True

    @rule(limit=st.sampled_from([ALL, ReadMaxRows(2)]))
    def available_now(self, limit: Any) -> None:
        """A run that ends by itself after the entries that existed at its start, although a writer goes on."""
        reader = self.new_reader()
        reader.prepareForTriggerAvailableNow()
        there = {each: self.store.ends[each] for each in self.mine()}
        for each in set(self.still_open()) & there.keys():
            self.store.add(each, end=there[each] + 2, app="mine")
        while self.run(reader, limit):
            pass
        assert {each: len(self.rows[each]) for each in there} == there

    @precondition(lambda self: len(self.texts) > 1)
    @rule()
    def replay(self) -> None:
        """Another process reads a planned batch again: it has the same rows."""
        start, end = map(json.loads, self.texts[-2:])
        for ledger_id, entries in rows_of(self.new_reader(), start, end).items():
            assert self.rows[ledger_id][entries[0] :] == entries

    @invariant()
    def every_entry_is_there_once_and_in_order(self) -> None:
        assert all(entries == list(range(len(entries))) for entries in self.rows.values())

    def teardown(self) -> None:
        self.available_now(ReadMaxRows(3))


TestTailing = Tailing.TestCase
TestTailing.settings = settings(max_examples=examples(50), stateful_step_count=30, deadline=None)
