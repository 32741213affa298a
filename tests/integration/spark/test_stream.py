"""Ledgers as a stream, in a real session, from bookies of ours, while a client writes to them."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.sink.manifest import read_manifest
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import COMMAND, environment
from tests.integration.spark.queries import PATIENCE_S, come_up
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support.our_client import OurClient, append, poll, wait_for

pytestmark = pytest.mark.spark

PAYLOAD = b"x" * 100

Row = tuple[int, int]
"""Ledger and entry."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=1) as running:
        yield running


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[OurClient]:
    with OurClient(cluster.metadata_uri, protocol="v3") as client:
        yield client


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """The custom metadata of the ledgers of this test."""
    return str(request.node.name)


@pytest.fixture
def create(client: OurClient, app: str) -> Callable[[], LedgerWriter]:
    return lambda: client.create_ledger(custom={"app": app.encode()})


def fill(writer: LedgerWriter, count: int) -> None:
    """Append entries of which all but the last are confirmed to readers."""
    append(writer, [PAYLOAD] * (count - 1))
    append(writer, [PAYLOAD])


def close(writer: LedgerWriter) -> None:
    wait_for(writer.close)


def rows(ledger_id: int, first: int, end: int) -> list[Row]:
    return [(ledger_id, entry_id) for entry_id in range(first, end)]


class Stream:
    """A query and its checkpoint: started, stopped and started again."""

    def __init__(self, session: Any, cluster: LocalCluster, checkpoint: Path, **options: Any) -> None:
        self.session = session
        self.checkpoint = checkpoint
        self.options = {"metadataServiceUri": cluster.metadata_uri, "startingOffsets": "earliest", **options}
        self.batches: dict[int, list[Row]] = {}
        """The rows of each batch, as of its last run."""
        self.last_progress: list[Any] = []

    def frame(self, **options: Any) -> Any:
        return self.session.readStream.format("bookkeeper").options(**{**self.options, **options}).load()

    def start(self, available_now: bool = False, **options: Any) -> Any:
        trigger = {"availableNow": True} if available_now else {"processingTime": "100 milliseconds"}
        writer = self.frame(**options).writeStream.foreachBatch(self._take)
        return come_up(writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start)

    def run(self, **options: Any) -> list[list[Row]]:
        """Read all available entries; return the rows of the new batches."""
        before = len(self.batches)
        query = self.start(available_now=True, **options)
        assert query.awaitTermination(PATIENCE_S)
        self.last_progress = query.recentProgress
        return [self.batches[each] for each in sorted(self.batches)][before:]

    def rows(self) -> list[Row]:
        """Return all rows so far, in the order of the batches."""
        return [row for each in sorted(self.batches) for row in self.batches[each]]

    def _take(self, frame: Any, batch_id: int) -> None:
        found = frame.select("ledger_id", "entry_id").collect()
        self.batches[batch_id] = sorted((row.ledger_id, row.entry_id) for row in found)


@pytest.fixture
def stream(spark: Any, cluster: LocalCluster, tmp_path: Path, app: str) -> Callable[..., Stream]:  # noqa: F811
    def stream(**options: Any) -> Stream:
        chosen = options.keys() & {"ledger", "ledgers", "manifest"}
        selector = {} if chosen else {"ledgerMetadata.app": app}
        return Stream(spark, cluster, tmp_path / "checkpoint", **selector, **options)

    return stream


@pytest.mark.full
def test_batches_are_as_large_as_was_asked(create: Callable[[], LedgerWriter], stream: Callable[..., Stream]) -> None:
    writer = create()
    fill(writer, 100)
    close(writer)
    by_entries = stream(maxEntriesPerTrigger=30)
    assert [len(batch) for batch in by_entries.run()] == [30, 30, 30, 10]
    assert [each.numInputRows for each in by_entries.last_progress if each.numInputRows] == [30, 30, 30, 10]
    assert by_entries.rows() == rows(writer.ledger_id, 0, 100)
    sources = by_entries.last_progress[0].sources[0]
    assert json.loads(sources.endOffset)["open"] == {str(writer.ledger_id): 30}
    assert json.loads(sources.latestOffset)["closed"] == {str(writer.ledger_id): 100}


