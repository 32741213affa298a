"""A Java client reads ledgers that Spark wrote to Java bookies, through ZooKeeper."""

from collections.abc import Callable
from typing import Any

import pytest

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.spark.sink.manifest import read_manifest
from compat_tests.targets.cluster import Cluster
from tests.integration.spark.sink_driver import rows
from tests.integration.spark.spark_session import spark  # noqa: F401

pytestmark = [pytest.mark.spark, pytest.mark.java, pytest.mark.full]

RELEASE = "4.18.0"
ROWS = 5000


def test_java_reads_what_the_sink_wrote(
    spark: Any,  # noqa: F811
    cluster: Cluster,
    java_bookie: Callable[..., Any],
    java_client: Callable[..., Any],
) -> None:
    from bookkeeper_tx.spark.tables import BookKeeperSource

    for _ in range(2):
        java_bookie(RELEASE)
    spark.dataSource.register(BookKeeperSource)
    options = {"metadataServiceUri": cluster.uri, "sinkId": "for-java", "maxLedgerEntries": 1000}
    sizes = {"ensembleSize": 2, "writeQuorumSize": 2, "ackQuorumSize": 2}
    rows(spark, ROWS, 2).write.format("bookkeeper").mode("append").options(**options, **sizes).save()
    with open_blocking_store(cluster.uri) as store:
        ((_, ledgers),) = read_manifest(store, "for-java")
    assert len(ledgers) == 6
    client = java_client(RELEASE)
    found: list[bytes] = []
    for ledger in ledgers:
        opened = client.open_ledger(ledger.ledger_id)
        assert opened.opened_at == ledger.last_entry_id
        assert opened.length() == ledger.length
        found += opened.read(0, ledger.last_entry_id)
    assert found == [b"%08d" % row for row in range(ROWS)]
