"""Spark on a cluster whose ZooKeeper has TLS, passwords and access lists: driver and tasks are let in by options."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from kazoo.security import make_acl

from bookkeeper_tx.spark.jobs import cluster_stats, copy_ledgers, scrub_replicas
from bookkeeper_tx.spark.jobs.arguments import Cluster, quorums
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.payloads import patterns
from tests.cli.bktx_process import bktx
from tests.integration.support.our_client import OurClient, append
from tests.integration.support.secured_zookeeper import PASSWORD, USER, SecuredZooKeeper, secured_zookeeper

pytestmark = [pytest.mark.spark, pytest.mark.java]

ROOT = "/operators/spark/ledgers"
PAYLOADS = sorted(patterns(500, 100, seed=12))
QUORUMS = quorums(1)


@frozen
class Site:
    """One bookie, and a file of a client with what ZooKeeper wants."""

    zookeeper: SecuredZooKeeper
    uri: str
    client_file: Path
    keys: dict[str, str]
    """Options of the formats with the same."""

    @property
    def options(self) -> dict[str, str]:
        return {"metadataServiceUri": self.uri, **self.keys}

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.uri, self.keys)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with secured_zookeeper(tmp_path_factory.mktemp("secured")) as zookeeper:
        keys = {**zookeeper.keys(), "zkEnableSecurity": "true"}
        client_file = tmp_path_factory.mktemp("client") / "client.conf"
        client_file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        uri = zookeeper.uri(ROOT)
        with LocalCluster(tmp_path_factory.mktemp("cluster"), 1, metadata_uri=uri, settings=keys):
            options = {f"bookkeeper.client.{key}": str(value) for key, value in keys.items()}
            yield Site(zookeeper, uri, client_file, options)


def write(spark: Any, site: Site, sink_id: str, **more: str) -> None:
    rows = spark.createDataFrame([(bytearray(each),) for each in PAYLOADS], "payload BINARY").repartition(2)
    options = {**site.options, **QUORUMS, "sinkId": sink_id, **more}
    rows.write.format("bookkeeper").mode("append").options(**options).save()


def load(spark: Any, site: Site, **options: str) -> Any:
    return spark.read.format("bookkeeper").options(**{**site.options, **options}).load()


def payloads_of(frame: Any) -> list[bytes]:
    return sorted(frame.toArrow()["payload"].to_pylist())


def error_of(spark: Any, options: dict[str, str]) -> str:
    with pytest.raises(Exception, match=r"(?s).") as caught:
        spark.read.format("bookkeeper").options(**options, table="ledgers").load().count()
    return str(caught.value)


def test_what_spark_writes_and_reads_is_for_the_user_alone(spark: Any, site: Site) -> None:
    write(spark, site, "orders")
    frame = load(spark, site, manifest="orders")
    assert payloads_of(frame) == PAYLOADS
    assert PASSWORD not in frame._jdf.queryExecution().toString()
    made = site.zookeeper.acls(ROOT)
    own = [make_acl("sasl", USER, all=True)]
    assert any("orders" in path for path in made)
    assert {path: acl for path, acl in made.items() if acl != own and "idgen" not in path} == {}


@pytest.mark.full
def test_who_is_turned_away_is_told_why(spark: Any, site: Site) -> None:
    wrong = {f"bookkeeper.client.{key}": str(value) for key, value in site.zookeeper.keys("wrong").items()}
    text = error_of(spark, {**site.options, **wrong})
    assert "MetadataAccessDenied" in text
    assert f"does not accept the user '{USER}' with this password" in text
    assert "bookkeeper.client.zookeeper" in text
    in_clear = f"zk://{site.zookeeper.server.hosts}{ROOT}"
    assert "MetadataAccessDenied" in error_of(spark, {"metadataServiceUri": in_clear})


@pytest.mark.full
def test_every_table_and_the_recovery_of_an_open_ledger(spark: Any, site: Site) -> None:
    write(spark, site, "tables")
    with OurClient(site.uri, metadata_security=site.zookeeper.security()) as client:
        writer = client.create_ledger(1, 1, 1)
        append(writer, PAYLOADS[:50])
        assert load(spark, site, ledger=str(writer.ledger_id), allowRecovery="true").count() == 50
    rows = load(spark, site, table="ledgers").select("problem").collect()
    assert [row.problem for row in rows] == [None] * len(rows)
    (row,) = load(spark, site, table="bookies").select("reachable", "error").collect()
    assert (row.reachable, row.error) == (True, None)
    assert {row.verdict for row in load(spark, site, table="replicas", manifest="tables").collect()} == {"ok"}
    assert load(spark, site, table="orphans", ids="0-").count() == 0


@pytest.mark.full
def test_streams(spark: Any, site: Site, tmp_path: Path) -> None:
    write(spark, site, "source")
    source = {**site.options, "manifest": "source", "startingOffsets": "earliest"}
    stream = spark.readStream.format("bookkeeper").options(**source).load().select("payload")
    sink = {**site.options, **QUORUMS, "sinkId": "streamed", "checkpointLocation": str(tmp_path / "checkpoint")}
    query = stream.writeStream.format("bookkeeper").options(**sink).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert payloads_of(load(spark, site, manifest="streamed")) == PAYLOADS


@pytest.mark.full
def test_jobs(spark: Any, site: Site) -> None:
    write(spark, site, "jobs")
    selected = Cluster(site.uri, {**site.keys, "manifest": "jobs"})
    settings = copy_ledgers.CopySettings(selected, Cluster(site.uri, {**site.keys, **QUORUMS}), "copied")
    assert copy_ledgers.run(spark, settings, Progress()).exit_code is ExitCode.DONE
    assert scrub_replicas.run(spark, scrub_replicas.ScrubSettings(selected), Progress()).exit_code is ExitCode.DONE
    stats = cluster_stats.StatsSettings(site.cluster)
    assert cluster_stats.run(spark, stats, Progress()).exit_code is ExitCode.DONE


@pytest.mark.full
def test_the_file_of_a_client_lets_jobs_in(site: Site) -> None:
    def job(name: str) -> "subprocess.CompletedProcess[bytes]":
        return bktx("--client-config", str(site.client_file), "spark", name, "--metadata", site.uri, timeout_s=300)

    swept, stats = job("sweep"), job("stats")
    assert (swept.returncode, b"0 leftovers deleted" in swept.stdout) == (0, True), swept
    assert stats.returncode == 0, stats
