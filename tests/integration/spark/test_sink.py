"""The sink in a real session, with real bookies: every fault that can repeat or lose rows really happens.

Each test looks up the published ledgers in the manifest, and reads them from every bookie that the metadata names.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.client.writers_metadata import UNDER_REPLICATED
from bookkeeper_tx.model import LedgerState
from bookkeeper_tx.spark.sink.manifest import EpochKey
from bookkeeper_tx.spark.sink.sweep import Reason
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.process import spark_process
from tests.integration.spark.queries import PATIENCE_S, come_up
from tests.integration.spark.sink_site import BATCH_ROWS, EPOCHS, FILES, PASSWORD, ROWS, Sink, expected
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.sampling import one_in, only

pytestmark = pytest.mark.spark

ONE_CORE_EACH = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "600m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
}
"""Settings of a cluster of its own: executors that have one task at a time."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=1) as running:
        yield running


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:  # noqa: F811
    from bookkeeper_tx.spark.tables import BookKeeperSource
    from tests.integration.spark.sink_faults import FaultySource

    spark.dataSource.register(BookKeeperSource)
    spark.dataSource.register(FaultySource)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    return spark


@pytest.fixture
def sink(cluster: LocalCluster, session: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Sink:
    return Sink(cluster, session, tmp_path, request.node.name)


# Without faults ------------------------------------------------------------------------------------------------------


def test_rows_become_published_ledgers_in_their_order(sink: Sink) -> None:
    sink.write(maxLedgerEntries=10_000)
    assert sink.rows() == expected()
    ((_, ledgers),) = sink.manifest()
    assert [each.last_entry_id + 1 for each in ledgers] == [10_000, 5_000, 10_000, 5_000]
    sink.write(count=10, partitions=1)
    assert sink.rows() == expected() + expected(10)
    loaded = sink.spark.read.format("bookkeeper").options(
        metadataServiceUri=sink.uri, manifest=sink.name, passwordFile=str(sink.password_file)
    )
    assert loaded.load().count() == ROWS + 10


@pytest.mark.full
def test_partitions_without_rows_have_no_ledgers(sink: Sink) -> None:
    sink.write(count=1, partitions=4)
    assert sink.rows() == expected(1)
    assert len(sink.ledgers()) == 1


def test_a_batch_write_is_idempotent_by_application_and_version(sink: Sink) -> None:
    for _ in range(2):
        sink.write("write again", count=100, txnAppId="nightly", txnVersion=7)
    assert sink.rows() == expected(100)
    first, second = (json.loads(note[2]) for note in sink.noted("commit"))
    assert set(first) & set(second) == set()
    assert set(sink.ledgers()) == set(first)
    sink.write(count=50, txnAppId="nightly", txnVersion=7)
    assert set(sink.ledgers()) == set(first)
    sink.write(count=50, txnAppId="nightly", txnVersion=8)
    assert [key for key, _ in sink.manifest()] == [EpochKey("batch-nightly", 7), EpochKey("batch-nightly", 8)]
    assert sink.rows() == expected(100) + expected(50)


@pytest.mark.parametrize(
    ("columns", "mode", "said"),
    one_in(
        4,
        [
            (["id as number"], "append", "there is no column 'payload'"),
            (["cast(id as string) as payload"], "append", "cast"),
            (["cast('' as binary) as payload", "id as key"], "append", "columns key have no place"),
            (["cast(null as binary) as payload"], "append", "payload is null in"),
            (["cast('' as binary) as payload"], "overwrite", "mode overwrite is not possible"),
        ],
    ),
)
def test_what_cannot_be_written_is_said(sink: Sink, columns: list[str], mode: str, said: str) -> None:
    frame = sink.spark.range(10).selectExpr(*columns)
    with pytest.raises(Exception, match=said):
        frame.write.format("bookkeeper").mode(mode).options(**sink.options()).save()
    assert sink.manifest() == []


@pytest.mark.full
def test_the_password_of_a_sink_is_written_down_nowhere(sink: Sink) -> None:
    sink.write()
    sink.stream()
    entries = sink.spark.readStream.format("bookkeeper").option("metadataServiceUri", sink.uri)
    named = entries.options(manifest=sink.name, passwordFile=str(sink.password_file), startingOffsets="earliest")
    checkpoint = sink.directory / "of reader"
    query = named.load().writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    read = come_up(query.trigger(availableNow=True).start)
    assert read.awaitTermination(PATIENCE_S)
    assert sum(each["numInputRows"] for each in read.recentProgress) == ROWS + len(EPOCHS)
    events = Path(sink.spark.sparkContext.getConf().get("spark.eventLog.dir").removeprefix("file:"))
    for place in (events, sink.checkpoint, checkpoint):
        written = [path.read_bytes() for path in place.rglob("*") if path.is_file()]
        assert any(each for each in written)
        assert not any(PASSWORD in each for each in written), place


# Faults --------------------------------------------------------------------------------------------------------------


def test_a_killed_worker_leaves_nothing_that_readers_see(sink: Sink) -> None:
    sink.write("kill")
    assert sink.noted("killed", "-", "1")
    assert [note[3] for note in sink.noted("write", "-", "1")] == ["0", "1"]
    assert sink.rows() == expected()
    assert {(mark.partition, mark.attempt) for mark in sink.marks(LedgerState.OPEN)} == {(1, 0)}
    assert {(mark.partition, mark.attempt) for mark in sink.marks(LedgerState.CLOSED)} == {(0, 0), (1, 1)}
    (leftover,) = sink.sweep_all().leftovers
    assert (leftover.mark.attempt, leftover.state, leftover.reason) == (0, LedgerState.OPEN, Reason.LOST)


@pytest.mark.full
def test_a_write_that_fails_publishes_nothing(sink: Sink) -> None:
    with pytest.raises(Exception, match="this partition always fails"):
        sink.write("fail")
    assert [note[3] for note in sink.noted("write", "-", "1")] == ["0", "1", "2"]
    assert sink.noted("abort")
    assert sink.manifest() == []
    assert {mark.partition for mark in sink.marks()} <= {0, 1}
    report = sink.sweep_all()
    assert {each.reason for each in report.leftovers} == {Reason.OLD}
    assert sink.ledgers() == {}


@pytest.mark.full
def test_workers_killed_in_a_stream(sink: Sink) -> None:
    assert len(sink.stream("kill")) == FILES
    assert sink.noted("killed", "1")
    assert sink.rows() == EPOCHS
    assert [mark.key.epoch for mark in sink.marks(LedgerState.OPEN)] == [1]
    assert len(sink.sweep_all().leftovers) == 1


@pytest.mark.parametrize("fault", only("write again", ["", "write again"]), ids=["seen before", "seen at commit"])
def test_a_repeated_epoch_changes_nothing(sink: Sink, fault: str) -> None:
    sink.stream()
    before = sink.manifest(), sink.rows()
    assert before[1] == EPOCHS
    (sink.checkpoint / "commits" / str(FILES - 1)).unlink()
    (sink.checkpoint / "commits" / f".{FILES - 1}.crc").unlink(missing_ok=True)
    progress = sink.stream(fault)
    assert [each["batchId"] for each in progress if each["numInputRows"]] == [FILES - 1]
    first, second = (json.loads(note[2]) for note in sink.noted("commit", str(FILES - 1)))
    assert len(first) == 1
    assert len(second) == (1 if fault else 0)
    assert set(first) & set(second) == set()
    assert (sink.manifest(), sink.rows()) == before
    assert set(sink.ledgers()) == set(sink.published_ids())


@pytest.mark.full
def test_a_driver_that_died_between_write_and_commit(sink: Sink) -> None:
    with driver(sink, {**sink.stream_of_its_own(), "options": sink.options("hang in commit")}) as child:
        wait_until(lambda: bool(sink.noted("commit")), child)
        os.killpg(child.pid, signal.SIGKILL)
    orphans = set(json.loads(sink.noted("commit")[0][2]))
    assert orphans
    assert set(sink.ledgers()) == orphans
    assert sink.manifest() == []
    sink.stream()
    assert [note[1] for note in sink.noted("commit")] == ["0", "0", "1", "2"]
    assert sink.rows() == EPOCHS
    report = sink.sweep_all()
    assert {each.ledger_id for each in report.leftovers} == orphans
    assert {each.reason for each in report.leftovers} == {Reason.LOST}


@pytest.mark.parametrize("spare", only(True, [True, False]), ids=["another bookie", "no other bookie"])
@pytest.mark.crash
def test_a_bookie_killed_in_mid_write(session: Any, tmp_path: Path, spare: bool) -> None:
    with LocalCluster(tmp_path / "bookies", bookie_count=4 if spare else 3) as cluster:
        sink = Sink(cluster, session, tmp_path, "mid-write")
        sink.sizes = (3, 3, 2)
        pids = {bookie.bookie_id: bookie.pid for bookie in cluster.bookies}
        # Without a spare bookie a later task cannot begin, so there is only one.
        partitions = 2 if spare else 1
        count = 30_000 * partitions
        data = json.dumps({"uri": sink.uri, "pids": pids})
        sink.write("bookie", count=count, partitions=partitions, faultData=data)
        ((_, victim, ledger_id),) = sink.noted("bookie")
        assert not cluster.bookies[cluster.index_of(victim)].running
        assert sink.rows() == expected(count)
        hurt = [each for each, metadata in sink.ledgers().items() if victim in metadata.last_fragment.ensemble]
        assert int(ledger_id) in hurt
        notes = {metadata.custom_metadata.get(UNDER_REPLICATED) for metadata in sink.ledgers().values()}
        if spare:
            assert notes == {None}
            assert len(sink.published_ids()) > 2
        else:
            assert victim.encode() in notes
        # Replicas that no published ledger names lie on the victim alone; rows() has compared all others.
        cluster.restart(cluster.index_of(victim))
        assert sink.rows() == expected(count)


@pytest.mark.full
@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_of_two_speculative_attempts_one_counts(sink: Sink, tmp_path: Path, streaming: bool) -> None:
    from tests.integration.spark.standalone import standalone_cluster

    work = sink.stream_of_its_own() if streaming else {"rows": 4 * 15_000, "partitions": 4}
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        # An epoch is one task, and Spark has no others to compare it with.
        "spark.speculation.task.duration.threshold": "20s",
        **ONE_CORE_EACH,
    }
    with standalone_cluster(tmp_path) as master:
        asked = {"master": master, "settings": settings, **work}
        with driver(sink, {**asked, "options": sink.options("slow")}) as child:
            assert child.wait(PATIENCE_S) == 0, (tmp_path / "driver.log").read_text()[-5000:]
    epoch = 1 if streaming else 0
    assert sorted(note[3] for note in sink.noted("write", "1" if streaming else "-", "0")) == ["0", "1"]
    assert sink.rows() == (EPOCHS if streaming else expected(4 * 15_000))
    rivals = {mark.attempt for mark in sink.marks() if (mark.key.epoch, mark.partition) == (epoch, 0)}
    assert rivals == {0, 1}
    (leftover,) = sink.sweep_all().leftovers
    assert (leftover.mark.key.epoch, leftover.mark.partition, leftover.mark.attempt) == (epoch, 0, 0)
    assert sink.rows() == (EPOCHS if streaming else expected(4 * 15_000))


