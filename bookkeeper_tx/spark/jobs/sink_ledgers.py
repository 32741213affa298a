"""The ledgers that a sink has published, by their write."""

from typing import Any

from bookkeeper_tx.spark.jobs.arguments import Cluster
from bookkeeper_tx.spark.jobs.pinned_ledgers import spans_of
from bookkeeper_tx.spark.options.option import Use

BATCH_PREFIX = "batch-"
"""The sink's prefix of ``txnAppId`` in the custom metadata of a ledger, which names the write."""


def published_ledgers(spark: Any, sink: Cluster, sink_id: str) -> Any:
    """Return ``scope_id``, ``ledger_id``, ``app_id``, ``txn_version``, ``last_entry_id`` and ``length`` of each."""
    from pyspark.sql import functions as F

    custom = F.col("custom_metadata")
    query = custom["queryId"].cast("string")
    return sink.load(spark, Use.LEDGERS, manifest=sink_id).select(
        "scope_id",
        "ledger_id",
        F.when(query.startswith(BATCH_PREFIX), F.substring(query, len(BATCH_PREFIX) + 1, 1 << 20)).alias("app_id"),
        custom["epoch"].cast("string").cast("bigint").alias("txn_version"),
        "last_entry_id",
        "length",
    )


def entries_of(spark: Any, sink: Cluster, ledgers: Any, **more: str) -> Any:
    """Return the entries of ``ledgers``, whose column ``ledger_id`` names them; ``more`` are options of the format."""
    ids = [row.ledger_id for row in ledgers.select("ledger_id").toLocalIterator()]
    if not ids:
        return spark.createDataFrame([], "ledger_id BIGINT, entry_id BIGINT, payload BINARY")
    return sink.load(spark, Use.READ, ledgers=spans_of(ids), **more)


def write_once(frame: Any, sink: Cluster, sink_id: str, app_id: str, version: int) -> None:
    """Append the payloads of ``frame`` to a sink, unless this write was published before."""
    (
        frame.write.format("bookkeeper")
        .mode("append")
        .option("metadataServiceUri", sink.metadata_uri)
        .options(**sink.options)
        .options(sinkId=sink_id, txnAppId=app_id, txnVersion=str(version))
        .save()
    )
