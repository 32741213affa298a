"""The sink without a session: the writes that it refuses, and the ledgers that it publishes and deletes."""

import pickle
from types import SimpleNamespace

import pyarrow as pa
import pytest
from attrs import evolve
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from bookkeeper_tx.errors import (
    IllegalOperation,
    InvalidArgument,
    InvalidConfig,
    MetadataUnavailable,
    NotEnoughBookies,
)
from bookkeeper_tx.model import Fragment, LedgerMetadata, Versioned
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.sink import writer as sink_writer
from bookkeeper_tx.spark.sink.commit import abort_epoch, commit_epoch
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger, abandon, published
from bookkeeper_tx.spark.sink.sink import SinkStreamWriter, SinkWriter, make_stream_writer, make_writer
from bookkeeper_tx.spark.sink.writer import EpochMessage, SinkPlan, payload_index, payloads_of, write_partition
from tests.spark.writing.memory_store import MemoryStore

KEY = EpochKey("query", 3)
PAYLOAD = StructType([StructField("payload", BinaryType())])
GIVEN = {"metadataServiceUri": "sqlite:///nowhere", "sinkId": "sink"}


def options(use=Use.WRITE, **more):
    return Options.from_spark({**GIVEN, **more}, use)


def message(partition, *ledger_ids, key=KEY):
    return EpochMessage(key, partition, tuple(PublishedLedger(each, 9, 100) for each in ledger_ids))


class Plan:
    """A plan whose store is in memory, with ledgers 0 to 9 in it."""

    sink_id = "sink"

    def __init__(self):
        self.store = MemoryStore()
        metadata = LedgerMetadata(1, 1, 1, (Fragment(0, ("a",)),)).with_close(9, 100)
        self.store.ledgers = dict.fromkeys(range(10), Versioned(metadata, 0))

    def open_store(self):
        return self.store


@pytest.fixture
def plan():
    return Plan()


@pytest.fixture
def store(monkeypatch):
    """The store that the plans of writers open: it has three bookies."""
    memory = MemoryStore({"a", "b", "c"})
    monkeypatch.setattr(SinkPlan, "open_store", lambda plan: memory)
    return memory


# Rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(3)])
@pytest.mark.parametrize("bounds", [(0, 5), (2, 2), (1, 0), (4, 1)])
def test_payloads_are_cut_out_of_any_binary_column(kind, bounds):
    values = [b"abc", b"def", b"ghi", b"jkl", b"mno"]
    column = pa.array(values, kind).slice(*bounds)
    assert payloads_of(column) == values[bounds[0] : sum(bounds)]


def test_payloads_of_any_size_are_cut_out():
    values = [b"", b"a", b"", b"bc" * 1000, b""]
    assert payloads_of(pa.array(values, pa.binary())) == values
    assert payloads_of(pa.array([b"", b""], pa.binary())) == [b"", b""]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_payloads_of_one_size_keep_their_zeros(kind):
    values = [b"\0" * 8, b"12345678", b"abc\0\0\0\0\0"]
    assert payloads_of(pa.array(values, kind)) == values
    assert payloads_of(pa.array([b"xyz", *values], kind).slice(1)) == values


def test_null_is_no_payload():
    with pytest.raises(InvalidArgument, match="payload is null in 2 rows"):
        payloads_of(pa.array([b"a", None, None], pa.binary()))


def test_columns_of_the_source_are_ignored():
    schema = StructType([StructField("ledger_id", LongType()), *PAYLOAD.fields, StructField("entry_id", LongType())])
    assert payload_index(schema) == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([], "there is no column 'payload' among no columns"),
        ([StructField("value", BinaryType())], "there is no column 'payload' among value"),
        ([StructField("payload", StringType())], r"cast\('binary'\)"),
        ([*PAYLOAD.fields, StructField("key", LongType())], "columns key have no place"),
    ],
)
def test_rows_that_are_no_entries_are_refused(fields, said):
    with pytest.raises(InvalidArgument, match=said):
        payload_index(StructType(fields))


# Options -------------------------------------------------------------------------------------------------------------


def test_overwriting_is_refused():
    with pytest.raises(IllegalOperation, match="mode overwrite is not possible"):
        make_writer(options(), PAYLOAD, overwrite=True)
    with pytest.raises(IllegalOperation, match="output mode complete is not possible"):
        make_stream_writer(options(Use.STREAM_WRITE), PAYLOAD, overwrite=True)


def test_a_sink_needs_a_name():
    nameless = evolve(options(), sink_id=None)
    with pytest.raises(InvalidConfig, match="sinkId"):
        make_writer(nameless, PAYLOAD, overwrite=False)


def test_a_version_is_the_same_epoch_and_a_write_without_one_is_another(store):
    def key(**more):
        return make_writer(options(**more), PAYLOAD, overwrite=False)._key

    assert key(txnAppId="app", txnVersion="7") == EpochKey("batch-app", 7)
    assert key() != key()


def test_writers_travel_and_show_no_password(tmp_path, store):
    (tmp_path / "password").write_text("hidden\n")
    writer = make_writer(options(passwordFile=str(tmp_path / "password")), PAYLOAD, overwrite=False)
    copy = pickle.loads(pickle.dumps(writer))
    assert isinstance(copy, SinkWriter)
    assert copy._plan == writer._plan
    assert copy._plan.password.value == b"hidden"
    assert "hidden" not in repr(copy._plan)