@pytest.mark.full
@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_a_killed_executor_leaves_nothing_that_readers_see(sink: Sink, tmp_path: Path, streaming: bool) -> None:
    from tests.integration.spark.standalone import standalone_cluster

    work = sink.stream_of_its_own() if streaming else {"rows": ROWS, "partitions": 2}
    with standalone_cluster(tmp_path) as master:
        asked = {"master": master, "settings": ONE_CORE_EACH, **work}
        with driver(sink, {**asked, "options": sink.options("kill executor")}) as child:
            assert child.wait(PATIENCE_S) == 0, (tmp_path / "driver.log").read_text()[-5000:]
    ((_, epoch, partition, killed),) = sink.noted("killed")
    assert (epoch, partition) == (("1", "0") if streaming else ("-", "1"))
    first, second = (note[3:] for note in sink.noted("write", epoch, partition))
    assert first == ["0", killed]
    assert second[0] == "1"
    assert second[1] != killed, "it went on elsewhere"
    assert sink.rows() == (EPOCHS if streaming else expected())
    assert {(mark.partition, mark.attempt) for mark in sink.marks(LedgerState.OPEN)} == {(int(partition), 0)}
    (leftover,) = sink.sweep_all().leftovers
    assert (leftover.mark.attempt, leftover.state, leftover.reason) == (0, LedgerState.OPEN, Reason.LOST)


@contextmanager
def driver(sink: Sink, asked: dict[str, Any]) -> "Iterator[subprocess.Popen[bytes]]":
    """Give a driver of its own in a process group of its own, which is gone at the end of the block."""
    asked = {"master": "local[2,3]", "settings": {}, **asked}
    command = [sys.executable, "-m", "tests.integration.spark.sink_driver"]
    with spark_process(command, sink.directory / "driver.log") as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode())
        process.stdin.close()
        yield process


def wait_until(condition: Callable[[], bool], child: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert child.poll() is None, f"the driver ended with {child.returncode}"
        assert time.monotonic() < deadline, "the driver does not get there"
        time.sleep(0.1)