@pytest.mark.full
def test_batches_are_as_large_in_bytes_as_was_asked(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream]
) -> None:
    writer = create()
    fill(writer, 51)
    by_bytes = stream(maxBytesPerTrigger="2k")
    assert [len(batch) for batch in by_bytes.run()] == [20, 20, 10]  # the ledger is open: its last entry is not seen
    assert [each.numInputRows for each in by_bytes.last_progress if each.numInputRows] == [20, 20, 10]
    close(writer)
    assert by_bytes.run() == [rows(writer.ledger_id, 50, 51)]


def forget(log: Path, batch: int) -> None:
    """Take a batch out of one of the logs of a checkpoint."""
    (log / str(batch)).unlink(missing_ok=True)
    (log / f".{batch}.crc").unlink(missing_ok=True)


def test_a_query_goes_on_from_its_checkpoint(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream], tmp_path: Path
) -> None:
    first, second = create(), create()
    fill(first, 40)
    fill(second, 40)
    query = stream(maxEntriesPerTrigger=7)
    running = query.start()
    assert poll(lambda: len(query.batches) >= 3, PATIENCE_S)
    running.stop()
    fill(first, 10)
    close(first)
    # For the next run the last batch is not committed: it comes again, with the same rows.
    last = max(query.batches)
    came_before = query.batches.pop(last)
    forget(tmp_path / "checkpoint" / "commits", last)
    forget(tmp_path / "checkpoint" / "offsets", last + 1)  # it may have been planned when the query was stopped
    query.run()
    assert query.batches[last] == came_before
    close(second)
    query.run()
    assert len(query.rows()) == 90
    assert sorted(query.rows()) == sorted(rows(first.ledger_id, 0, 50) + rows(second.ledger_id, 0, 40))
    assert query.run() == []


@pytest.mark.full
def test_a_closed_ledger_is_followed_by_the_next(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream]
) -> None:
    query = stream(maxEntriesPerTrigger=25)
    first = create()
    fill(first, 31)
    assert query.run() == [rows(first.ledger_id, 0, 25), rows(first.ledger_id, 25, 30)]
    close(first)
    second = create()
    fill(second, 40)
    close(second)
    third = create()
    fill(third, 3)
    query.run()
    order = rows(first.ledger_id, 0, 31) + rows(second.ledger_id, 0, 40) + rows(third.ledger_id, 0, 2)
    assert query.rows() == order
    close(third)
    assert query.run() == [rows(third.ledger_id, 2, 3)]
    assert query.run() == []


def test_a_stream_from_the_latest_has_what_comes_later(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream]
) -> None:
    closed, still_open = create(), create()
    fill(closed, 5)
    close(closed)
    fill(still_open, 5)
    query = stream(startingOffsets="latest")
    running = query.start()
    # The stream fixes its beginning when it is defined; the first batch puts it on record.
    fill(still_open, 5)
    late = create()
    fill(late, 3)
    wanted = sorted(rows(still_open.ledger_id, 4, 9) + rows(late.ledger_id, 0, 2))
    assert poll(lambda: sorted(query.rows()) == wanted, PATIENCE_S)
    running.stop()


@pytest.mark.full
def test_a_ledger_that_was_deleted(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream], client: OurClient
) -> None:
    kept, deleted = create(), create()
    for writer in (kept, deleted):
        fill(writer, 10)
    query = stream()
    query.run()
    wait_for(client.bookkeeper.delete_ledger, deleted.ledger_id)
    close(kept)
    with pytest.raises(Exception, match=r"ledger \d+: .*, and the stream did not read it.*failOnDataLoss=false"):
        query.run()
    assert query.run(failOnDataLoss=False) == [rows(kept.ledger_id, 9, 10)]
    assert query.run() == []  # it is on record that nothing of the ledger follows


@pytest.mark.full
def test_a_named_ledger_that_was_read_and_deleted(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream], client: OurClient
) -> None:
    """The query is defined anew after the ledger is gone; its checkpoint says that the ledger was read to its end."""
    read, kept = create(), create()
    for writer in (read, kept):
        fill(writer, 10)
    close(read)
    query = stream(ledgers=f"{read.ledger_id},{kept.ledger_id}")
    assert query.run() == [sorted(rows(read.ledger_id, 0, 10) + rows(kept.ledger_id, 0, 9))]
    wait_for(client.bookkeeper.delete_ledger, read.ledger_id)
    close(kept)
    assert query.run() == [rows(kept.ledger_id, 9, 10)]
    wait_for(client.bookkeeper.delete_ledger, kept.ledger_id)
    assert query.run() == []


