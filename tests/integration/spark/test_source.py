"""Format ``bookkeeper``, batch read: real Spark tasks and bookies of ours; one ledger of a Java client."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.session import register_all
from bookkeeper_tx.spark.tables import TABLES
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.payloads import patterns
from tests.integration.spark.archive import make_archive
from tests.integration.support.our_client import OurClient, append, append_and_close, wait_for
from tests.sampling import one_in

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
SECRET = b"hunter2-hunter2"
COUNT = 3000


@frozen
class Site:
    """Three bookies, a client, and ledgers that no test changes."""

    cluster: LocalCluster
    ours: OurClient
    payloads: list[bytes]
    plain: int
    """A closed ledger of ``payloads``, on two bookies."""
    striped: int
    """The same, each entry on one of two bookies."""
    guarded: int
    """One hundred entries, with a password and MAC digests."""
    password_file: str

    @property
    def uri(self) -> str:
        return self.cluster.metadata_uri


def closed(ours: OurClient, payloads: list[bytes], *sizes: int, **options: Any) -> int:
    writer = ours.create_ledger(*(sizes or (2, 2, 2)), **options)
    return append_and_close(writer, payloads)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    path = directory / "password"
    path.write_bytes(SECRET + b"\n")
    payloads = [*patterns(COUNT - 2, 100, seed=3), b"", b"last"]
    with LocalCluster(directory, bookie_count=3) as cluster, OurClient(cluster.metadata_uri) as ours:
        yield Site(
            cluster,
            ours,
            payloads,
            closed(ours, payloads, custom={"Owner": b"me"}),
            closed(ours, payloads, 2, 1, 1, custom={"Owner": b"me"}),
            closed(ours, payloads[:100], password=SECRET, digest=DigestType.MAC),
            str(path),
        )


@pytest.fixture
def load(spark: Any, site: Site) -> Callable[..., Any]:
    """``load(ledger=1, …)`` gives the DataFrame; ``schema`` is the user's, and ``uri`` another cluster."""

    def loaded(*, schema: str = "", uri: str = site.uri, name: str = "bookkeeper", **options: Any) -> Any:
        reader = spark.read.format(name).option("metadataServiceUri", uri)
        for key, value in options.items():
            reader = reader.option(key.replace("__", "."), str(value).lower() if value in (True, False) else value)
        return (reader.schema(schema) if schema else reader).load()

    return loaded


def payloads_of(frame: Any) -> list[bytes]:
    """Return the payloads in the order of their ids; fails if an id occurs twice, or is missing."""
    table = frame.toArrow().sort_by([("ledger_id", "ascending"), ("entry_id", "ascending")])
    ids = table["entry_id"].to_pylist()
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    return table["payload"].to_pylist()


def error_of(run: Callable[[], Any]) -> str:
    with pytest.raises(Exception, match=r"(?s).") as caught:
        run()
    return str(caught.value)


# Reading -------------------------------------------------------------------------------------------------------------


def test_all_entries_of_a_ledger(load: Any, site: Site) -> None:
    frame = load(ledger=site.plain)
    assert frame.dtypes == [("ledger_id", "bigint"), ("entry_id", "bigint"), ("payload", "binary")]
    assert payloads_of(frame) == site.payloads
    assert frame.count() == COUNT


def test_a_striped_ledger_in_many_tasks(load: Any, site: Site) -> None:
    frame = load(ledger=site.striped, minPartitions=5)
    assert frame.rdd.getNumPartitions() == 5
    assert payloads_of(frame) == site.payloads


@pytest.mark.full
def test_two_ledgers_by_metadata_in_small_batches(load: Any, site: Site) -> None:
    frame = load(ledgerMetadata__owner="me", batchRows=100, batchBytes="4k", batch=False)
    counts = {row.ledger_id: row["count"] for row in frame.groupBy("ledger_id").count().collect()}
    assert counts == {site.plain: COUNT, site.striped: COUNT}


