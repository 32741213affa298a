"""Scrub in a real session: it finds the damage that was planted on bookies of ours, and nothing else."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.jobs import scrub_replicas
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append, append_and_close, wait_for
from tests.integration.support.payloads import payloads
from tests.integration.support.planted_damage import stopped
from tests.sampling import only

pytestmark = pytest.mark.spark

COUNT, OPEN_COUNT, SMALL_COUNT = 120, 7, 20
SCOPED = LedgerId(5, 7)

REMOVED, REPLACED, FLIPPED = (17, 18, 39, 40, 41), 33, 90
"""Entries that the first bookie lost, and one entry each that differs on the second and on the third."""

PART = 40
"""Entries of a part: a third of a ledger, so that the removed entries lie on both sides of a cut."""

Finding = tuple[Any, ...]
"""Kind, ledger, first and last entry, entries, bookie, good copies and wanted ones."""


@frozen
class Site:
    """A cluster of three bookies and its ledgers, all of them whole in the beginning."""

    cluster: LocalCluster
    whole: int
    striped: int
    """Each entry on two of three bookies."""
    absent: int
    """A bookie is going to lack all of its entries."""
    garbled: int
    """Its metadata is going to be unreadable."""
    open: int
    deleted: int

    @property
    def bookies(self) -> list[str]:
        return self.cluster.bookie_ids[:3]

    def stripe(self, number: int) -> list[str]:
        """Return the bookies of a stripe of ``striped``."""
        with open_blocking_store(self.cluster.metadata_uri) as store:
            ensemble = store.read_ledger(self.striped).metadata.fragments[0].ensemble
        return [ensemble[number], ensemble[(number + 1) % 3]]

    def orphans(self) -> list[Finding]:
        """Return the ledger that was deleted: as it is in the entry logs, and as the bookies list it."""
        found = ("orphan", self.deleted, 0, COUNT - 1, COUNT)
        return [(*found, bookie, None, None) for bookie in (*self.bookies, None, None, None)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with (
        LocalCluster(tmp_path_factory.mktemp("scrub"), bookie_count=3) as cluster,
        OurClient(cluster.metadata_uri, protocol="v3") as client,
    ):
        whole = append_and_close(client.create_ledger(3, 3, 2), payloads(COUNT))
        striped = append_and_close(client.create_ledger(3, 2, 2), payloads(COUNT))
        absent, garbled = (append_and_close(client.create_ledger(3, 3, 2), payloads(SMALL_COUNT)) for _ in range(2))
        deleted = append_and_close(client.create_ledger(3, 3, 2), payloads(COUNT))
        wait_for(client.bookkeeper.delete_ledger, deleted)
        unfinished = client.create_ledger(3, 3, 3)
        append(unfinished, payloads(OPEN_COUNT))
        append(unfinished, [b"not confirmed to anybody yet"])
        scoped = wait_for(client.bookkeeper.create_ledger, 3, 3, 3, DigestType.CRC32C, b"", ledger_id=SCOPED)
        append_and_close(scoped, payloads(SMALL_COUNT))
        for index in range(3):
            cluster.restart(index)  # entries in memory go to the entry logs
        yield Site(cluster, whole, striped, absent, garbled, unfinished.ledger_id, deleted)


def scrubbed(spark: Any, site: Site, path: Path, **options: str) -> tuple[Summary, list[Finding]]:
    output = Output(str(path), "json")
    logs = str(site.cluster.directory / "bookie-*" / "data" / "current" / "*.log")
    options = {"scope": "all", "maxEntriesPerPartition": str(PART), **options}
    settings = scrub_replicas.ScrubSettings(Cluster(site.cluster.metadata_uri, options), output, (logs,), "0-")
    summary = scrub_replicas.run(spark, settings, Progress(lambda line: None))
    schema = "kind STRING, ledger_id BIGINT, first_entry BIGINT, last_entry BIGINT, entries BIGINT, bookie STRING,"
    rows = spark.read.schema(f"{schema} good_copies INT, wanted_copies INT").json(output.path).collect()
    return summary, sorted(map(tuple, rows), key=str)


@pytest.mark.full
def test_nothing_is_found_in_a_healthy_cluster(spark: Any, site: Site, tmp_path: Path) -> None:
    summary, found = scrubbed(spark, site, tmp_path / "findings")
    assert found == sorted(site.orphans(), key=str)
    assert summary.exit_code == ExitCode.DONE
    (read,) = next(table.rows for table in summary.tables if table.title == "read")
    copies = 3 * COUNT + 2 * COUNT + 3 * 3 * SMALL_COUNT + 3 * OPEN_COUNT
    assert read[:3] == (6, 3, copies)


@pytest.fixture(scope="module")
def planted(site: Site) -> list[Finding]:
    """Damage the ledgers; return the findings to expect."""
    first, second, third = site.bookies
    near, far = site.stripe(0), site.stripe(1)
    for index, bookie_id in enumerate(site.bookies):
        with stopped(site.cluster, index) as bookie:
            if bookie_id == first:
                for entry_id in REMOVED:
                    bookie.remove(site.whole, entry_id)
                bookie.flip(SCOPED, 2)
            if bookie_id == second:
                bookie.replace(site.whole, REPLACED)
                bookie.forget(site.absent)
            if bookie_id == third:
                bookie.flip(site.whole, FLIPPED)
                bookie.remove(site.open, 2)
            if bookie_id == near[0]:
                for entry_id in (3, 6, 9):
                    bookie.remove(site.striped, entry_id)
            if bookie_id == far[0]:
                bookie.remove(site.striped, 100)
            if bookie_id == far[1]:
                bookie.flip(site.striped, 100)
    file = site.cluster.metadata_uri.removeprefix("sqlite://")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE ledgers SET record = ? WHERE ledger_id = ?", (b"garbage", site.garbled))
    spans = [(17, 18, 2), (39, 41, 3)]
    last = SMALL_COUNT - 1
    return [
        *(("missing", site.whole, *each, first, 2, 3) for each in spans),
        ("divergent", site.whole, REPLACED, REPLACED, 1, second, 2, 3),
        ("corrupt", site.whole, FLIPPED, FLIPPED, 1, third, 2, 3),
        *(("under-replicated", site.whole, *each, None, 2, 3) for each in spans),
        *(("under-replicated", site.whole, each, each, 1, None, 2, 3) for each in (REPLACED, FLIPPED)),
        ("missing", site.striped, 3, 9, 3, near[0], 1, 2),
        ("under-replicated", site.striped, 3, 9, 3, None, 1, 2),
        ("missing", site.striped, 100, 100, 1, far[0], 0, 2),
        ("corrupt", site.striped, 100, 100, 1, far[1], 0, 2),
        ("lost", site.striped, 100, 100, 1, None, 0, 2),
        ("missing", site.absent, 0, last, SMALL_COUNT, second, 2, 3),
        ("under-replicated", site.absent, 0, last, SMALL_COUNT, None, 2, 3),
        ("corrupt", SCOPED.ledger_id, 2, 2, 1, first, 2, 3),
        ("under-replicated", SCOPED.ledger_id, 2, 2, 1, None, 2, 3),
        ("missing", site.open, 2, 2, 1, third, 2, 3),
        ("under-replicated", site.open, 2, 2, 1, None, 2, 3),
        ("unreadable", site.garbled, None, None, None, None, None, None),
    ]


@pytest.mark.parametrize("part", only(PART, [PART, 1_000_000]), ids=["several parts", "one part"])
def test_what_was_planted_is_found_and_no_more(
    spark: Any, site: Site, planted: list[Finding], tmp_path: Path, part: int
) -> None:
    summary, found = scrubbed(spark, site, tmp_path / "findings", maxEntriesPerPartition=str(part))
    assert found == sorted(planted + site.orphans(), key=str)
    assert (summary.exit_code, summary.text) == (ExitCode.FOUND, f"damage: {len(planted)} findings")


@pytest.mark.full
def test_a_bookie_that_cannot_be_reached_is_found(
    spark: Any, site: Site, planted: list[Finding], tmp_path: Path
) -> None:
    site.cluster.kill(2)
    try:
        summary, found = scrubbed(
            spark, site, tmp_path / "findings", ledgers=f"{site.whole},{site.striped},{site.open}"
        )
    finally:
        site.cluster.restart(2)
    assert summary.exit_code == ExitCode.FOUND
    gone = site.bookies[2]
    assert {row[5] for row in found if row[0] == "unreachable"} == {gone}
    copies: dict[int, int] = {}
    for kind, ledger_id, _, _, entries, *_ in found:
        if kind == "unreachable":
            copies[ledger_id] = copies.get(ledger_id, 0) + entries
    assert copies == {site.whole: COUNT, site.striped: COUNT * 2 // 3, site.open: OPEN_COUNT}
    # The findings about the first two bookies are as before; nothing else is known about the third.
    ours = [row for row in found if row[1] == site.whole]
    before = [row[:6] for row in planted if row[:2] == ("missing", site.whole)]
    assert [row[:6] for row in ours if row[0] == "missing"] == sorted(before, key=str)
    # If two copies differ, the scrub cannot know which is right.
    diverging = {(row[2], row[5]) for row in ours if row[0] in ("divergent", "corrupt")}
    assert diverging == {(REPLACED, bookie) for bookie in site.bookies[:2]}
    lacking = {(row[2], row[3], row[6]) for row in ours if row[0] == "under-replicated"}
    assert {(17, 18, 1), (39, 41, 1), (REPLACED, REPLACED, 1)} <= lacking
