"""Table ``orphans``: the ledgers without metadata that bookies store.  Each bookie is asked for each ledger id.

Bookies have no request that lists their ledgers, so option ``ids`` has to say which ids may be orphans
(docs/guides/spark-tables.md).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, Final

import pyarrow as pa
from attrs import frozen
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import (
    BookKeeperError,
    InvalidConfig,
    NoSuchLedger,
    RemoteError,
    TooManyRequests,
)
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.spark.bookies.list_entries import EntryListChannel
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit, RateLimiter
from bookkeeper_tx.spark.cluster.bookies_table import DOWN, find_bookies
from bookkeeper_tx.spark.options.channels import rate_limit
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.option import LedgerSpan, Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.table_rows import Row, batches_of
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns

COLUMNS: Final = pa.schema(
    [
        ("scope_id", pa.int64()),
        ("ledger_id", pa.int64()),
        ("bookie", pa.string()),
        ("first_entry", pa.int64()),
        ("last_entry", pa.int64()),
        ("entries", pa.int64()),
        ("error", pa.string()),
    ]
)
"""A row for each orphan on each bookie; a row with an error and without an id is a bookie that could not be asked."""

IDS_MAX: Final = 10_000_000
"""The most ids without metadata that a query asks for: each is a request to each bookie."""

CHUNK_MAX: Final = 20_000
"""Ids of one task."""

BUSY_TRIES: Final = 10
BUSY_PAUSE_S: Final = 0.5
"""How often, and after what pause, a bookie that answers TooManyRequests is asked again."""

ROWS_MAX: Final = 10_000

Connect = Callable[[BookieId], EntryListChannel]


class OrphansTable(DataSource):
    """A row for each ledger without metadata, on each bookie that stores entries of it."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-orphans"

    def schema(self) -> Any:
        Options.from_spark(self.options, Use.ORPHANS)
        return spark_schema(COLUMNS)

    def reader(self, schema: Any) -> DataSourceReader:
        return OrphansReader(Options.from_spark(self.options, Use.ORPHANS), wanted_columns(COLUMNS, schema))


class OrphansInput(InputPartition):
    """The ids that one task asks one bookie for."""

    def __init__(self, bookie: BookieId, ids: IdRanges) -> None:
        super().__init__((bookie, ids))


class OrphansReader(DataSourceReader):
    """Lists the ledgers that have metadata where the query is planned; tasks ask bookies for the others."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with open_store(self._options) as store:
            ids = ids_without_metadata(store.list_ledgers(), self._options.ids)
            bookies = [each.bookie_id for each in find_bookies(store) if each.state != DOWN]
        return [OrphansInput(bookie, chunk) for chunk in chunks_of(ids, CHUNK_MAX) for bookie in bookies]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a task."""
        if partition.value is None:  # without any partition Spark runs one task, with an empty one
            return
        bookie, ids = partition.value
        config = client_config(self._options)
        with open_store(self._options) as store:

            def connect(bookie_id: BookieId) -> EntryListChannel:
                info = store.bookie_info(bookie_id)
                return EntryListChannel(info.host, info.port, config)

            rows = list(orphans_on(bookie, ids, store, connect, rate_limit(self._options)))
        yield from batches_of(rows, COLUMNS, self._names, ROWS_MAX)


def ids_without_metadata(listed: Iterable[int], spans: Iterable[LedgerSpan]) -> IdRanges:
    """Return the ids of ``spans`` that are not among ``listed``; a span without an end ends at the highest listed id.

    Raises InvalidConfig if they are more than :data:`IDS_MAX`.
    """
    known = IdRanges.of(listed)
    ends = ((first, known.last if last is None else last) for first, last in spans)
    ids = IdRanges((first, last) for first, last in ends if first <= last) - known
    if ids.count > IDS_MAX:
        raise InvalidConfig(
            f"{ids.count} ids have no metadata, and every bookie would be asked for each: name fewer, {IDS_MAX} at most"
        )
    return ids


def chunks_of(ids: IdRanges, size: int) -> Iterator[IdRanges]:
    """Cut a set of ids into sets of ``size``."""
    chunk: list[tuple[int, int]] = []
    room = size
    for first, last in ids.ranges:
        while first <= last:
            end = min(last, first + room - 1)
            chunk.append((first, end))
            room -= end - first + 1
            first = end + 1
            if not room:
                yield IdRanges(chunk)
                chunk, room = [], size
    if chunk:
        yield IdRanges(chunk)


def orphans_on(
    bookie: BookieId,
    ids: IdRanges,
    store: BlockingStore,
    connect: Connect,
    limit: RateLimit | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Row]:
    """Give a row for each of these ledgers that the bookie stores entries of and that still has no metadata.

    A bookie that cannot be asked is one row, with the error.  A request counts as one entry in ``limit``.
    """
    paced = None if limit is None else _Paced(bookie, RateLimiter(limit, sleep=sleep))
    found: dict[int, EntryList | BookKeeperError] = {}
    problem: RemoteError | None = None
    try:
        with closing(connect(bookie)) as channel:
            found.update(_listed(channel, ids.each(), paced, sleep))
    except RemoteError as error:
        problem = error
    # A ledger that was created after the ids were listed is no orphan.
    metadata = dict(store.read_ledgers(found))
    for ledger_id, entries in found.items():
        if isinstance(metadata[ledger_id], NoSuchLedger):
            yield _row(bookie, ledger_id, entries)
    if problem is not None:
        yield Row({"bookie": bookie, "error": str(problem)}, len(str(problem)))


@frozen
class _Paced:
    """Gives ids no faster than a bookie may be asked about them."""

    bookie: BookieId
    limiter: RateLimiter

    def __call__(self, ids: Iterable[int]) -> Iterator[int]:
        for each in ids:
            self.limiter.wait(self.bookie)
            self.limiter.moved(self.bookie, 1, 0)
            yield each


def _listed(
    channel: EntryListChannel, ids: Iterable[int], paced: _Paced | None, sleep: Callable[[float], None]
) -> Iterator[tuple[int, EntryList | BookKeeperError]]:
    """Yield the entries of each ledger that the bookie has, or its error; ledgers unknown to it are left out."""
    for tries in range(BUSY_TRIES + 1):
        refused = []
        for ledger_id, answer in channel.list_entries(paced(ids) if paced else ids, one_by_one=paced is not None):
            if isinstance(answer, TooManyRequests) and tries < BUSY_TRIES:
                refused.append(ledger_id)
            elif isinstance(answer, BookKeeperError):
                if not isinstance(answer, NoSuchLedger):
                    yield ledger_id, answer
            elif len(answer):
                yield ledger_id, answer
        if not refused:
            return
        ids = refused
        sleep(BUSY_PAUSE_S)


def _row(bookie: BookieId, ledger_id: int, entries: EntryList | BookKeeperError) -> Row:
    values: dict[str, Any] = {"scope_id": 0, "ledger_id": ledger_id, "bookie": bookie}
    if isinstance(entries, BookKeeperError):
        return Row({**values, "error": str(entries)}, len(str(entries)))
    listed = [group for group in entries.groups if group.size]
    return Row({**values, "first_entry": listed[0].first, "last_entry": listed[-1].end - 1, "entries": len(entries)})
