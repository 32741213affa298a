"""Table ``bookies``: the bookies of a cluster, up or down (docs/guides/spark-tables.md)."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from attrs import frozen
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    MetadataCorrupt,
    ProtocolViolation,
    TlsFailed,
)
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.metadata.service_info import parse
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.spark.bookies.bookie_info import BookieInfoChannel
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.table_rows import Row, batches_of
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns

COLUMNS: Final = pa.schema(
    [
        ("bookie_id", pa.string()),
        ("host", pa.string()),
        ("port", pa.int32()),
        ("state", pa.string()),
        ("has_cookie", pa.bool_()),
        ("extensions", pa.list_(pa.string())),
        ("total_bytes", pa.int64()),
        ("free_bytes", pa.int64()),
        ("reachable", pa.bool_()),
        ("error", pa.string()),
    ]
)

ASKED = frozenset({"total_bytes", "free_bytes", "reachable", "error"})
"""The columns that need a connection to the bookie."""

WRITABLE, READ_ONLY, DOWN = "writable", "read-only", "down"

TASK_MAX = 8
"""Bookies of one task: it asks one after the other, and waits for those that do not answer."""

ROWS_MAX = 10_000


@frozen
class FoundBookie:
    """A bookie as the metadata store knows it."""

    bookie_id: BookieId
    state: str
    has_cookie: bool


class BookiesTable(DataSource):
    """A row for each bookie that is registered or has a cookie."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-bookies"

    def schema(self) -> Any:
        Options.from_spark(self.options, Use.BOOKIES)
        return spark_schema(COLUMNS)

    def reader(self, schema: Any) -> DataSourceReader:
        return BookiesReader(Options.from_spark(self.options, Use.BOOKIES), wanted_columns(COLUMNS, schema))


class BookiesInput(InputPartition):
    """The bookies that one task asks."""

    def __init__(self, bookies: list[FoundBookie]) -> None:
        super().__init__(bookies)


class BookiesReader(DataSourceReader):
    """Lists bookies where the query is planned; tasks look at each."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with open_store(self._options) as store:
            found = find_bookies(store)
        return [BookiesInput(found[first : first + TASK_MAX]) for first in range(0, len(found), TASK_MAX)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a task's bookies."""
        config = client_config(self._options) if ASKED.intersection(self._names) else None
        with open_store(self._options) as store:
            rows = [row_of(store, each, config) for each in partition.value or ()]
        yield from batches_of(rows, COLUMNS, self._names, ROWS_MAX)


def find_bookies(store: BlockingStore) -> list[FoundBookie]:
    """Return every bookie that is registered, and every one with a cookie: it was registered once, and may be again."""
    writable, read_only, cookies = store.writable_bookies(), store.read_only_bookies(), store.cookie_bookies()

    def state(bookie: BookieId) -> str:
        return READ_ONLY if bookie in read_only else WRITABLE if bookie in writable else DOWN

    return [FoundBookie(each, state(each), each in cookies) for each in sorted(writable | read_only | cookies)]


def row_of(store: BlockingStore, found: FoundBookie, config: ClientConfig | None) -> Row:
    """Return the row of a bookie; unless ``config`` is None, connect to the bookie for it."""
    values: dict[str, Any] = {
        "bookie_id": found.bookie_id,
        "state": found.state,
        "has_cookie": found.has_cookie,
    }
    try:
        info = _service_info(store, found)
    except (BookieUnavailable, MetadataCorrupt) as error:
        return Row({**values, "error": str(error), "reachable": None if config is None else False})
    values |= {"host": info.host, "port": info.port}
    values["extensions"] = None if info.extensions is None else sorted(info.extensions)
    if config is not None:
        values |= _asked(info, config)
    return Row(values)


def _service_info(store: BlockingStore, found: FoundBookie) -> BookieServiceInfo:
    """Return the service info that a bookie publishes; for one that is down the address in its id, as ids have one by
    default."""
    if found.state == DOWN:
        return parse(b"", found.bookie_id)
    return store.bookie_info(found.bookie_id)


def _asked(info: BookieServiceInfo, config: ClientConfig) -> dict[str, Any]:
    try:
        channel = BookieInfoChannel(info.host, info.port, config)
    except (TlsFailed, AuthenticationFailed, AuthenticationUnanswered, ProtocolViolation) as error:
        return {"reachable": True, "error": str(error)}
    except CannotConnect as error:
        return {"reachable": False, "error": str(error)}
    with channel:
        try:
            disk = channel.bookie_info()
        except BookKeeperError as error:
            # Something listens there: a bookie that wants TLS or authentication, one that hangs, or another server.
            return {"reachable": True, "error": str(error)}
    return {"reachable": True, "total_bytes": disk.total_bytes, "free_bytes": disk.free_bytes}
