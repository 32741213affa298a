"""The tables about a cluster in a real session: bookies of ours with planted damage, metadata in an SQLite file."""

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from pyspark.sql import functions as f

from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.spark_session import spark  # noqa: F401
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, append_and_close, wait_for
from tests.integration.support.payloads import payloads
from tests.integration.support.planted_damage import stopped
from tests.sampling import only

pytestmark = pytest.mark.spark

COUNT = 200
STRIPED_COUNT = 90
ABSENT_LEDGER, ORPHAN_LEDGER, GARBAGE_LEDGER = 4711, 4712, 4713

Table = Callable[..., Any]


@frozen
class Filled:
    """A cluster with damage, and its ledgers by their kind of damage."""

    cluster: LocalCluster
    sound: int
    damaged: int
    striped: int
    open: int
    scoped: int
    mac: int

    @property
    def bookies(self) -> list[str]:
        """Those that have entries."""
        return self.cluster.bookie_ids[:3]


REMOVED, REPLACED, FLIPPED = 17, 33, 150
"""Entries of the damaged ledger: one on the first bookie, one on the second, one on the third."""

STRIPED_REMOVED = (3, 4, 5)
"""Of these the first bookie had two: those of its stripes."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with LocalCluster(tmp_path_factory.mktemp("tables"), bookie_count=3) as cluster:
        with OurClient(cluster.metadata_uri, protocol="v3") as client:
            found = fill(cluster, client)
        plant(found)
        yield found


def fill(cluster: LocalCluster, client: OurClient) -> Filled:
    sound = append_and_close(client.create_ledger(3, 3, 2, custom={"app": b"tables"}), payloads(COUNT))
    damaged = append_and_close(client.create_ledger(3, 3, 2), payloads(COUNT))
    striped = append_and_close(client.create_ledger(3, 2, 2), payloads(STRIPED_COUNT))
    mac = append_and_close(client.create_ledger(3, 2, 2, digest=DigestType.MAC, password=b"secret"), payloads(10))
    unfinished = client.create_ledger(3, 3, 3)
    append(unfinished, payloads(5))
    append(unfinished, [b"not confirmed to anybody yet"])
    scoped = wait_for(client.bookkeeper.create_ledger, 3, 3, 3, DigestType.CRC32C, b"", ledger_id=LedgerId(5, 7))
    append_and_close(scoped, payloads(4))
    return Filled(cluster, sound, damaged, striped, unfinished.ledger_id, scoped.ledger_id, mac)


def plant(filled: Filled) -> None:
    cluster = filled.cluster
    raw_requests.add(cluster.bookies[0].port, ORPHAN_LEDGER, 0, [b"nobody knows me"] * 3)
    with stopped(cluster, 0) as bookie:
        bookie.remove(filled.damaged, REMOVED)
        for entry_id in STRIPED_REMOVED:
            bookie.remove(filled.striped, entry_id)
    with stopped(cluster, 1) as bookie:
        bookie.replace(filled.damaged, REPLACED)
    with stopped(cluster, 2) as bookie:
        bookie.flip(filled.damaged, FLIPPED)
    with sqlite3.connect(cluster.directory / "metadata.db") as database:
        database.execute("INSERT INTO ledgers VALUES (?, 0, ?)", (GARBAGE_LEDGER, b"not metadata at all"))


@pytest.fixture
def table(spark: Any, filled: Filled) -> Table:  # noqa: F811
    """``table("ledgers", option=…)`` is a DataFrame of the cluster."""

    def load(name: str, **options: Any) -> Any:
        all_options = {"metadataServiceUri": filled.cluster.metadata_uri, **options}
        return spark.read.format("bookkeeper").options(**all_options).load(name)

    return load


# Ledgers -------------------------------------------------------------------------------------------------------------


def by_id(frame: Any) -> dict[int, Any]:
    return {row.ledger_id: row for row in frame.collect()}


def test_ledgers_have_a_row_each(filled: Filled, table: Table) -> None:
    found = by_id(table("ledgers"))
    assert sorted(found) == sorted(
        [filled.sound, filled.damaged, filled.striped, filled.mac, filled.open, GARBAGE_LEDGER]
    )
    row = found[filled.sound]
    assert (row.scope_id, row.state, row.digest_type, row.problem) == (0, "closed", "crc32c", None)
    assert (row.ensemble_size, row.write_quorum_size, row.ack_quorum_size) == (3, 3, 2)
    assert (row.last_entry_id, row.length) == (COUNT - 1, sum(map(len, payloads(COUNT))))
    assert row.custom_metadata == {"app": bytearray(b"tables")}
    assert [(each.first_entry_id, sorted(each.ensemble)) for each in row.fragments] == [(0, sorted(filled.bookies))]
    assert row.format_version == 3
    assert abs(row.ctime.timestamp() - filled.cluster.directory.stat().st_ctime) < 3600
    row = found[filled.open]
    assert (row.state, row.last_entry_id, row.length) == ("open", None, None)
    row = found[GARBAGE_LEDGER]
    assert (row.state, row.fragments, row.custom_metadata) == (None, None, None)
    assert "metadata of ledger 4713" in row.problem


@pytest.mark.full
def test_ledgers_may_be_chosen(filled: Filled, table: Table) -> None:
    assert list(by_id(table("ledgers", **{"ledgerMetadata.app": "tables"}))) == [filled.sound]
    named = by_id(table("ledgers", ledgers=f"{filled.sound},{ABSENT_LEDGER}"))
    assert sorted(named) == [filled.sound, ABSENT_LEDGER]
    assert "there is no ledger" in named[ABSENT_LEDGER].problem
    scoped = table("ledgers", scope="all").filter("scope_id = 7").collect()
    assert [(row.scope_id, row.ledger_id, row.state) for row in scoped] == [(7, 5, "closed")]


@pytest.mark.full
def test_filters_and_tasks_change_nothing_in_what_is_found(filled: Filled, table: Table) -> None:
    frame = table("ledgers", minPartitions=3)
    assert frame.filter(f"ledger_id >= {filled.damaged} and state = 'closed'").count() == 3
    assert frame.filter(f"ledger_id in ({filled.sound}, {ABSENT_LEDGER})").count() == 1
    assert frame.filter("ledger_id < 0").count() == 0


# Bookies -------------------------------------------------------------------------------------------------------------


def test_bookies_have_a_row_each_up_or_down(filled: Filled, table: Table, tmp_path: Path) -> None:
    cluster = filled.cluster
    index = cluster.add_bookie()
    cluster.stop_bookie(index)
    found = {row.bookie_id: row for row in table("bookies").collect()}
    assert sorted(found) == sorted(cluster.bookie_ids)
    for number, bookie in enumerate(cluster.bookies):
        row = found[bookie.bookie_id]
        assert (row.host, row.port, row.has_cookie) == ("127.0.0.1", bookie.port, True)
        if number == index:
            assert (row.state, row.reachable, row.total_bytes) == ("down", False, None)
            assert "cannot connect" in row.error
        else:
            assert (row.state, row.reachable, row.error) == ("writable", True, None)
            assert row.total_bytes >= row.free_bytes > 0
            assert row.extensions


# Replicas ------------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_sound_ledger_has_equal_copies_everywhere(filled: Filled, table: Table) -> None:
    rows = table("replicas", ledger=filled.sound).collect()
    assert sorted(row.bookie for row in rows) == sorted(filled.bookies)
    assert len({row.sha256 for row in rows}) == 1
    for row in rows:
        assert (row.first_entry, row.last_entry, row.stripe, row.stripes) == (0, COUNT - 1, 0, 1)
        assert (row.expected, row.present, row.missing, row.corrupt, row.unknown) == (COUNT, COUNT, 0, 0, 0)
        assert (row.verdict, row.error, row.missing_ranges, row.closed) == ("ok", None, [], True)
        assert row.bytes == sum(36 + len(payload) for payload in payloads(COUNT))


@pytest.mark.parametrize("batch", only("true", ["true", "false"]))
def test_damage_is_found_where_it_was_planted(filled: Filled, table: Table, batch: str) -> None:
    rows = {row.bookie: row for row in table("replicas", ledger=filled.damaged, batch=batch).collect()}
    removed, replaced, flipped = (rows[filled.bookies[index]] for index in range(3))
    assert (removed.verdict, removed.present, removed.missing) == ("missing", COUNT - 1, 1)
    assert [(each.first, each.last) for each in removed.missing_ranges] == [(REMOVED, REMOVED)]
    assert (flipped.verdict, flipped.present, flipped.corrupt) == ("corrupt", COUNT, 1)
    assert flipped.corrupt_entries == [FLIPPED]
    assert "does not match its digest" in flipped.error
    assert (replaced.verdict, replaced.present) == ("ok", COUNT)
    assert removed.sha256 != replaced.sha256 != flipped.sha256 != removed.sha256


@pytest.mark.full
def test_copies_may_be_had_entry_by_entry(filled: Filled, table: Table) -> None:
    frame = table("replicas", ledger=filled.damaged, perEntry="true", batchRows=70)
    assert frame.count() == 3 * COUNT
    odd = frame.groupBy("entry_id").agg(
        f.sum(f.col("present").cast("int")).alias("present"),
        f.sum(f.col("digest_ok").cast("int")).alias("good"),
        f.countDistinct("sha256").alias("contents"),
    )
    odd = odd.filter("present < 3 or good < 3 or contents > 1").orderBy("entry_id").collect()
    assert [(row.entry_id, row.present, row.good, row.contents) for row in odd] == [
        (REMOVED, 2, 2, 1),
        (REPLACED, 3, 3, 2),
        (FLIPPED, 3, 2, 2),
    ]
    named = table("replicas", ledger=filled.damaged, perEntry="true", entries=f'{{"{filled.damaged}": "10-12,17"}}')
    assert sorted(row.entry_id for row in named.collect()) == [each for each in (10, 11, 12, 17) for _ in range(3)]
    assert frame.filter("entry_id between 10 and 12").count() == 3 * 3
    assert frame.filter("entry_id in (5, 7, 8, 100000)").count() == 3 * 3
    row = frame.filter(f"entry_id = 5 and bookie = '{filled.bookies[1]}'").collect()[0]
    payload = payloads(6)[5]
    assert (row.payload_bytes, row.sha256) == (len(payload), hashlib.sha256(payload).hexdigest())
    assert (row.length, row.digest_ok, row.error) == (sum(map(len, payloads(6))), True, None)
    row = frame.filter(f"entry_id = {REMOVED} and bookie = '{filled.bookies[0]}'").collect()[0]
    assert (row.present, row.digest_ok, row.sha256) == (False, None, None)


@pytest.mark.full
def test_stripes_are_compared_with_each_other(filled: Filled, table: Table) -> None:
    rows = table("replicas", ledger=filled.striped, maxEntriesPerPartition=40).collect()
    assert {(row.first_entry, row.last_entry) for row in rows} == {(0, 29), (30, 59), (60, 89)}
    assert len(rows) == 3 * 3 * 2
    assert sum(row.expected for row in rows) == 2 * STRIPED_COUNT
    wrong = [row for row in rows if row.verdict != "ok"]
    missing = [each.first for row in wrong for each in row.missing_ranges]
    assert {row.bookie for row in wrong} == {filled.bookies[0]}
    assert len(missing) == 2
    assert set(missing) < set(STRIPED_REMOVED)
    contents: dict[Any, set[str]] = {}
    for row in rows:
        if row.verdict == "ok":
            contents.setdefault((row.first_entry, row.stripe), set()).add(row.sha256)
    assert all(len(each) == 1 for each in contents.values())


@pytest.mark.full
def test_every_ledger_is_looked_at_with_its_own_password(filled: Filled, table: Table) -> None:
    rows = table("replicas", scope="all", minPartitions=4).collect()
    verdicts: dict[int, set[str]] = {}
    for row in rows:
        verdicts.setdefault(row.ledger_id, set()).add(row.verdict)
    assert verdicts == {
        filled.sound: {"ok"},
        filled.damaged: {"ok", "missing", "corrupt"},
        filled.striped: {"ok", "missing"},
        filled.open: {"ok"},
        filled.mac: {"ok"},
        5: {"ok"},
        GARBAGE_LEDGER: {"unknown"},
    }
    (garbage,) = [row for row in rows if row.ledger_id == GARBAGE_LEDGER]
    assert garbage.bookie is None
    assert "metadata of ledger" in garbage.error
    assert {(row.last_entry, row.closed) for row in rows if row.ledger_id == filled.open} == {(4, False)}
    assert table("replicas", readMode="closed").filter(f"ledger_id = {filled.open}").count() == 0


def test_a_bookie_that_is_down_leaves_its_copies_unknown(filled: Filled, table: Table) -> None:
    filled.cluster.kill(1)
    try:
        rows = {row.bookie: row for row in table("replicas", ledger=filled.sound, numRetries=0).collect()}
    finally:
        filled.cluster.restart(1)
    assert {bookie: row.verdict for bookie, row in rows.items()} == {
        bookie: "unknown" if bookie == filled.bookies[1] else "ok" for bookie in filled.bookies
    }
    down = rows[filled.bookies[1]]
    assert (down.unknown, down.present, down.sha256) == (COUNT, 0, None)
    assert down.error


# Orphans -------------------------------------------------------------------------------------------------------------


def test_orphans_are_what_bookies_have_without_metadata(filled: Filled, spark: Any, table: Table) -> None:  # noqa: F811
    ids = f"0-{ORPHAN_LEDGER + 10}"
    (row,) = table("orphans", ids=ids).collect()
    assert (row.scope_id, row.ledger_id, row.bookie, row.error) == (0, ORPHAN_LEDGER, filled.bookies[0], None)
    assert (row.first_entry, row.last_entry, row.entries) == (0, 2, 3)
    read = spark.read.schema("bookie STRING, ledger_id BIGINT").format("bookkeeper")
    fewer = read.options(metadataServiceUri=filled.cluster.metadata_uri, ids=ids).load("orphans")
    assert [tuple(row) for row in fewer.collect()] == [(filled.bookies[0], ORPHAN_LEDGER)]


# The guide -----------------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "spark-tables.md"


def test_the_sql_of_the_guide_runs(filled: Filled, spark: Any, table: Table) -> None:  # noqa: F811
    for name in ("ledgers", "bookies", "replicas"):
        table(name).createOrReplaceTempView(name)
    data = str(filled.cluster.bookies[0].directory / "data")
    spark.read.format("bookkeeper").option("table", "entrylog").load(data).createOrReplaceTempView("entrylog")
    blocks = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.S)
    found = [spark.sql(each).collect() for block in blocks for each in block.split(";") if each.strip()]
    assert len(found) == 8
    by_state, broken, on_lost_bookies, disks, wrong, per_bookie, garbage, torn = found
    assert {row.state: row.ledgers for row in by_state} == {"closed": 4, "open": 1, None: 1}
    assert [row.ledger_id for row in broken] == [GARBAGE_LEDGER]
    assert on_lost_bookies == []
    assert set(filled.bookies) <= {row.bookie_id for row in disks}
    assert {row.ledger_id for row in wrong} == {filled.damaged, filled.striped}
    assert sum(row.missing for row in per_bookie if row.bookie) == 3
    assert sum(row.garbage for row in garbage) > 0
    assert torn == []


# Entry logs ----------------------------------------------------------------------------------------------------------


def test_entry_logs_show_what_no_ledger_has(filled: Filled, spark: Any, table: Table) -> None:  # noqa: F811
    data = filled.cluster.bookies[0].directory / "data"
    log = spark.read.format("bookkeeper").option("table", "entrylog").load(str(data))
    entries = log.filter("kind = 'entry'")
    assert log.filter("kind = 'problem'").count() == 0
    orphans = entries.join(table("ledgers", scope="all"), ["scope_id", "ledger_id"], "left_anti")
    found = {row.ledger_id: row["count"] for row in orphans.groupBy("ledger_id").count().collect()}
    assert found == {ORPHAN_LEDGER: 3}
    sound = entries.filter(f"ledger_id = {filled.sound}").dropDuplicates(["entry_id"]).orderBy("entry_id").collect()
    assert [bytes(row.payload) for row in sound] == payloads(COUNT)
    assert entries.filter("scope_id = 7").count() == 4


@pytest.mark.full
def test_entry_logs_tell_which_entry_was_flipped(filled: Filled, spark: Any) -> None:  # noqa: F811
    data = filled.cluster.bookies[2].directory / "data"
    log = spark.read.format("bookkeeper").option("table", "entrylog").option("includeDigest", "true").load(str(data))
    bad = log.filter(f"digest_ok = false and ledger_id <> {filled.mac}").collect()
    assert [(row.ledger_id, row.entry_id, row.kind) for row in bad] == [(filled.damaged, FLIPPED, "entry")]


@pytest.mark.full
def test_a_torn_entry_log_gives_what_is_whole(filled: Filled, spark: Any, tmp_path: Path) -> None:  # noqa: F811
    logs = sorted((filled.cluster.bookies[0].directory / "data" / "current").glob("*.log"))
    data = next(each.read_bytes() for each in logs if each.stat().st_size > 2000)
    whole = tmp_path / "0.log"
    whole.write_bytes(data)
    (tmp_path / "1.log").write_bytes(data[:-3])
    (tmp_path / "2.log").write_bytes(b"no log")
    several = [str(tmp_path / "1.log"), str(tmp_path / "2.log")]
    read = spark.read.format("bookkeeper").option("table", "entrylog")
    assert read.load(several).filter("problem is not null").count() == 2
    frame = read.option("includePayload", "false").load(str(tmp_path))
    assert "payload" not in frame.columns
    counts = {
        row.log_id: (row.entries, row.problems)
        for row in frame.groupBy("log_id")
        .agg(
            f.sum(f.when(f.col("kind") == "entry", 1).otherwise(0)).alias("entries"),
            f.sum(f.when(f.col("problem").isNotNull(), 1).otherwise(0)).alias("problems"),
        )
        .collect()
    }
    entries = counts[0][0]
    assert counts == {0: (entries, 0), 1: (entries - 1, 1), 2: (0, 1)}
