"""The measurement of the sink measures what it says; how fast it is on this machine is no matter of a test."""

from typing import Any

import pytest

from bookkeeper_tx.metadata.blocking import open_blocking_store
from bookkeeper_tx.spark.manifest import read_manifest
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark_session import spark  # noqa: F401

pytestmark = pytest.mark.spark

ROWS = 20_000


def test_every_figure_is_of_rows_that_were_written(spark: Any, tmp_path: Any) -> None:  # noqa: F811
    from bookkeeper_tx.spark.source import LedgerSource
    from tests.benchmarks.sink_rate import measure

    spark.dataSource.register(LedgerSource)
    with LocalCluster(tmp_path, 1) as cluster:
        rate = measure(cluster, spark, ROWS, 100, 1)
        with open_blocking_store(cluster.metadata_uri) as store:
            epochs = read_manifest(store, "rate")
            assert [sum(each.last_entry_id + 1 for each in epoch) for _, epoch in epochs] == [ROWS, ROWS]
            assert sum(store.read_ledger(each).metadata.last_entry_id + 1 for each in store.list_ledgers()) == 4 * ROWS
    assert rate.spark_rows_per_s > 0
    assert rate.process_rows_per_s > 0
    assert rate.writer_cpu_us > 0
    assert rate.bookie_cpu_us > 0