@pytest.mark.full
def test_columns(load: Any, site: Site) -> None:
    included = ["Scope", "LastAddConfirmed", "Length", "Digest", "Bookie"]
    frame = load(ledger=site.plain, includePayload=False, **{f"include{name}": True for name in included})
    assert frame.columns == ["scope_id", "ledger_id", "entry_id", "lac", "length", "digest_ok", "bookie"]
    table = frame.orderBy("entry_id").toArrow()
    lengths = [sum(map(len, site.payloads[: end + 1])) for end in (0, 1, COUNT - 1)]
    assert [table["length"][at].as_py() for at in (0, 1, COUNT - 1)] == lengths
    assert set(table["bookie"].to_pylist()) <= set(site.cluster.bookie_ids)
    assert set(table["digest_ok"].to_pylist()) == {True}
    assert all(lac < entry for lac, entry in zip(table["lac"].to_pylist(), table["entry_id"].to_pylist(), strict=True))


@pytest.mark.full
def test_a_schema_of_the_users_leaves_columns_out(load: Any, site: Site) -> None:
    frame = load(ledger=site.plain, schema="entry_id BIGINT, ledger_id BIGINT")
    assert frame.columns == ["entry_id", "ledger_id"]
    assert [tuple(row) for row in frame.orderBy("entry_id").tail(1)] == [(COUNT - 1, site.plain)]
    assert "the schema asks for column a" in error_of(lambda: load(ledger=site.plain, schema="a INT").count())


def test_offsets(load: Any, site: Site) -> None:
    frame = load(ledger=site.plain, startingOffsets=f'{{"{site.plain}": 10}}', endingOffsets=f'{{"{site.plain}": 14}}')
    assert payloads_of(frame) == site.payloads[10:14]
    assert load(ledger=site.plain, startingOffsets="latest").count() == 0


@pytest.mark.full
def test_as_a_view_of_sql(spark: Any, site: Site) -> None:
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW entries USING bookkeeper "
        f"OPTIONS (metadataServiceUri '{site.uri}', ledger '{site.plain}')"
    )
    (row,) = spark.sql("SELECT count(*) AS n, sum(length(payload)) AS bytes FROM entries").collect()
    assert (row.n, row.bytes) == (COUNT, sum(map(len, site.payloads)))


@pytest.mark.full
def test_no_ledger_is_no_row(load: Any) -> None:
    assert load(ledgers="1000000-").count() == 0


def test_an_ensemble_that_has_changed(load: Any, site: Site) -> None:
    writer = site.ours.create_ledger(2, 2, 2)
    append(writer, site.payloads[:500])
    lost = site.cluster.index_of(site.ours.metadata(writer.ledger_id).fragments[0].ensemble[0])
    site.cluster.kill(lost)
    append_and_close(writer, site.payloads[500:1000])
    assert len(site.ours.metadata(writer.ledger_id).fragments) == 2
    frame = load(ledger=writer.ledger_id)
    try:
        assert payloads_of(frame) == site.payloads[:1000]
    finally:
        site.cluster.restart(lost)


def test_a_ledger_of_a_scope(load: Any, site: Site) -> None:
    with OurClient(site.uri, protocol="v3") as ours:
        writer = wait_for(ours.bookkeeper.create_ledger, 2, 2, 2, scope_id=12)
        append_and_close(writer, site.payloads[:300])
    ledger = LedgerId(writer.ledger_id)
    frame = load(ledger=ledger.qualified_name, includeScope=True)
    assert payloads_of(frame) == site.payloads[:300]
    (row,) = frame.select("scope_id", "ledger_id").distinct().collect()
    assert (row.scope_id, row.ledger_id) == (12, ledger.ledger_id)
    assert load(ledgers="0-", scope=12).count() == 300


# Open ledgers --------------------------------------------------------------------------------------------------------


