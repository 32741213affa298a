"""Jobs on ledgers of a Java client, on Java bookies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.spark.jobs import (
    cluster_stats,
    copy_ledgers,
    entry_logs,
    export_ledgers,
    scrub_replicas,
)
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from tests.integration.spark.jobs.filled import OPEN_COUNT, rows_of
from tests.integration.support.payloads import payloads
from tests.integration.support.planted_damage import StoppedBookie

pytestmark = pytest.mark.spark

RELEASE = "4.18.0"


@pytest.mark.full
@pytest.mark.java
def test_ledgers_of_the_java_client(
    spark: Any,
    do: Callable[..., Summary],
    cluster: Any,
    other: Cluster,
    java_bookie: Callable[..., Any],
    java_client: Callable[..., Any],
    tmp_path: Path,
) -> None:
    bookies = [java_bookie(RELEASE) for _ in range(2)]
    client = java_client(RELEASE)
    ledger, unfinished = client.create_ledger(2, 2, 2), client.create_ledger(2, 2, 2)
    for payload in payloads(40):
        ledger.append(payload)
    ledger.close()
    for payload in payloads(OPEN_COUNT + 1):
        unfinished.append(payload)
    source, output = Cluster(cluster.uri), Output(str(tmp_path / "out"))
    summary = do(export_ledgers, export_ledgers.ExportSettings(source, output))
    sizes = [sum(map(len, payloads(count))) for count in (40, OPEN_COUNT)]
    rows = 40 + OPEN_COUNT
    assert (summary.exit_code, rows_of(summary, "export")) == (ExitCode.DONE, [(2, rows, rows, sum(sizes), 0)])
    exported = spark.read.parquet(output.path).orderBy("ledger_id", "entry_id").collect()
    assert [bytes(row.payload) for row in exported] == payloads(40) + payloads(OPEN_COUNT)
    summary = do(cluster_stats, cluster_stats.StatsSettings(source))
    assert rows_of(summary, "ledgers by state")[0] == ("closed", 1, 40, sizes[0])
    assert len(summary.tables[2].rows) == 2
    summary = do(scrub_replicas, scrub_replicas.ScrubSettings(source))
    assert (summary.exit_code, rows_of(summary, "read")[0][:3]) == (ExitCode.DONE, (2, 2, 2 * rows))
    # None of the jobs has fenced the writer.
    unfinished.append(b"and on")
    unfinished.close()
    summary = do(copy_ledgers, copy_ledgers.CopySettings(source, other, "of-java"))
    assert rows_of(summary, "copy")[1][:3] == ("sink of-java", 2, rows + 2)
    bookies[0].stop()
    StoppedBookie(bookies[0].ledger_dir).flip(ledger.ledger_id, 7)
    bookies[0].start()
    summary = do(scrub_replicas, scrub_replicas.ScrubSettings(source))
    assert summary.exit_code == ExitCode.FOUND
    assert [(row[0], *row[1:4], *row[5:7]) for row in rows_of(summary, "findings")] == [
        ("corrupt", ledger.ledger_id, 7, 7, 1, 2),
        ("under-replicated", ledger.ledger_id, 7, 7, 1, 2),
    ]
    logs = str(bookies[0].ledger_dir / "current" / "*.log")
    summary = do(entry_logs, entry_logs.EntryLogSettings(Cluster(cluster.uri), (logs,)))
    live = next(row for row in rows_of(summary, "in the logs") if row[0] == "live")
    assert (summary.exit_code, live[1:3]) == (ExitCode.DONE, (2, rows + 2))
