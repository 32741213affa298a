"""The modules that tasks of all kinds load, in a real session, with a bookie of ours.  Reads: ``test_source.py``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.queries import come_up
from tests.integration.spark.sink_driver import rows, write_stream
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support.our_client import OurClient, append_and_close
from tests.integration.support.payloads import payloads
from tests.sampling import one_in

pytestmark = pytest.mark.spark

COUNT = 100
QUORUMS = {"ensembleSize": 1, "writeQuorumSize": 1, "ackQuorumSize": 1}


@frozen
class Site:
    """A bookie, and a ledger of it."""

    uri: str
    ledger: int
    logs: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with LocalCluster(tmp_path_factory.mktemp("watched"), bookie_count=1) as cluster:
        with OurClient(cluster.metadata_uri) as client:
            ledger = append_and_close(client.create_ledger(), payloads(COUNT))
        cluster.restart(0)  # entries in memory go to the entry logs
        logs = cluster.directory / "bookie-0" / "data" / "current" / "*.log"
        yield Site(cluster.metadata_uri, ledger, str(logs))


@pytest.fixture
def name(spark: Any) -> str:  # noqa: F811
    """The format that is watched."""
    from bookkeeper_tx.spark.tables import BookKeeperSource
    from tests.integration.spark.spies import watched

    found = watched(BookKeeperSource)
    spark.dataSource.register(found)
    return found.name()


@pytest.mark.parametrize(
    ("table", "options", "count"),
    one_in(
        4,
        [
            ("ledgers", {"ledger": "{ledger}"}, 1),
            ("bookies", {}, 1),
            ("replicas", {"ledger": "{ledger}"}, 1),
            ("orphans", {"ids": "0-100"}, 0),
        ],
        first=2,
    ),
)
def test_tables(spark: Any, site: Site, name: str, table: str, options: dict[str, str], count: int) -> None:  # noqa: F811
    given = {key: value.format(ledger=site.ledger) for key, value in options.items()}
    frame = spark.read.format(name).options(metadataServiceUri=site.uri, **given).load(table)
    assert len(frame.collect()) == count


@pytest.mark.full
def test_entry_logs(spark: Any, site: Site, name: str) -> None:  # noqa: F811
    frame = spark.read.format(name).option("table", "entrylog").load(site.logs)
    assert frame.where(f"ledger_id = {site.ledger} AND entry_id >= 0").count() == COUNT


def test_sinks(spark: Any, site: Site, name: str, tmp_path: Path) -> None:  # noqa: F811
    options = {"metadataServiceUri": site.uri, "sinkId": "watched", **QUORUMS}
    rows(spark, COUNT, 2).write.format(name).mode("append").options(**options).save()
    lines = tmp_path / "lines"
    lines.mkdir()
    (lines / "0.txt").write_text("".join(f"{row}\n" for row in range(COUNT)))
    query = write_stream(spark, str(lines), str(tmp_path / "checkpoint"), options, name)
    assert query.exception() is None
    written = spark.read.format("bookkeeper").options(metadataServiceUri=site.uri, manifest="watched").load()
    assert written.count() == 2 * COUNT


def test_streams(spark: Any, site: Site, name: str, tmp_path: Path) -> None:  # noqa: F811
    options = {"metadataServiceUri": site.uri, "ledger": site.ledger, "startingOffsets": "earliest"}
    read = spark.readStream.format(name).options(**options).load()
    out = str(tmp_path / "out")
    writer = read.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = come_up(lambda: writer.trigger(availableNow=True).start(out))
    query.awaitTermination()
    assert query.exception() is None
    assert spark.read.parquet(out).count() == COUNT


def test_what_a_task_has_loaded_is_found(spark: Any) -> None:  # noqa: F811
    """The watch itself, on a package that tasks do load."""
    from tests.integration.spark.spies import check_not_loaded

    def load(batches: Any) -> Any:
        yield from batches
        check_not_loaded("a task", "pyarrow")

    with pytest.raises(Exception, match=r"a task has loaded \['pyarrow'"):
        spark.range(1).mapInArrow(load, "id BIGINT").collect()
