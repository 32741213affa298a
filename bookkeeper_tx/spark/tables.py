"""Format ``bookkeeper``: one table of a cluster, its entries unless another is named (docs/guides/spark-tables.md).

This module imports as little as it can, since every session imports it, also one that uses other formats.  A table is
imported when it is used; only then numpy and Arrow must be installed.
"""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidConfig

FORMAT: Final = "bookkeeper"

ENTRIES: Final = "entries"
ENTRYLOG: Final = "entrylog"

TABLES: Final = {
    ENTRIES: "source.LedgerSource",
    "ledgers": "cluster.ledgers_table.LedgersTable",
    "bookies": "cluster.bookies_table.BookiesTable",
    "replicas": "replicas.table.ReplicasTable",
    "orphans": "cluster.orphans_table.OrphansTable",
    ENTRYLOG: "entrylog.table.EntryLogTable",
}
"""The class of each table, with its module in this package."""


def table_class(name: str) -> type[DataSource]:
    """Return the class of a table; it is also the format ``bookkeeper-<name>``."""
    module, _, kind = TABLES[name].rpartition(".")
    found: type[DataSource] = getattr(import_module(f"bookkeeper_tx.spark.{module}"), kind)
    return found


def choose(options: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of the table that ``options`` choose, and the options that are for it.

    Option ``table`` names it, or ``path``, which is the argument of ``load``.  Only for ``entrylog`` the path may be a
    path of files.  Raises InvalidConfig for a table that does not exist, and for two different ones.
    """
    given = {key.lower(): value for key, value in options.items()}
    rest = {key: value for key, value in options.items() if key.lower() not in ("table", "path")}
    table = _known(given["table"], "option table") if "table" in given else None
    if "path" not in given:
        return table or ENTRIES, rest
    path = given["path"]
    if table == ENTRYLOG and _lower(path) not in TABLES:
        return table, {**rest, "path": path}
    loaded = _known(path, "load()")
    if table not in (None, loaded):
        hint = f"; a directory of that name is './{path}'" if table == ENTRYLOG else ""
        raise InvalidConfig(f"option table names {table}, and load() names {loaded}: keep one{hint}")
    return loaded, rest


def _known(name: str | None, where: str) -> str:
    found = _lower(name)
    if found in TABLES:
        return found
    raise InvalidConfig(
        f"{where} names {name!r}, and there is no such table: tables are {', '.join(TABLES)}; "
        "to read or write entries name none; "
        f"to read files of entry logs give load() their path, and option table = {ENTRYLOG}"
    )


def _lower(name: str | None) -> str:
    return (name or "").strip().lower()


class BookKeeperSource(DataSource):
    """The table that the options name does all the work."""

    _table: DataSource | None = None

    @classmethod
    def name(cls) -> str:
        return FORMAT

    @property
    def table(self) -> DataSource:
        """The table that the options name, the same one each time; raises InvalidConfig if there is no such table."""
        if self._table is None:
            name, options = choose(self.options)
            self._table = table_class(name)(CaseInsensitiveDict(options))
        return self._table

    def __getstate__(self) -> dict[str, Any]:
        """Take the table along: before it is pickled it may look at the cluster, once for all queries.

        If the user gave a schema, Spark has not asked for the table before.  A wrong name raises where the table is
        used.
        """
        with suppress(InvalidConfig):
            return {"options": self.options, "_table": self.table}
        return {"options": self.options}

    def schema(self) -> StructType | str:
        return self.table.schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self.table.reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return self._entries("be read as a stream").streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return self._entries("be written").writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return self._entries("be written").streamWriter(schema, overwrite)

    def _entries(self, done: str) -> DataSource:
        name, _ = choose(self.options)
        if name != ENTRIES:
            raise InvalidConfig(f"table {name} cannot {done}, only {ENTRIES} can: leave the table out")
        return self.table
