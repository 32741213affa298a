"""Scenarios that must work in every mode of Spark: functions that take a session, the ledgers, and a directory.

:mod:`tests.integration.spark.driver` calls them by name in a process of its own.  The session may be one of Spark
Connect, so everything goes through the public DataFrame API.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from bookkeeper_tx.spark.jobs.failure import one_line
from bookkeeper_tx.spark.session import register_all
from bookkeeper_tx.spark.tables import TABLES
from tests.integration.support.payloads import payloads

COUNT: Final = 3000
GUARDED_COUNT: Final = 100
OPEN_COUNT: Final = 8
TORN_COUNT: Final = 10
PASSWORD: Final = b"hunter2-hunter2"
ONE_COPY: Final = {"ensembleSize": "1", "writeQuorumSize": "1", "ackQuorumSize": "1"}


@frozen
class Site:
    """A cluster, and ledgers in it that no scenario changes."""

    uri: str
    whole: int
    """``COUNT`` entries, on every one of two bookies."""
    striped: int
    """The same, each entry on one of two bookies."""
    guarded: int
    """``GUARDED_COUNT`` entries, with a password."""
    open: int
    """``OPEN_COUNT`` entries that are confirmed, and one that is not."""
    torn: int
    """``TORN_COUNT`` entries, where the metadata says five more."""
    logs: str
    """A pattern of the entry logs of both bookies."""
    password_file: str
    executors: int
    """Processes that share the work."""


def load(spark: Any, site: Site, **options: Any) -> Any:
    """Return a DataFrame of the cluster."""
    return spark.read.format("bookkeeper").options(metadataServiceUri=site.uri, **options).load()


def error_of(run: Callable[[], Any]) -> Exception:
    """Return the error that ``run`` raises."""
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("there was no error")


# Reading -------------------------------------------------------------------------------------------------------------


def formats_are_found(spark: Any, site: Site, directory: Path) -> None:
    """Spark finds formats that are not registered: this scenario must be the first of a session."""
    frame = load(spark, site, ledger=site.whole)
    assert frame.dtypes == [("ledger_id", "bigint"), ("entry_id", "bigint"), ("payload", "binary")], frame.dtypes
    assert frame.count() == COUNT
    for name, column in (("ledgers", "custom_metadata"), ("bookies", "free_bytes"), ("replicas", "sha256")):
        assert column in load(spark, site, table=name).columns
        assert column in load(spark, site, path=name).columns
    records = spark.read.format("bookkeeper").option("table", "entrylog")
    assert "log_id" in records.option("path", str(directory)).load().columns


def formats_are_registered(spark: Any, site: Site, directory: Path) -> None:
    register_all(spark)
    guarded = load(spark, site, ledger=site.guarded, passwordFile=site.password_file)
    assert [bytes(row.payload) for row in guarded.orderBy("entry_id").collect()] == payloads(GUARDED_COUNT)
    for name in TABLES:
        ids = {"ledger": site.whole} if name == "entries" else {"ids": "0-"} if name == "orphans" else {}
        where = {"path": str(directory)} if name == "entrylog" else {"metadataServiceUri": site.uri}
        options = {**ids, **where}
        long = spark.read.format(f"bookkeeper-{name}").options(**options).load()
        short = spark.read.format("bookkeeper").options(**options, table=name).load()
        assert long.dtypes == short.dtypes, name


def every_entry_is_counted(spark: Any, site: Site, directory: Path) -> None:
    from pyspark.sql import functions as F

    ids = f"{site.whole},{site.striped}"
    found = (
        load(spark, site, ledgers=ids)
        .groupBy("ledger_id")
        .agg(
            F.count_distinct("entry_id").alias("ids"),
            F.count(F.lit(1)).alias("rows"),
            F.min("entry_id").alias("first"),
            F.max("entry_id").alias("last"),
            F.sum(F.octet_length("payload")).alias("size"),
        )
    )
    rows = load(spark, site, table="ledgers", ledgers=ids).join(found, "ledger_id").collect()
    assert {row.ledger_id for row in rows} == {site.whole, site.striped}
    for row in rows:
        assert (row.ids, row.rows, row["first"], row["last"]) == (COUNT, COUNT, 0, COUNT - 1)
        assert (row.last_entry_id, row.length) == (COUNT - 1, row.size)
    assert load(spark, site, ledger=site.open).count() == OPEN_COUNT


def tasks_share_a_read(spark: Any, site: Site, directory: Path) -> None:
    from pyspark.sql import functions as F

    frame = load(spark, site, ledgers=f"{site.whole},{site.striped}", minPartitions=6)
    # An executor has a directory of its own, and so have the Python processes that read for it.
    place = F.udf(lambda _: os.getcwd(), "string")
    placed = frame.select("ledger_id", "entry_id", F.spark_partition_id().alias("task"), place("entry_id").alias("at"))
    parts = placed.groupBy("task", "at").agg(F.count(F.lit(1)).alias("rows")).collect()
    assert len({row.task for row in parts}) == len(parts) == 6, parts
    assert [row.rows for row in parts] == [COUNT // 3] * 6, parts
    assert len({row["at"] for row in parts}) == site.executors, parts
    rows = frame.orderBy("ledger_id", "entry_id").collect()
    expected = [(ledger, *each) for ledger in sorted([site.whole, site.striped]) for each in enumerate(payloads(COUNT))]
    assert [(row.ledger_id, row.entry_id, bytes(row.payload)) for row in rows] == expected


def filters_decide_what_is_read(spark: Any, site: Site, directory: Path) -> None:
    both = load(spark, site, ledgers=f"{site.whole},{site.striped}")
    assert both.where(f"ledger_id = {site.striped} AND entry_id IN (1, 2999)").count() == 2
    pushed = load(spark, site, ledger=site.whole, pushdown="true")
    rows = (
        pushed.where("entry_id >= 100 AND entry_id < 110 AND octet_length(payload) > 8").orderBy("entry_id").collect()
    )
    assert [bytes(row.payload) for row in rows] == payloads(COUNT)[100:110]
    # After these there are entries that cannot be read, and that the query does not ask for.
    torn = load(spark, site, ledger=site.torn, pushdown="true")
    assert torn.where(f"entry_id < {TORN_COUNT}").count() == TORN_COUNT


def tables_show_the_cluster(spark: Any, site: Site, directory: Path) -> None:
    states = load(spark, site, table="ledgers", ledgers=f"{site.whole},{site.open}").select("ledger_id", "state")
    assert {row.ledger_id: row.state for row in states.collect()} == {site.whole: "closed", site.open: "open"}
    replicas = load(spark, site, table="replicas", ledgers=f"{site.whole},{site.striped}")
    rows = replicas.groupBy("ledger_id", "verdict").agg({"present": "sum", "missing": "sum"}).collect()
    found = {(row.ledger_id, row.verdict): (row["sum(present)"], row["sum(missing)"]) for row in rows}
    assert found == {(site.whole, "ok"): (2 * COUNT, 0), (site.striped, "ok"): (COUNT, 0)}
    assert load(spark, site, table="bookies").where("reachable AND state = 'writable'").count() == 2


def entry_logs_are_read(spark: Any, site: Site, directory: Path) -> None:
    records = spark.read.format("bookkeeper").options(table="entrylog", path=site.logs).load()
    of_one = records.where(f"kind = 'entry' AND ledger_id = {site.whole}")
    rows = of_one.groupBy("path").agg({"entry_id": "max", "payload": "count"}).collect()
    assert [(row["max(entry_id)"], row["count(payload)"]) for row in rows] == [(COUNT - 1, COUNT)] * 2


# Writing, and streams ------------------------------------------------------------------------------------------------


def publish(spark: Any, site: Site, sink_id: str, first: int, end: int, version: int) -> None:
    """Write payloads ``first`` … ``end - 1``, as two ledgers."""
    payload = "cast(concat('entry ', id, repeat('.', cast(id % 50 AS INT))) AS BINARY) AS payload"
    frame = spark.range(first, end, 1, 2).selectExpr(payload)
    options = {"metadataServiceUri": site.uri, "sinkId": sink_id, "txnAppId": "scenario", "txnVersion": version}
    frame.write.format("bookkeeper").mode("append").options(**options, **ONE_COPY).save()


def sink_of(directory: Path) -> str:
    """Return the name of a sink that no other scenario of any session has."""
    return f"{directory.parent.name}-{directory.name}"


def published(spark: Any, site: Site, sink_id: str) -> list[bytes]:
    """Return all payloads of a sink, sorted."""
    return sorted(bytes(row.payload) for row in load(spark, site, manifest=sink_id).collect())


def run_stream(frame: Any, directory: Path, fmt: str, **options: Any) -> list[int]:
    """Write all available rows; return how many rows each new micro-batch had."""
    query = (
        frame.writeStream.format(fmt)
        .options(**options)
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(200)
    return [each.numInputRows for each in query.recentProgress if each.numInputRows]


def stream_of(spark: Any, site: Site, rows_max: int, **options: Any) -> Any:
    """Return entries from the first on as a stream, in batches of so many."""
    options |= {"metadataServiceUri": site.uri, "startingOffsets": "earliest", "maxEntriesPerTrigger": rows_max}
    return spark.readStream.format("bookkeeper").options(**options).load()


def batches_are_written_once(spark: Any, site: Site, directory: Path) -> None:
    sink_id = sink_of(directory)
    for _ in range(2):
        publish(spark, site, sink_id, 0, 500, version=0)
    publish(spark, site, sink_id, 500, 600, version=1)
    assert published(spark, site, sink_id) == sorted(payloads(600))
    ledgers = load(spark, site, table="ledgers", manifest=sink_id)
    assert sorted(row.last_entry_id + 1 for row in ledgers.collect()) == [50, 50, 250, 250]


def a_stream_goes_on_from_its_checkpoint(spark: Any, site: Site, directory: Path) -> None:
    sink_id, output = sink_of(directory), str(directory / "output")

    def run() -> list[int]:
        return run_stream(stream_of(spark, site, 200, manifest=sink_id), directory, "parquet", path=output)

    publish(spark, site, sink_id, 0, 500, version=0)
    assert run() == [200, 200, 100]
    assert run() == []
    publish(spark, site, sink_id, 500, 800, version=1)
    assert run() == [200, 100]
    rows = spark.read.parquet(output).select("payload").collect()
    assert sorted(bytes(row.payload) for row in rows) == sorted(payloads(800))


def a_stream_is_written_once(spark: Any, site: Site, directory: Path) -> None:
    sink_id = sink_of(directory)
    options = {"metadataServiceUri": site.uri, "sinkId": sink_id, **ONE_COPY}

    def run() -> list[int]:
        frame = stream_of(spark, site, 1200, ledger=site.whole).select("payload")
        return run_stream(frame, directory, "bookkeeper", **options)

    assert run() == [1200, 1200, 600]
    assert run() == []
    assert published(spark, site, sink_id) == sorted(payloads(COUNT))
    ledgers = load(spark, site, table="ledgers", manifest=sink_id)
    epochs = {row.epoch for row in ledgers.selectExpr("cast(custom_metadata['epoch'] AS STRING) AS epoch").collect()}
    assert epochs == {"0", "1", "2"}


# What goes wrong -----------------------------------------------------------------------------------------------------


def errors_say_what_to_do(spark: Any, site: Site, directory: Path) -> None:
    """Errors when the query is defined and when it is planned, errors of tasks, of a sink and of a stream."""
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: load(spark, site, ledgrs="1").count(), "option ledgrs is not known; did you mean ledgers"),
        (lambda: load(spark, site, table="ledger").count(), "option table names 'ledger', and there is no such table:"),
        (lambda: load(spark, site, ledger="one").count(), "option ledger = 'one': 'one' is no ledger id; write"),
        (lambda: load(spark, site, ledger=site.guarded).count(), "wrong password; option passwordFile names the file"),
        (
            lambda: load(spark, site, ledger=site.whole, endingOffsets=f'{{"{site.whole}": 4711}}').count(),
            f"option endingOffsets: ledger {site.whole} is asked for up to offset 4711, but it ends at {COUNT}",
        ),
        (lambda: load(spark, site, ledger=site.torn).count(), f"entry {TORN_COUNT} of ledger {site.torn}"),
        (lambda: publish(spark, site, "", 0, 1, version=0), "option sinkId = ''"),
        (
            lambda: run_stream(stream_of(spark, site, 0, ledger=site.whole), directory, "noop"),
            "option maxEntriesPerTrigger = '0'",
        ),
    ]
    for run, text in cases:
        said = one_line(error_of(run))
        assert text in said, said
        assert not any(each in said for each in ("Traceback", "at org.apache", PASSWORD.decode())), said


FORMATS: Final = (
    formats_are_found,
    formats_are_registered,
    every_entry_is_counted,
    tasks_share_a_read,
    filters_decide_what_is_read,
    tables_show_the_cluster,
    entry_logs_are_read,
    batches_are_written_once,
    a_stream_goes_on_from_its_checkpoint,
    a_stream_is_written_once,
    errors_say_what_to_do,
)
"""The scenarios of the formats, in the order in which a session must run them."""
