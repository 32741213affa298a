"""Ledgers as they are when a job begins: the ranges that it reads, and how many entries these must have.

A selection (``ledgers=0-``, custom metadata, a manifest) may have more ledgers a moment later, and open ledgers grow.
A job that proves its result reads exactly the ledgers, and of open ones exactly the entries, that it counted first.
The metadata says how many entries and bytes a closed ledger has; open ones are read up to an offset that is looked up
once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from attrs import evolve, field, frozen

from bookkeeper_tx.model import LedgerId, ledger_name
from bookkeeper_tx.spark.jobs.arguments import Cluster, is_selector
from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.jobs.summary import counted
from bookkeeper_tx.spark.options.offsets import Offsets
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options, ReadMode
from protocol_specs.ledger_id import split

SHOWN = 5
"""Ledgers that an error names."""


@frozen
class PinnedLedgers:
    """The ledgers that a job reads."""

    cluster: Cluster
    """With options that name the ledgers, and the ends of open ones."""
    ids: tuple[int, ...]
    keys: tuple[str, ...]
    """The columns that name a ledger."""
    expected: Any = field(eq=False, repr=False)
    """DataFrame: the keys, ``first_entry``, ``end_entry``, ``entries``, and ``bytes`` of ledgers read whole."""
    open_left_out: int = 0
    unreadable_left_out: int = 0

    def entries(self, spark: Any, **more: str) -> Any:
        """Return their entries as a DataFrame; ``more`` are options of the format."""
        return self.cluster.load(spark, Use.READ, includeScope=str("scope_id" in self.keys).lower(), **more)

    def only(self, ids: Sequence[int]) -> "PinnedLedgers":
        """Return the same, but only the ledgers ``ids`` are read."""
        return evolve(self, cluster=evolve(self.cluster, options={**self.cluster.options, "ledgers": spans_of(ids)}))


def pin(spark: Any, cluster: Cluster, *, closed_only: bool = False) -> PinnedLedgers:
    """Look at the ledgers that the options of ``cluster`` name, all if they name none.

    Raises InvalidConfig for wrong options, CannotBeDone for ledgers whose metadata cannot be read.
    """
    cluster = cluster.selecting()
    options = Options.from_spark({"metadataServiceUri": cluster.metadata_uri, **cluster.options}, Use.READ)
    if options.allow_recovery:
        cluster.load(spark, Use.READ).take(1)  # open ledgers are recovered when that is planned
    found = list(_look(cluster.load(spark, Use.LEDGERS)))
    broken = [each for each in found if each.problem is not None]
    if broken and options.fail_on_data_loss:
        named = "; ".join(f"{ledger_name(each.ledger_id)}: {each.problem}" for each in islice(broken, SHOWN))
        raise CannotBeDone(
            f"the metadata of {counted(len(broken), 'ledger')} cannot be read ({named}): do not ask for them"
            + ("" if closed_only else ", or give -O failOnDataLoss=false to go on without them")
        )
    sound = [each for each in found if each.problem is None]
    skip_open = closed_only or options.read_mode is ReadMode.CLOSED
    taken = [each for each in sound if each.closed or not skip_open]
    ends = _ends_of_open(spark, cluster, options, [each.ledger_id for each in taken if not each.closed])
    spans = [_span(each, options, ends.get(each.ledger_id, each.end)) for each in taken]
    keys = ("scope_id", "ledger_id") if any(each.ledger_id >> 64 for each in taken) else ("ledger_id",)
    return PinnedLedgers(
        Cluster(
            cluster.metadata_uri, _pinned_options(cluster.options, [each.ledger_id for each in taken], spans, ends)
        ),
        tuple(each.ledger_id for each in taken),
        keys,
        _frame(spark, keys, spans),
        len(sound) - len(taken),
        len(broken),
    )


@frozen
class _Looked:
    """A row of the table of ledgers."""

    ledger_id: int
    closed: bool
    end: int
    length: int
    problem: str | None


@frozen
class _Span:
    """The entries that are read of a ledger: ``first`` … ``end - 1``."""

    ledger_id: int
    first: int
    end: int
    length: int | None


def _look(table: Any) -> Iterator[_Looked]:
    columns = ("scope_id", "ledger_id", "state", "last_entry_id", "length", "problem")
    for row in table.select(*columns).toLocalIterator():
        closed = row.state == "closed"
        ledger_id = LedgerId(row.ledger_id, row.scope_id)
        yield _Looked(ledger_id, closed, row.last_entry_id + 1 if closed else 0, row.length or 0, row.problem)


def _ends_of_open(spark: Any, cluster: Cluster, options: Options, ledger_ids: list[int]) -> dict[int, int]:
    """Return the end of the confirmed entries of each open ledger, lost ones included; it is found by reading them."""
    if not ledger_ids:
        return {}
    from pyspark.sql import functions as F

    kept = {name: value for name, value in cluster.options.items() if not is_selector(name)}
    other = ("startingoffsets", "endingoffsets", "includelost")
    bare = {name: value for name, value in kept.items() if name.lower() not in other}
    lost = {} if options.fail_on_data_loss else {"includeLost": "true"}
    named = Cluster(cluster.metadata_uri, {**bare, **lost, "ledgers": spans_of(ledger_ids)})
    frame = named.load(spark, Use.READ, includeScope="true", includePayload="false")
    last = frame.groupBy("scope_id", "ledger_id").agg((F.max("entry_id") + 1).alias("end")).collect()
    ends = {LedgerId(row.ledger_id, row.scope_id): row.end for row in last}
    return {each: ends.get(LedgerId(each), 0) for each in ledger_ids}


def _span(ledger: _Looked, options: Options, end: int) -> _Span:
    starts, ends = options.starting_offsets, options.ending_offsets
    first = _resolved(starts, ledger.ledger_id, end, 0)
    last = min(_resolved(ends, ledger.ledger_id, end, end), end)
    whole = ledger.closed and first == 0 and last == end and options.include_payload
    return _Span(ledger.ledger_id, first, max(first, last), ledger.length if whole else None)


def _resolved(offsets: Offsets | None, ledger_id: int, end: int, default: int) -> int:
    return default if offsets is None else offsets.resolved(ledger_id, end)


def _pinned_options(
    options: Mapping[str, str], ledger_ids: list[int], spans: list[_Span], ends: Mapping[int, int]
) -> dict[str, str]:
    pinned = {name: value for name, value in options.items() if not is_selector(name)}
    pinned["ledgers"] = spans_of(ledger_ids)
    given = next((name for name in pinned if name.lower() == "endingoffsets"), None)
    if ends or given is not None:
        pinned.pop(given or "", None)
        cut = {each.ledger_id: each.end for each in spans if given is not None or each.ledger_id in ends}
        pinned["endingOffsets"] = json.dumps({ledger_name(each): end for each, end in cut.items()})
    return pinned


def spans_of(ledger_ids: Iterable[int]) -> str:
    """Return ids in the form of option ``ledgers``; consecutive ones as a range, which has no other id."""
    runs: list[list[int]] = []
    for each in sorted(ledger_ids):
        if runs and each == runs[-1][1] + 1 and not each >> 64:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    names = ([ledger_name(first)] if first == last else [ledger_name(first), ledger_name(last)] for first, last in runs)
    return ",".join("-".join(each) for each in names)


def _frame(spark: Any, keys: tuple[str, ...], spans: list[_Span]) -> Any:
    rows = [(*map(int, split(each.ledger_id)), each.first, each.end, each.length) for each in spans]
    schema = "scope_id BIGINT, ledger_id BIGINT, first_entry BIGINT, end_entry BIGINT, bytes BIGINT"
    frame = spark.createDataFrame(rows, schema)
    return frame.selectExpr(*keys, "first_entry", "end_entry", "end_entry - first_entry AS entries", "bytes")
