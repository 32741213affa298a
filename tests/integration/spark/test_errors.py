"""The errors that a user of PySpark reads: one message that says what is wrong, and what to do."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.spark.jobs.failure import one_line
from bookkeeper_tx.spark.tables import TABLES
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.queries import PATIENCE_S, come_up
from tests.integration.support.our_client import OurClient, append, append_and_close, wait_for
from tests.integration.support.planted_damage import stopped
from tests.sampling import only

pytestmark = pytest.mark.spark

SECRET = b"hunter2-hunter2"
PAYLOADS = [b"payload %d" % each for each in range(20)]
CORRUPT = 7
CHECK_THE_STORE = "Check that option metadataServiceUri is right, and that the metadata store runs"
CHECK_BOOKIES = "Check that the bookies run, and that Spark's machines can reach them"


@frozen
class Site:
    """One bookie, and ledgers on it."""

    cluster: LocalCluster
    ours: OurClient
    plain: int
    guarded: int
    damaged: int
    """Its only copy of the entry ``CORRUPT`` has a bit turned."""
    open: int
    deleted: int

    @property
    def uri(self) -> str:
        return self.cluster.metadata_uri


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with LocalCluster(tmp_path_factory.mktemp("errors"), 1) as cluster, OurClient(cluster.metadata_uri) as ours:

        def closed(**options: Any) -> int:
            return append_and_close(ours.create_ledger(**options), PAYLOADS)

        plain, guarded, damaged, deleted = closed(), closed(password=SECRET), closed(), closed()
        wait_for(ours.bookkeeper.delete_ledger, deleted)
        with stopped(cluster, 0) as bookie:
            bookie.flip(damaged, CORRUPT)
        unfinished = ours.create_ledger()
        append(unfinished, PAYLOADS)
        yield Site(cluster, ours, plain, guarded, damaged, unfinished.ledger_id, deleted)


@pytest.fixture
def load(spark: Any, site: Site) -> Callable[..., Any]:
    def loaded(*, table: str = "entries", uri: str | None = None, **options: Any) -> Any:
        where = {} if table == "entrylog" else {"metadataServiceUri": uri or site.uri}
        return spark.read.format("bookkeeper").options(**where, **options).load(table, table=table)

    return loaded


def said(run: Callable[[], Any], *texts: str) -> str:
    """Return the text of the error of ``run`` for its reader; it has ``texts``, in this order."""
    with pytest.raises(Exception, match=r"(?s).") as caught:
        run()
    text = one_line(caught.value)
    place = 0
    for each in texts:
        assert each in text[place:], text
        place = text.index(each, place) + len(each)
    # ``one_line`` cuts out the whole text: no other error of ours comes after it, or was raised before it.
    whole = str(caught.value)
    assert texts[0] in " ".join(whole.split())
    assert "During handling of the above exception" not in whole
    assert SECRET.decode() not in whole
    return text


NAMED = {"entries": {"ledger": 1}, "orphans": {"ids": 1}}
"""The options that tables require."""


@pytest.mark.full
@pytest.mark.parametrize("table", only("entries", TABLES))
def test_an_option_that_a_table_does_not_know(load: Any, table: str) -> None:
    known = "batchRows" if table not in ("bookies", "orphans") else "metadataTimeoutMs"
    wrong = known.replace("t", "tt", 1)
    named = NAMED.get(table, {})
    said(lambda: load(table=table, **named, **{wrong: 5}).count(), f"option {wrong.lower()} is not known", known)


def test_a_table_that_there_is_not(spark: Any, load: Any, site: Site, tmp_path: Path) -> None:
    text = "names 'replica', and there is no such table: tables are entries, ledgers, bookies, replicas, orphans"
    read = spark.read.format("bookkeeper").option("metadataServiceUri", site.uri)
    said(lambda: read.load("replica").count(), f"load() {text}")
    # With a schema Spark does not ask for that of the table.
    said(lambda: read.schema("ledger_id BIGINT").load("replica").count(), f"load() {text}")
    said(lambda: read.option("table", "replica").load().count(), f"option table {text}")
    said(lambda: read.option("table", "ledgers").load("bookies").count(), "option table names ledgers, and load()")
    said(lambda: read.option("table", "ledgers").load(str(tmp_path)).count(), f"load() names '{tmp_path}'")


@pytest.mark.full
def test_what_only_entries_can_be(spark: Any, site: Site, tmp_path: Path) -> None:
    options = {"metadataServiceUri": site.uri, "table": "ledgers"}
    frame = spark.range(3).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload")
    written = frame.write.format("bookkeeper").options(**options).mode("append")
    said(written.save, "table ledgers cannot be written, only entries can")

    def stream() -> None:
        read = spark.readStream.format("bookkeeper").options(**options).load()
        written = read.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(once=True)
        assert come_up(written.start).awaitTermination(PATIENCE_S)

    with pytest.raises(Exception, match=r"(?s).") as caught:
        stream()
    # Spark wraps the errors of a stream's reader in one of its own.
    assert one_line(caught.value).startswith("table ledgers cannot be read as a stream, only entries can")


def test_an_option_that_the_sink_does_not_know(spark: Any, site: Site) -> None:
    def write() -> None:
        frame = spark.range(3).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload")
        options = {"metadataServiceUri": site.uri, "sinkId": "s", "ensembleSiz": 1}
        frame.write.format("bookkeeper").options(**options).mode("append").save()

    said(write, "option ensemblesiz is not known; did you mean ensembleSize")


@pytest.mark.full
def test_a_sink_without_a_name(spark: Any, site: Site, tmp_path: Path) -> None:
    text = "option sinkId is missing"
    payload = "cast(cast(id AS STRING) AS BINARY) AS payload"
    frame = spark.range(3).selectExpr(payload).write.format("bookkeeper").mode("append")
    said(lambda: frame.options(metadataServiceUri=site.uri, digestType="crc32").save(), text)

    def stream() -> None:
        rates = spark.readStream.format("rate").load().selectExpr(payload.replace("id", "value"))
        written = rates.writeStream.format("bookkeeper").option("metadataServiceUri", site.uri)
        query = come_up(written.option("checkpointLocation", str(tmp_path)).trigger(once=True).start)
        assert query.awaitTermination(PATIENCE_S)

    said(stream, text)


@pytest.mark.parametrize("table", only("entries", [each for each in TABLES if each != "entrylog"]))
def test_a_metadata_store_that_is_not_there(load: Any, table: str, tmp_path: Path) -> None:
    named = NAMED.get(table, {})
    path = f"sqlite://{tmp_path}/none.db"
    said(lambda: load(table=table, uri=path, **named).count(), f"no metadata store at {tmp_path}", CHECK_THE_STORE)
    nobody = {"uri": "zk://127.0.0.1:1/ledgers", "metadataTimeoutMs": 500}
    said(lambda: load(table=table, **nobody, **named).count(), "no ZooKeeper at 127.0.0.1:1 answered", CHECK_THE_STORE)


@pytest.mark.full
def test_a_sink_whose_metadata_store_is_not_there(spark: Any, tmp_path: Path) -> None:
    def write() -> None:
        frame = spark.range(3).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload")
        options = {"metadataServiceUri": f"sqlite://{tmp_path}/none.db", "sinkId": "s"}
        frame.write.format("bookkeeper").options(**options).mode("append").save()

    said(write, f"no metadata store at {tmp_path}", CHECK_THE_STORE)


@pytest.mark.full
def test_a_metadata_uri_that_makes_no_sense(load: Any) -> None:
    text = "option metadataServiceUri = 'zoo://x': there is no metadata store 'zoo'; use sqlite://, zk:// or etcd://"
    said(lambda: load(ledger=1, uri="zoo://x").count(), text)


@pytest.mark.full
def test_a_bookie_that_is_not_there(load: Any, site: Site) -> None:
    (bookie,) = site.cluster.bookie_ids
    site.cluster.kill(0)
    try:
        quick = {"numRetries": 0, "readTimeoutMs": 2000}
        plain = load(ledger=site.plain, **quick)
        said(plain.count, f"entry 0 of ledger {site.plain} could not be read ({bookie}: ", CHECK_BOOKIES)
        what = f"too few bookies answered to know the last add confirmed of ledger {site.open} ({bookie}: "
        said(lambda: load(ledger=site.open, **quick).count(), what, CHECK_BOOKIES)
        assert load(ledger=site.open, readMode="closed", **quick).count() == 0
    finally:
        site.cluster.restart(0)
    assert plain.count() == len(PAYLOADS)


@pytest.mark.full
def test_a_password_that_is_wrong_or_missing(load: Any, site: Site, tmp_path: Path) -> None:
    text = f"ledger {site.guarded}: wrong password; option passwordFile names the file with the right one"
    said(lambda: load(ledger=site.guarded).count(), f"{text} (it is not given, so no password was tried)")
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"hunter3")
    assert said(lambda: load(ledger=site.guarded, passwordFile=str(wrong)).count(), text) == text
    said(
        lambda: load(ledger=site.guarded, passwordFile=str(tmp_path / "none")).count(),
        "option passwordFile: the file cannot be read: No such file or directory; it must be readable on the driver",
    )


@pytest.mark.full
def test_a_ledger_that_was_deleted(load: Any, site: Site) -> None:
    frame = load(ledgers=f"{site.plain},{site.deleted}")
    assert frame.columns == ["ledger_id", "entry_id", "payload"], "what is there can be looked at"
    what = f"ledger {site.deleted}: there is no ledger {site.deleted}; take it out of the options, or give"
    said(frame.count, what, "failOnDataLoss=false")
    lenient = load(ledgers=f"{site.plain},{site.deleted}", failOnDataLoss="false")
    assert {row.ledger_id for row in lenient.select("ledger_id").collect()} == {site.plain}


@pytest.mark.full
def test_an_entry_that_is_corrupt_everywhere(load: Any, site: Site) -> None:
    what = f"entry {CORRUPT} of ledger {site.damaged} is corrupt on all of its bookies"
    said(load(ledger=site.damaged).count, what, "failOnDataLoss=false", "includeDigest=true")
    lenient = load(ledger=site.damaged, failOnDataLoss="false")
    others = [each for number, each in enumerate(PAYLOADS) if number != CORRUPT]
    assert [row.payload for row in lenient.orderBy("entry_id").collect()] == others
    lost = load(ledger=site.damaged, failOnDataLoss="false", includeLost="true")
    (row,) = lost.where("lost IS NOT NULL").collect()
    assert (row.entry_id, row.payload) == (CORRUPT, None)
    assert "does not match its digest" in row.lost
    assert lost.count() == len(PAYLOADS)
    marked = load(ledger=site.damaged, includeDigest="true")
    assert [row.entry_id for row in marked.where("NOT digest_ok").collect()] == [CORRUPT]


@pytest.mark.full
def test_metadata_without_a_digest_type(load: Any, site: Site) -> None:
    with open_blocking_store(site.uri) as store:
        found = store.read_ledger(site.plain)
        bare = evolve(found.metadata, digest_type=None, password=None)
        ledger_id = store.new_ledger_id()
        store.create_ledger(ledger_id, bare)
    try:
        said(lambda: load(ledger=ledger_id).count(), "its metadata names no digest type, so give option digestType")
    finally:
        with open_blocking_store(site.uri) as store:
            store.delete_ledger(ledger_id)


@pytest.mark.full
@pytest.mark.java
def test_a_ledger_of_java_s_is_read_with_its_password_only(
    load: Any, cluster: Any, java_bookie: Any, java_client: Any, tmp_path: Path
) -> None:
    java_bookie("4.18.0")
    writer = java_client("4.18.0").create_ledger(password=SECRET)
    writer.append_many(50, 100, seed=4)
    writer.close()
    text = f"ledger {writer.ledger_id}: wrong password; option passwordFile names the file with the right one"
    said(lambda: load(uri=cluster.uri, ledger=writer.ledger_id).count(), f"{text} (it is not given")
    path = tmp_path / "password"
    path.write_bytes(SECRET)
    assert load(uri=cluster.uri, ledger=writer.ledger_id, passwordFile=str(path)).count() == 50


def test_a_task_keeps_to_its_rate_when_it_writes(spark: Any, load: Any, site: Site) -> None:
    """The clock shows only that reading was not faster than the limit: a wait may always be longer."""
    rate = 100
    frame = spark.range(300).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload").coalesce(1)
    sizes = dict.fromkeys(("ensembleSize", "writeQuorumSize", "ackQuorumSize"), 1)
    options = {"metadataServiceUri": site.uri, "sinkId": "slow", "maxEntriesPerSecondPerBookie": rate, **sizes}
    began = time.monotonic()
    frame.write.format("bookkeeper").options(**options).mode("append").save()
    # A second's worth may go at once, and the last tenth of one is not waited for.
    assert time.monotonic() - began >= 300 / rate - 1.2
    assert load(manifest="slow", maxEntriesPerSecondPerBookie=1000).count() == 300