@pytest.mark.full
def test_ids_of_128_bits(client: OurClient, stream: Callable[..., Stream]) -> None:
    scoped = LedgerId(-3, 17)
    writer = wait_for(client.bookkeeper.create_ledger, 1, 1, 1, ledger_id=-3, scope_id=17)
    fill(writer, 5)
    query = stream(ledgers="0-", scope="17", includeScope=True, maxEntriesPerTrigger=3)
    assert query.run() == [rows(-3, 0, 3), rows(-3, 3, 4)]
    assert json.loads(query.last_progress[0].sources[0].endOffset)["open"] == {str(int(scoped)): 3}


@pytest.mark.full
def test_what_a_sink_publishes_is_read_in_the_order_of_its_epochs(
    create: Callable[[], LedgerWriter], stream: Callable[..., Stream], cluster: LocalCluster, app: str, tmp_path: Path
) -> None:
    source, copies = stream(maxEntriesPerTrigger=20), stream(manifest=app, maxEntriesPerTrigger=30)
    writer = create()

    def copy() -> None:
        """Have the sink publish the entries of the source."""
        sink = source.frame().select("payload").writeStream.format("bookkeeper")
        sink = sink.options(metadataServiceUri=cluster.metadata_uri, sinkId=app)
        sink = sink.options(ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1)
        query = come_up(sink.option("checkpointLocation", str(tmp_path / "copy")).trigger(availableNow=True).start)
        assert query.awaitTermination(PATIENCE_S)

    fill(writer, 51)
    copy()
    assert [len(batch) for batch in copies.run()] == [30, 20]
    fill(writer, 20)
    close(writer)
    copy()
    copies.run()
    with open_blocking_store(cluster.metadata_uri) as store:
        epochs = read_manifest(store, app)
    published = [each for _, ledgers in epochs for each in ledgers]
    assert sum(each.last_entry_id + 1 for each in published) == 71
    assert copies.rows() == [row for each in published for row in rows(each.ledger_id, 0, each.last_entry_id + 1)]
    assert len(epochs) == 5
    assert copies.run() == []


@pytest.mark.full
def test_a_ledger_is_tailed_while_a_process_writes_it(
    spark: Any,  # noqa: F811
    cluster: LocalCluster,
    app: str,
    tmp_path: Path,
    stream: Callable[..., Stream],
) -> None:
    frame = stream().frame()
    lines = frame.selectExpr("ledger_id", "entry_id", "cast(payload as string) as line")
    table = lines.writeStream.format("memory").queryName("tailed")
    query = come_up(table.option("checkpointLocation", str(tmp_path / "checkpoint")).start)
    arguments = ["ledger", "write", "--metadata", cluster.metadata_uri, "--replicas", "1", "--custom", f"app={app}"]
    writer = subprocess.Popen([*COMMAND, *arguments], stdin=subprocess.PIPE, env=environment(), stdout=subprocess.PIPE)
    assert writer.stdin is not None
    written = 0

    def seen_while_written(least: int) -> bool:
        """Write one more line; return whether so many are seen while the ledger is open."""
        nonlocal written
        assert writer.stdin is not None
        writer.stdin.write(b"%d\n" % written)
        writer.stdin.flush()
        written += 1
        assert query.exception() is None
        return bool(spark.table("tailed").count() >= least)

    try:
        for least in (1, 5, 10):
            assert poll(lambda least=least: seen_while_written(least), PATIENCE_S)  # type: ignore[misc]
        assert writer.poll() is None
        output, _ = writer.communicate(timeout=PATIENCE_S)
        assert poll(lambda: spark.table("tailed").count() == written, PATIENCE_S)
    finally:
        writer.kill()
        query.stop()
    found = [(row.ledger_id, row.entry_id, row.line) for row in spark.table("tailed").collect()]
    assert sorted(found) == [(int(output), entry_id, f"{entry_id}\n") for entry_id in range(written)]
    assert query.exception() is None
