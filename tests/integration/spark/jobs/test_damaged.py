"""Jobs that prove their results, on ledgers that have lost entries: they report the loss under every option."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.spark.jobs import cluster_stats, copy_ledgers, export_ledgers, scrub_replicas
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, quorums
from bookkeeper_tx.spark.jobs.sink_ledgers import write_once
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.jobs.filled import rows_of
from tests.integration.support.our_client import OurClient, append, append_and_close
from tests.integration.support.payloads import payloads
from tests.integration.support.planted_damage import stopped
from tests.sampling import one_in

pytestmark = [pytest.mark.spark, pytest.mark.full]

COUNT, LOST = 20, 4
CORRUPT = 7


@frozen
class Damaged:
    """A cluster of one bookie, and its ledgers."""

    uri: str
    good: int
    torn: int
    """Its metadata has more entries than any bookie."""
    corrupt: int
    open: int
    """It has lost its last confirmed entry."""

    def cluster(self, ledger_id: int, **options: str) -> Cluster:
        return Cluster(self.uri, {"ledger": str(ledger_id), **options})


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    with LocalCluster(tmp_path_factory.mktemp("damaged"), bookie_count=1) as cluster:
        with OurClient(cluster.metadata_uri) as client:
            good, torn, corrupt = (append_and_close(client.create_ledger(), payloads(COUNT)) for _ in range(3))
            unfinished = client.create_ledger()
            append(unfinished, payloads(COUNT + 1))
            append(unfinished, [b"tells that the others are confirmed"])
        with open_blocking_store(cluster.metadata_uri) as store:
            found = store.read_ledger(torn)
            store.write_ledger(torn, evolve(found.metadata, last_entry_id=COUNT + LOST - 1), found.version)
        with stopped(cluster, 0) as bookie:
            bookie.flip(corrupt, CORRUPT)
            bookie.remove(unfinished.ledger_id, COUNT)
        yield Damaged(cluster.metadata_uri, good, torn, corrupt, unfinished.ledger_id)


@pytest.mark.parametrize(
    ("which", "entries", "options"),
    one_in(
        3,
        [
            ("torn", COUNT + LOST, {"failOnDataLoss": "false"}),
            ("torn", COUNT + LOST, {"failOnDataLoss": "false", "includeLost": "true"}),
            ("corrupt", COUNT, {"failOnDataLoss": "false"}),
            ("corrupt", COUNT, {"includeDigest": "true"}),
            ("open", COUNT + 1, {"failOnDataLoss": "false"}),
            ("open", COUNT + 1, {"failOnDataLoss": "false", "includeLost": "true"}),
        ],
    ),
)
def test_an_export_says_what_it_does_not_have(
    damaged: Damaged, do: Callable[..., Summary], tmp_path: Path, which: str, entries: int, options: dict[str, str]
) -> None:
    source = damaged.cluster(getattr(damaged, which), **options)
    summary = do(export_ledgers, export_ledgers.ExportSettings(source, Output(str(tmp_path / "out"))))
    assert summary.exit_code == ExitCode.FOUND
    good = COUNT - 1 if which == "corrupt" else COUNT
    assert rows_of(summary, "export")[0][:3] == (1, entries, good)
    assert rows_of(summary, "ledgers that differ")[0][-1] == "not as many rows as entries"


@pytest.mark.parametrize(
    "option", one_in(3, [{"failOnDataLoss": "false"}, {"includeDigest": "true"}, {"includeLost": "true"}])
)
def test_a_copy_passes_over_nothing(spark: Any, damaged: Damaged, option: dict[str, str]) -> None:
    source = damaged.cluster(damaged.torn, **option)
    with pytest.raises(InvalidConfig, match=next(iter(option))):
        copy_ledgers.run(spark, copy_ledgers.CopySettings(source, source, "copies"), None)  # type: ignore[arg-type]


def test_a_copy_goes_on_without_ledgers_that_cannot_be_copied_and_names_them(
    spark: Any, damaged: Damaged, do: Callable[..., Summary]
) -> None:
    sink = Cluster(damaged.uri, quorums(1))
    source = Cluster(damaged.uri, {"ledgers": f"{damaged.good},{damaged.torn},{damaged.corrupt}"})
    settings = copy_ledgers.CopySettings(source, sink, "copies")
    summary = do(copy_ledgers, settings)
    assert summary.exit_code == ExitCode.FAILED
    bad = [str(damaged.torn), str(damaged.corrupt)]
    assert [(row[0], row[-1]) for row in rows_of(summary, "ledgers that differ")] == [
        (each, "could not be copied") for each in sorted(bad)
    ]
    why = dict(rows_of(summary, "could not be copied"))
    assert sorted(why) == sorted(bad)
    assert f"entry {COUNT}" in why[str(damaged.torn)]
    assert f"entry {CORRUPT}" in why[str(damaged.corrupt)]
    assert not any("failOnDataLoss" in each for each in why.values()), "a copy takes no such option"
    sizes = [sum(map(len, payloads(COUNT))) * ledgers for ledgers in (3, 1)]
    assert rows_of(summary, "copy") == [
        ("source", 3, 3 * COUNT + LOST, sizes[0]),
        ("sink copies", 1, COUNT, sizes[1]),
    ]
    assert sink.load(spark, Use.READ, manifest="copies").count() == COUNT
    alone = evolve(settings, cluster=damaged.cluster(damaged.torn))
    assert [row[0] for row in rows_of(do(copy_ledgers, alone), "could not be copied")] == [str(damaged.torn)]


def test_a_copy_finds_what_its_source_has_lost_since(spark: Any, damaged: Damaged, do: Callable[..., Summary]) -> None:
    sink = Cluster(damaged.uri, quorums(1))
    frame = spark.createDataFrame([(each,) for each in payloads(COUNT)], "payload BINARY").coalesce(1)
    write_once(frame, sink, "earlier", f"{copy_ledgers.APP_PREFIX}{damaged.corrupt}", 0)
    summary = do(copy_ledgers, copy_ledgers.CopySettings(damaged.cluster(damaged.corrupt), sink, "earlier"))
    assert summary.exit_code == ExitCode.FOUND
    (row,) = rows_of(summary, "ledgers that differ")
    assert (row[0], row[-1]) == (str(damaged.corrupt), "its source has lost entries since")
    assert summary.text == "1 of 1 ledger are not the same in the source and in sink earlier"


def test_a_copy_that_has_lost_entries_since_is_found(tmp_path: Path, do: Callable[..., Summary]) -> None:
    with LocalCluster(tmp_path / "cluster", bookie_count=1) as cluster:
        with OurClient(cluster.metadata_uri) as client:
            ledger_id = append_and_close(client.create_ledger(), payloads(COUNT))
        uri = cluster.metadata_uri
        source, sink = Cluster(uri, {"ledgers": str(ledger_id)}), Cluster(uri, quorums(1))
        settings = copy_ledgers.CopySettings(source, sink, "copies")
        assert do(copy_ledgers, settings).exit_code == ExitCode.DONE
        with open_blocking_store(uri) as store:
            (copy,) = (each for each in store.list_ledgers() if each != ledger_id)
        with stopped(cluster, 0) as bookie:
            bookie.flip(copy, CORRUPT)
        summary = do(copy_ledgers, settings)
    assert summary.exit_code == ExitCode.FOUND
    assert [(row[0], row[-1]) for row in rows_of(summary, "ledgers that differ")] == [
        (str(ledger_id), "not as many entries")
    ]


def test_an_option_that_a_job_would_not_look_at_is_refused(spark: Any, damaged: Damaged) -> None:
    source = damaged.cluster(damaged.torn, startingOffsets="earliest")
    for job, settings in (
        (scrub_replicas, scrub_replicas.ScrubSettings(source)),
        (cluster_stats, cluster_stats.StatsSettings(source)),
    ):
        with pytest.raises(InvalidConfig, match="startingOffsets: this job does nothing with it"):
            job.run(spark, settings, None)  # type: ignore[attr-defined]
    by_entry = scrub_replicas.ScrubSettings(damaged.cluster(damaged.torn, perEntry="true"))
    with pytest.raises(InvalidConfig, match="perEntry: single entries are looked at"):
        scrub_replicas.run(spark, by_entry, None)  # type: ignore[arg-type]
