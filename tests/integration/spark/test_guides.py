"""The programs in the guides to Spark run unchanged, on a cluster of ours in place of the one that they name."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.spark.sink.manifest import EpochKey
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.queries import PATIENCE_S, come_up
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support.our_client import OurClient, append_and_close, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.full]

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
URI = re.compile(r"zk(\+hierarchical)?://[^\"']*/ledgers")
PLACE = re.compile(r'"/(data|checkpoints|var)/')

LEDGER, ORDERS = 7, 12
"""The ledger that the guides name, and one with the custom metadata that they name."""

COUNT = 120

Names = dict[str, Any]


@frozen
class Guides:
    """The session and the cluster for their programs."""

    session: Any
    cluster: LocalCluster
    directory: Path

    def run(self, page: str, **names: Any) -> Names:
        """Run the programs of a page, one after the other; return ``names`` with those that the programs add."""
        blocks = BLOCK.findall((GUIDES / page).read_text(encoding="utf-8"))
        assert blocks
        self.session.catalog.dropTempView("entries")
        names = {"spark": self.session, **names}
        for language, text in blocks:
            program = PLACE.sub(rf'"{self.directory}/\1/', URI.sub(self.cluster.metadata_uri, text))
            if ".start()" in program:
                come_up(lambda program=program: _run(program, page, names)["query"])  # type: ignore[misc]
            elif language == "python":
                _run(program, page, names)
            else:
                for statement in filter(str.strip, program.split(";")):
                    self.session.sql(statement).collect()
        return names

    def load(self, **options: Any) -> Any:
        uri = self.cluster.metadata_uri
        return self.session.read.format("bookkeeper").options(metadataServiceUri=uri, **options).load()


def _run(program: str, page: str, names: Names) -> Names:
    exec(compile(program, page, "exec"), names)
    return names


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("guides"), bookie_count=3) as running:
        yield running


@pytest.fixture(scope="module")
def create(cluster: LocalCluster) -> Iterator[Callable[..., None]]:
    """``create(ledger_id, custom metadata)`` makes a closed ledger of :data:`COUNT` entries."""
    with OurClient(cluster.metadata_uri) as client:

        def create(ledger_id: int, custom: dict[str, bytes] | None = None) -> None:
            bookkeeper = client.bookkeeper
            writer = wait_for(bookkeeper.create_ledger, 3, 3, 2, custom_metadata=custom, ledger_id=ledger_id)
            append_and_close(writer, [b"entry %d" % number for number in range(COUNT)])

        create(LEDGER)
        create(ORDERS, {"application": b"orders"})
        yield create


@pytest.fixture
def guides(spark: Any, cluster: LocalCluster, create: Callable[..., None], tmp_path: Path) -> Guides:  # noqa: F811
    return Guides(spark, cluster, tmp_path)


def test_reading(guides: Guides, capfd: pytest.CaptureFixture[str]) -> None:
    names = guides.run("spark.md")
    assert names["spark"] is guides.session
    assert names["entries"].count() == COUNT
    assert re.search(rf"\| +{COUNT}\|", capfd.readouterr().out)
    (row,) = guides.session.sql("SELECT count(*) AS n, collect_set(ledger_id) AS ledgers FROM entries").collect()
    assert (row.n, sorted(row.ledgers)) == (2 * COUNT, [LEDGER, ORDERS])


def test_writing(guides: Guides, create: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    uri = guides.cluster.metadata_uri
    leftover = SinkMark("clicks", EpochKey("batch-nightly", 20261122), partition=1, attempt=2, task_attempt_id=3)
    create(4711, leftover.to_custom_metadata())
    frame = guides.session.range(COUNT).selectExpr("concat('line ', id) AS line")
    entries = guides.session.readStream.format("bookkeeper")
    stream = entries.options(metadataServiceUri=uri, ledger=LEDGER, startingOffsets="earliest").load()
    names = guides.run("spark-sink.md", frame=frame, stream=stream)
    assert "4711 Reason.LOST EpochKey(query_id='batch-nightly', epoch=20261122) 1 2\n" in capsys.readouterr().out
    assert [each.error for each in names["report"].leftovers] == [""]
    finish(names["query"])
    payloads = [bytes(row.payload).split()[0] for row in guides.load(manifest="clicks").collect()]
    assert sorted(payloads) == [b"entry"] * COUNT + [b"line"] * COUNT


def test_streaming(guides: Guides) -> None:
    names = guides.run("spark-streaming.md")
    finish(names["query"])
    found = guides.session.read.parquet(str(guides.directory / "data" / "orders"))
    assert found.select("ledger_id", "entry_id").distinct().count() == found.count() == COUNT
    assert {row.ledger_id for row in found.select("ledger_id").distinct().collect()} == {ORDERS}


def finish(query: Any) -> None:
    """Let a stream read all there is, and stop it."""
    try:
        query.processAllAvailable()
    finally:
        query.stop()
        query.awaitTermination(PATIENCE_S)


def test_tables(guides: Guides) -> None:
    logs = guides.directory / "var" / "bookkeeper"
    logs.mkdir(parents=True)
    guides.cluster.restart(0)  # entries in memory go to the entry logs
    (logs / "ledgers").symlink_to(guides.cluster.bookies[0].directory / "data")
    names = guides.run("spark-tables.md")
    assert names["copies"].count() == 3 * COUNT
