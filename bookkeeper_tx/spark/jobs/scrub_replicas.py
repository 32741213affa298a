"""Reads every replica of every entry from its bookie, and finds those that are missing, corrupt, divergent or too few.

``bktx spark scrub --metadata URI --output /data/scrub``
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import click
from attrs import evolve, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.jobs import replica_findings as findings
from bookkeeper_tx.spark.jobs.arguments import (
    Cluster,
    Output,
    cluster_arguments,
    is_selector,
    load_entry_logs,
    output_arguments,
)
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.pinned_ledgers import spans_of
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import SHOWN, ExitCode, Summary, SummaryTable, counted, first_rows
from bookkeeper_tx.spark.options.entry_ranges import EntryRanges
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.option import LEDGERS, Use

RANGES_MAX = 10_000
"""About how many ranges are looked at entry by entry in one read; an option names them."""


@frozen
class ScrubSettings:
    """The ledgers to compare, and the output for the findings."""

    cluster: Cluster
    output: Output | None = None
    entry_logs: tuple[str, ...] = ()
    """Directories or patterns of entry logs to look for orphans in."""
    orphans_in: str | None = None
    """Ranges of ledger ids: bookies are asked for those without metadata."""


def run(spark: Any, settings: ScrubSettings, progress: Progress) -> Summary:
    """Read all replicas, write the findings, and count them."""
    settings.cluster.check_used(Use.REPLICAS | Use.ORPHANS)
    if any(name.lower() == "perentry" for name in settings.cluster.options):
        raise InvalidConfig("option perEntry: single entries are looked at where copies differ, leave it out")
    if any(name.lower() == "ids" for name in settings.cluster.options):
        raise InvalidConfig("option ids: --orphans-in names the ledgers that bookies are asked for, leave it out")
    if settings.orphans_in is not None and _scope(settings.cluster) not in ("0", "all"):
        raise InvalidConfig(
            "--orphans-in asks for ledgers of scope 0: a bookie that knows no scopes would answer for these, whatever "
            "the scope; leave it out, or the scope"
        )
    with progress.step("reading all replicas"):
        parts = settings.cluster.load(spark, Use.REPLICAS).cache()
        read = _count(parts)
    suspicious = findings.suspicious_parts(parts).cache()
    frames = [parts, suspicious]
    with progress.step(f"comparing {counted(read.entries or 0, 'copy')}"):
        found = [findings.findings_of_ledgers(parts), findings.findings_of_parts(parts, suspicious)]
        ranges = _ranges(suspicious)
    for closer in in_goes(ranges, RANGES_MAX):
        progress.say(f"looking at single entries of {counted(len(closer.of_ledger), 'ledger')}")
        entries = _entries(spark, settings, closer).cache()
        frames.append(entries)
        found += [findings.findings_of_entries(entries, suspicious), findings.findings_of_ledgers(entries)]
    if settings.entry_logs:
        records = load_entry_logs(spark, settings.entry_logs)
        live = settings.cluster.whole().load(spark, Use.LEDGERS)
        found.append(findings.orphans(records, live))
    if settings.orphans_in is not None:
        with progress.step(f"asking bookies for orphans among the ledgers {settings.orphans_in}"):
            strays = settings.cluster.load(spark, Use.ORPHANS, ids=settings.orphans_in).cache()
            frames.append(strays)
            strays.count()
        found.append(findings.orphans_on_bookies(strays))
    with progress.step("gathering what was found"):
        everything = reduce(lambda one, other: one.unionByName(other), found).cache()
        frames.append(everything)
        summary = summarise(settings, read, everything)
    if settings.output is not None:
        with progress.step(f"writing findings to {settings.output.path}"):
            settings.output.write(everything)
    for frame in reversed(frames):
        frame.unpersist()
    return summary


def _count(parts: Any) -> Any:
    from pyspark.sql import functions as F

    return parts.agg(
        F.count_distinct("scope_id", "ledger_id").alias("ledgers"),
        F.count_distinct("bookie").alias("bookies"),
        F.sum("expected").alias("entries"),
        F.sum("bytes").alias("bytes"),
    ).collect()[0]


def _ranges(suspicious: Any) -> EntryRanges:
    """Return the ranges of parts; a cluster that is fit for use has few of them."""
    rows = suspicious.select("scope_id", "ledger_id", "first_entry", "last_entry").distinct().collect()
    return EntryRanges.of((LedgerId(row.ledger_id, row.scope_id), row.first_entry, row.last_entry) for row in rows)


def in_goes(ranges: EntryRanges, count: int) -> Iterator[EntryRanges]:
    """Share out ranges: ``count`` of them together, or more if a single ledger has more."""
    go: dict[int, IdRanges] = {}
    room = count
    for ledger_id, entries in ranges.of_ledger.items():
        if go and len(entries.ranges) > room:
            yield EntryRanges(go)
            go, room = {}, count
        go[ledger_id] = entries
        room -= len(entries.ranges)
    if go:
        yield EntryRanges(go)


def _entries(spark: Any, settings: ScrubSettings, ranges: EntryRanges) -> Any:
    """Return the copies of single entries of ``ranges``."""
    cluster = settings.cluster
    kept = {name: value for name, value in cluster.options.items() if not is_selector(name)}
    named = {"ledgers": spans_of(ranges.of_ledger), "entries": str(ranges), "perEntry": "true"}
    return evolve(cluster, options=kept | named).load(spark, Use.REPLICAS)


def summarise(settings: ScrubSettings, read: Any, everything: Any) -> Summary:
    """Return the summary: the totals of the read, and the findings."""
    from pyspark.sql import functions as F

    by_kind = everything.groupBy("kind").agg(
        F.count(F.lit(1)).alias("findings"),
        F.count_distinct("scope_id", "ledger_id").alias("ledgers"),
        F.sum("entries").alias("entries"),
        F.count_distinct("bookie").alias("bookies"),
    )
    kinds = [tuple(row) for row in by_kind.collect()]
    kinds.sort(key=lambda row: findings.KINDS.index(row[0]))
    tables = [
        SummaryTable(
            "read",
            ("ledgers", "bookies", "copies of entries", "bytes"),
            ((read.ledgers, read.bookies, read.entries or 0, read.bytes or 0),),
        ),
        SummaryTable("found", ("what", "findings", "ledgers", "entries", "bookies"), tuple(kinds)),
    ]
    if kinds:
        columns = ("kind", "ledger_id", "first_entry", "last_entry", "bookie", "good_copies", "wanted_copies", "detail")
        rows = everything.orderBy("scope_id", "ledger_id", "first_entry", "kind", "bookie").select(*columns)
        total = sum(row[1] for row in kinds)
        tables.append(first_rows("findings", columns, rows.limit(SHOWN).collect(), total))
    damaged = sum(row[1] for row in kinds if row[0] in findings.DAMAGE)
    if damaged:
        return Summary(f"damage: {counted(damaged, 'finding')}", (*tables,), ExitCode.FOUND)
    text = f"no damage in {counted(read.ledgers, 'ledger')}: all replicas are there and alike"
    looked = settings.entry_logs or settings.orphans_in is not None
    return Summary(text if looked else f"{text} (for orphans say --entry-logs or --orphans-in)", (*tables,))


def _ids(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Return the text, if it is one of ranges."""
    if text is not None:
        try:
            LEDGERS.parse(text)
        except ValueError as error:
            raise click.BadParameter(f"{error}; write {LEDGERS.form}") from None
    return text