def test_an_open_ledger_to_what_is_confirmed(load: Any, site: Site) -> None:
    writer = site.ours.create_ledger(2, 2, 2)
    append(writer, site.payloads[:200])
    append(writer, site.payloads[200:201])  # confirms the entries before it to the bookies
    confirmed = load(ledger=writer.ledger_id)
    append(writer, site.payloads[201:300])
    assert payloads_of(confirmed) == site.payloads[:200]
    assert confirmed.count() == 200, "what was loaded stays as it was"
    assert load(ledger=writer.ledger_id, readMode="closed").count() == 0
    replicas = load(table="replicas", ledger=writer.ledger_id)
    assert {row.verdict for row in replicas.collect()} == {"ok"}
    append(writer, site.payloads[300:310])  # none of this has fenced the writer
    assert load(ledger=writer.ledger_id, allowRecovery=True).count() == 310
    assert site.ours.metadata(writer.ledger_id).closed


# Filters -------------------------------------------------------------------------------------------------------------


def test_filters_decide_what_is_read(load: Any, site: Site) -> None:
    def tasks(condition: str) -> tuple[int, int]:
        frame = load(ledgers=f"{site.plain},{site.striped}", minPartitions=4, pushdown=True).filter(condition)
        return frame.rdd.getNumPartitions(), frame.count()

    assert tasks(f"ledger_id = {site.plain} AND entry_id = 5") == (1, 1)
    assert tasks("entry_id IN (1, 2, 2999, 9999)") == (4, 6)
    assert tasks("entry_id > 3 AND entry_id <= 4 AND ledger_id < 0") == (1, 0)
    assert tasks("entry_id < 2 OR ledger_id = 3") == (4, 4)


@pytest.mark.full
def test_filters_are_spark_s_own_unless_asked_for(load: Any, site: Site) -> None:
    """With filters pushed, Spark 4.3 would answer the second query with the rows of the first."""
    frame = load(ledger=site.plain)
    assert frame.filter("entry_id < 10").count() == 10
    assert frame.filter("entry_id >= 2990").count() == 10
    assert frame.filter("entry_id < 10").union(frame.filter("entry_id >= 2995")).count() == 15
    assert frame.count() == COUNT


@pytest.mark.full
def test_a_session_without_pushdown_reads_all_the_same(spark: Any, load: Any, site: Site) -> None:
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, "false")
    try:
        assert load(ledger=site.plain, pushdown=True).filter("entry_id < 10").count() == 10
    finally:
        spark.conf.set(key, "true")


# What goes wrong -----------------------------------------------------------------------------------------------------

WRONG_OPTIONS = [
    ({}, "no ledgers are named: give one of ledger"),
    ({"ledger": "1", "batchRow": "5"}, "option batchrow is not known; did you mean batchRows"),
    ({"ledger": "one"}, "option ledger = 'one': 'one' is no ledger id; write"),
    ({"ledger": "1", "maxEntriesPerTrigger": "5"}, "option maxEntriesPerTrigger does nothing here"),
    ({"ledger": "1", "password": "hunter2"}, "name the file by passwordFile"),
    ({"ledger": "1", "passwordFile": "/does/not/exist"}, "passwordFile: the file cannot be read"),
    ({"ledger": "1", "bookkeeper__client__speculativeReadTimeout": "x"}, "speculativereadtimeout does nothing here"),
    ({"ledger": "1000000"}, "there is no ledger 1000000; take it out of the options"),
]


@pytest.mark.parametrize(("options", "text"), one_in(4, WRONG_OPTIONS), ids=[text for _, text in WRONG_OPTIONS])
def test_an_error_says_what_to_write(load: Any, options: dict[str, str], text: str) -> None:
    found = error_of(lambda: load(**options).count())
    assert text in found
    assert "hunter2" not in found


def test_passwords_are_needed_and_not_shown(load: Any, site: Site, spark: Any, capsys: Any) -> None:
    assert "wrong password; option passwordFile" in error_of(lambda: load(ledger=site.guarded))
    frame = load(ledger=site.guarded, passwordFile=site.password_file)
    assert payloads_of(frame) == site.payloads[:100]
    frame.explain(True)
    shown = [
        capsys.readouterr().out,
        frame._jdf.queryExecution().toString(),
        frame._jdf.queryExecution().executedPlan().toJSON(),
    ]
    logs = Path(spark.sparkContext.getConf().get("spark.eventLog.dir").removeprefix("file:"))
    shown += [path.read_text(errors="replace") for path in logs.rglob("*") if path.is_file()]
    assert any('"Event"' in each for each in shown)
    assert not any(SECRET.decode() in each for each in shown)


