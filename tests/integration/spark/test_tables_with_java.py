"""The tables about a cluster in ZooKeeper: ledgers of a Java client, on bookies of Java and ours, and their files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import session
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support.mixed_cluster import mixed_cluster
from tests.integration.support.planted_damage import stopped

pytestmark = [pytest.mark.spark, pytest.mark.java, pytest.mark.full]

RELEASE = "4.18.0"
GARBAGE_LEDGER = 4713
REMOVED = 11
PAYLOADS = [b"java %d " % number * (number % 40 + 1) for number in range(60)]


@frozen
class JavasCluster:
    """The ledgers that a Java client has written."""

    uri: str
    ours: LocalCluster
    bookie: JavaBookie
    ledger: int


@pytest.fixture(scope="module")
def javas(zookeeper: ZooKeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavasCluster]:
    with mixed_cluster(zookeeper, RELEASE, tmp_path_factory.mktemp("mixed")) as mixed:
        ledger = mixed.java.create_ledger(3, 3, 3, custom={"who": b"java"})
        for payload in PAYLOADS:
            ledger.append(payload)
        ledger.close()
        unfinished = mixed.java.create_ledger(2, 2, 2, digest="CRC32")
        unfinished.append(b"first")
        with session(mixed.cluster.zookeeper) as client:
            client.create(f"{mixed.cluster.root}/00/0000/L{GARBAGE_LEDGER}", b"garbage")
        with stopped(mixed.our_bookies, 0) as bookie:
            bookie.remove(ledger.ledger_id, REMOVED)
        yield JavasCluster(mixed.cluster.uri, mixed.our_bookies, mixed.java_bookie, ledger.ledger_id)


@pytest.fixture
def table(spark: Any, javas: JavasCluster) -> Callable[..., Any]:  # noqa: F811
    def load(name: str, **options: Any) -> Any:
        return spark.read.format("bookkeeper").options(metadataServiceUri=javas.uri, **options).load(name)

    return load


def test_metadata_that_java_has_written(javas: JavasCluster, table: Callable[..., Any]) -> None:
    found = {row.ledger_id: row for row in table("ledgers", minPartitions=2).collect()}
    row = found.pop(javas.ledger)
    assert (row.state, row.digest_type, row.ack_quorum_size, row.format_version) == ("closed", "crc32c", 3, 3)
    assert (row.last_entry_id, row.length) == (len(PAYLOADS) - 1, sum(map(len, PAYLOADS)))
    assert row.custom_metadata["who"] == b"java"
    assert row.fragments[0].first_entry_id == 0
    assert set(row.fragments[0].ensemble) == {*javas.ours.bookie_ids, javas.bookie.bookie_id}
    garbage = found.pop(GARBAGE_LEDGER)
    assert garbage.state is None
    assert "metadata of ledger 4713" in garbage.problem
    assert [(row.state, row.digest_type, row.length) for row in found.values()] == [("open", "crc32", None)]


def test_bookies_of_both_kinds(javas: JavasCluster, table: Callable[..., Any]) -> None:
    found = {row.bookie_id: row for row in table("bookies").collect()}
    assert set(found) == {*javas.ours.bookie_ids, javas.bookie.bookie_id}
    for row in found.values():
        assert (row.state, row.has_cookie, row.reachable, row.error) == ("writable", True, True, None)
        assert row.total_bytes >= row.free_bytes > 0
    assert "batch-read-v3" not in found[javas.bookie.bookie_id].extensions


def test_copies_on_bookies_of_both_kinds(javas: JavasCluster, table: Callable[..., Any]) -> None:
    rows = {row.bookie: row for row in table("replicas", ledger=javas.ledger).collect()}
    damaged = rows.pop(javas.ours.bookie_ids[0])
    assert [(each.first, each.last) for each in damaged.missing_ranges] == [(REMOVED, REMOVED)]
    assert {row.verdict for row in rows.values()} == {"ok"}
    assert set(rows) == {javas.ours.bookie_ids[1], javas.bookie.bookie_id}
    assert len({(row.sha256, row.bytes) for row in rows.values()}) == 1


def test_entry_logs_that_java_has_written(javas: JavasCluster, spark: Any, tmp_path: Path) -> None:  # noqa: F811
    javas.bookie.stop()
    frame = spark.read.format("bookkeeper").option("table", "entrylog").load(str(javas.bookie.ledger_dir))
    assert frame.filter("problem is not null").collect() == []
    entries = frame.filter(f"kind = 'entry' and ledger_id = {javas.ledger}").orderBy("entry_id").collect()
    assert [bytes(row.payload) for row in entries] == PAYLOADS
    assert [row.entry_id for row in entries] == list(range(len(PAYLOADS)))
    log = Path(entries[-1].path)
    torn = tmp_path / log.name
    torn.write_bytes(log.read_bytes()[: entries[-1].offset + 7])
    kinds = [row.kind for row in spark.read.format("bookkeeper").option("table", "entrylog").load(str(torn)).collect()]
    assert kinds.count("problem") == 1
    assert kinds[-1] == "problem"