# Bookies -------------------------------------------------------------------------------------------------------------


def test_too_few_bookies_are_an_error_before_any_task_begins(store):
    store.writable = {"a", "b"}
    for make, use in ((make_writer, Use.WRITE), (make_stream_writer, Use.STREAM_WRITE)):
        with pytest.raises(NotEnoughBookies, match=r"option ensembleSize = 3: .* 2 can be written to; start more"):
            make(options(use), PAYLOAD, overwrite=False)
        make(options(use, ensembleSize="2", writeQuorumSize="2"), PAYLOAD, overwrite=False)


def test_a_write_that_was_published_needs_no_bookies(store):
    store.writable = set()
    commit_epoch(SimpleNamespace(sink_id="sink", open_store=lambda: store), EpochKey("batch-app", 7), [])
    make_writer(options(txnAppId="app", txnVersion="7"), PAYLOAD, overwrite=False)
    with pytest.raises(NotEnoughBookies):
        make_writer(options(txnAppId="app", txnVersion="8"), PAYLOAD, overwrite=False)


def test_a_task_that_finds_too_few_bookies_names_the_option(store, monkeypatch):
    task = SimpleNamespace(partitionId=lambda: 0, attemptNumber=lambda: 0, taskAttemptId=lambda: 0)
    monkeypatch.setattr(sink_writer, "TaskContext", SimpleNamespace(get=lambda: task))
    writer = make_writer(options(), PAYLOAD, overwrite=False)
    store.writable = {"a"}
    rows = pa.record_batch({"payload": pa.array([b"x"], pa.binary())})
    with pytest.raises(NotEnoughBookies, match="3 bookies are needed, 1 of 1") as caught:
        write_partition(writer._plan, KEY, iter([rows]))
    assert "ensembleSize" in "".join(caught.value.__notes__)


# Commit and abort ----------------------------------------------------------------------------------------------------


def test_a_commit_publishes_by_partition(plan):
    commit_epoch(plan, KEY, [message(1, 5, 2), None, message(0, 7)])
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [7, 5, 2]
    assert len(plan.store.ledgers) == 10


def test_a_commit_of_a_published_epoch_deletes_its_own_ledgers_only(plan):
    commit_epoch(plan, KEY, [message(0, 1)])
    commit_epoch(plan, KEY, [message(0, 2)])
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [1]
    assert set(range(10)) - plan.store.ledgers.keys() == {2}


def test_a_commit_whose_answers_are_lost_is_made_once(plan):
    lost = []

    def lose(request):
        if len(lost) < 2:
            lost.append(request)
            raise MetadataUnavailable

    plan.store.after = lose
    commit_epoch(plan, KEY, [message(0, 1)])
    assert len(lost) == 2
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [1]
    assert len(plan.store.ledgers) == 10


def test_an_abort_behind_a_commit_that_was_made_deletes_nothing(plan):
    """Spark aborts when a commit fails, even if the commit was made."""

    def lose(request):
        raise MetadataUnavailable

    plan.store.after = lose
    with pytest.raises(MetadataUnavailable):
        commit_epoch(plan, KEY, [message(0, 1)])
    plan.store.after = lambda request: None
    abort_epoch(plan, KEY, [message(0, 1)])
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [1]
    assert len(plan.store.ledgers) == 10


def test_an_abort_deletes_what_it_knows_and_the_epoch_can_be_written_again(plan):
    abort_epoch(plan, KEY, [message(0, 1), None])
    assert set(range(10)) - plan.store.ledgers.keys() == {1}
    commit_epoch(plan, KEY, [message(0, 2)])
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [2]


def test_an_abort_without_ledgers_or_without_a_store_changes_nothing(plan):
    abort_epoch(plan, KEY, [None, message(0)])
    assert plan.store.documents == {}

    def fail(request):
        raise MetadataUnavailable

    plan.store.before = fail
    abort_epoch(plan, KEY, [message(0, 1)])
    assert len(plan.store.ledgers) == 10


def test_what_cannot_be_deleted_does_not_undo_a_commit(plan):
    commit_epoch(plan, KEY, [message(0, 1)])

    def fail(request):
        if request == "delete_ledger":
            raise MetadataUnavailable

    plan.store.before = fail
    commit_epoch(plan, KEY, [message(0, 2)])
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [1]


def test_a_micro_batch_is_published_under_the_query_of_its_tasks(plan):
    writer = SinkStreamWriter(plan)
    writer.commit([message(0, 1), None, message(1, 2)], 3)
    assert [each.ledger_id for each in published(plan.store, "sink", KEY)] == [1, 2]
    writer.commit([], 4)
    assert len(plan.store.documents) == 1
    writer.abort([message(0, 5, key=EpochKey("query", 4)), None], 4)
    assert 5 not in plan.store.ledgers
    with pytest.raises(IllegalOperation, match="commits epoch 9"):
        writer.commit([message(0, 6)], 9)
    assert abandon(plan.store, "sink", EpochKey("query", 9), {6}) == {6}