@pytest.mark.full
def test_planning_reads_no_entries_and_reading_needs_bookies(load: Any, site: Site) -> None:
    ledger = closed(site.ours, site.payloads[:10], 1, 1, 1)
    (bookie,) = site.ours.metadata(ledger).fragments[0].ensemble
    index = site.cluster.index_of(bookie)
    site.cluster.kill(index)
    try:
        frame = load(ledger=ledger, numRetries=0)
        frame.explain()
        text = error_of(frame.count)
    finally:
        site.cluster.restart(index)
    assert "BookieUnavailable" in text
    assert bookie in text
    assert payloads_of(load(ledger=ledger)) == site.payloads[:10]


def test_lost_entries(load: Any, site: Site) -> None:
    """The metadata promises five entries more than the bookies have."""
    ledger = closed(site.ours, site.payloads[:10])
    with open_blocking_store(site.uri) as store:
        found = store.read_ledger(ledger)
        store.write_ledger(ledger, evolve(found.metadata, last_entry_id=14), found.version)
    text = error_of(load(ledger=ledger).count)
    assert f"entry 10 of ledger {ledger}" in text
    assert "give failOnDataLoss=false" in text
    assert load(ledger=ledger, failOnDataLoss=False).count() == 10
    rows = load(ledger=ledger, failOnDataLoss=False, includeLost=True).orderBy("entry_id").collect()
    assert [row.entry_id for row in rows if row.lost is not None] == [10, 11, 12, 13, 14]
    assert [row.payload for row in rows] == [*site.payloads[:10], None, None, None, None, None]


# Within Spark --------------------------------------------------------------------------------------------------------


def test_neither_planner_nor_tasks_load_twisted(spark: Any, load: Any, site: Site) -> None:
    from tests.integration.spark.spies import SpySource

    spark.dataSource.register(SpySource)
    frame = load(name="bookkeeper-spy", ledgers=f"{site.plain},{site.striped}", maxEntriesPerPartition=COUNT // 2)
    assert frame.rdd.getNumPartitions() == 4
    assert frame.count() == 2 * COUNT


@pytest.mark.full
def test_formats_can_be_registered_by_hand(spark: Any, load: Any, site: Site) -> None:
    register_all(spark)
    guarded = {"ledger": site.guarded, "passwordFile": site.password_file}
    assert load(**guarded).count() == load(name="bookkeeper-entries", **guarded).count() == 100
    (row,) = load(name="bookkeeper-ledgers", ledger=site.guarded).collect()
    assert (row.ledger_id, row.last_entry_id) == (site.guarded, 99)


@pytest.mark.full
def test_the_formats_load_from_a_zip_file(tmp_path: Path) -> None:
    """As ``spark-submit --py-files`` brings them."""
    archive = make_archive(tmp_path / "formats.zip")
    script = """
import sys
from bookkeeper_tx.spark import session
class Session:
    def register(self, source):
        print(source.name(), sys.modules[source.__module__].__file__)
Session.dataSource = Session()
session.register_all(Session)
assert not any(name.startswith("twisted") for name in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    lines = [line.split() for line in done.stdout.splitlines()]
    names = ["bookkeeper", *(f"bookkeeper-{each}" for each in TABLES)]
    assert [name for name, _ in lines] == names, done.stderr
    assert all(path.startswith(str(archive)) for _, path in lines)


@pytest.mark.java
def test_a_ledger_that_java_has_written(
    spark: Any, load: Any, cluster: Any, java_bookie: Any, java_client: Any
) -> None:
    java_bookie("4.18.0")
    writer = java_client("4.18.0").create_ledger(password=b"")
    writer.append_many(2000, 100, seed=4)
    writer.close()
    frame = load(uri=cluster.uri, ledger=writer.ledger_id, minPartitions=2)
    assert payloads_of(frame) == patterns(2000, 100, seed=4)
