"""A stream of the entries that a Java client writes to Java bookies, through ZooKeeper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.cluster import Cluster
from tests.integration.spark.queries import come_up
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support.payloads import payloads

pytestmark = [pytest.mark.spark, pytest.mark.java]

RELEASE = "4.18.0"
OPEN_COUNT, COUNT = 7, 40


@pytest.mark.full
def test_what_java_has_confirmed_comes_once(
    spark: Any,  # noqa: F811
    cluster: Cluster,
    java_bookie: Callable[..., Any],
    java_client: Callable[..., Any],
    tmp_path: Path,
) -> None:
    for _ in range(2):
        java_bookie(RELEASE)
    client = java_client(RELEASE)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")

    def rows_so_far() -> list[tuple[int, int, bytes]]:
        """Read all available entries, and return all that were ever read."""
        options = {"metadataServiceUri": cluster.uri, "ledgerMetadata.app": "java", "startingOffsets": "earliest"}
        read = spark.readStream.format("bookkeeper").options(**options).load()
        writer = read.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = come_up(lambda: writer.trigger(availableNow=True).start(out))
        query.awaitTermination()
        assert query.exception() is None
        return sorted((row.ledger_id, row.entry_id, bytes(row.payload)) for row in spark.read.parquet(out).collect())

    def rows_of(ledger: Any, count: int) -> list[tuple[int, int, bytes]]:
        return [(ledger.ledger_id, entry, payload) for entry, payload in enumerate(payloads(count))]

    first = client.create_ledger(2, 2, 2, custom={"app": b"java"})
    for payload in payloads(COUNT)[: OPEN_COUNT + 1]:
        first.append(payload)
    assert rows_so_far() == rows_of(first, OPEN_COUNT)
    for payload in payloads(COUNT)[OPEN_COUNT + 1 :]:
        first.append(payload)
    first.close()
    second = client.create_ledger(2, 2, 2, custom={"app": b"java"})
    for payload in payloads(OPEN_COUNT + 1):
        second.append(payload)
    assert rows_so_far() == rows_of(first, COUNT) + rows_of(second, OPEN_COUNT)
    second.append(b"nobody was fenced")
    assert rows_so_far()[-1][:2] == (second.ledger_id, OPEN_COUNT)