def _scope(cluster: Cluster) -> str:
    return next((value for name, value in cluster.options.items() if name.lower() == "scope"), "0").strip().lower()


@click.command(short_help="Every replica of every entry compared; exit code 1 if there is damage.")
@cluster_arguments
@output_arguments()
@click.option(
    "--entry-logs",
    multiple=True,
    metavar="PATH",
    help="A bookie's ledger directory, as tasks see it: ledgers in it without metadata are found. Several times.",
)
@click.option(
    "--orphans-in",
    metavar="IDS",
    callback=_ids,
    help='Ask every bookie for the ledgers of these ids that have no metadata: "0-99999", "5,7-9"; "0-" ends at the '
    "highest id that has.  Scope 0 only.",
)
def command(**values: Any) -> None:
    """Read every replica of every entry from the bookie that should have it, and compare.

    Found are entries that are missing, corrupt (digest), divergent (valid, but another content), on disks that bookies
    cannot read, on bookies that do not answer, under-replicated and lost; ledgers that cannot be looked at; and
    orphans, in entry logs and on bookies.  The exit code is 1 if there is damage.  Orphans alone are none.

    \b
    bktx spark scrub --metadata sqlite:///tmp/cluster.db --output /tmp/scrub --format json
    """
    launch(run, ScrubSettings(**values))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()
