"""Formats that look at Spark's processes from within: which modules are loaded, and which connections were made.

No module that loads Twisted may be imported here.
"""

import socket
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from bookkeeper_tx.spark.source import LedgerSource


def watched(source: type[DataSource]) -> type[DataSource]:
    """Return the same format, with ``-watched`` after its name; its tasks fail if Twisted is loaded."""

    class Watched(source):  # type: ignore[misc,valid-type]
        @classmethod
        def name(cls) -> str:
            return f"{source.name()}-watched"

        def reader(self, schema: StructType) -> Any:
            return _watched_tasks(super().reader(schema))

        def streamReader(self, schema: StructType) -> Any:
            return _watched_tasks(super().streamReader(schema))

        def writer(self, schema: StructType, overwrite: bool) -> Any:
            return _watched_tasks(super().writer(schema, overwrite))

        def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
            return _watched_tasks(super().streamWriter(schema, overwrite))

    return Watched


def _watched_tasks(tasks: Any) -> Any:
    class Watched(type(tasks)):  # type: ignore[misc]
        def read(self, partition: Any) -> Any:
            yield from super().read(partition)
            check_not_loaded("a task", "twisted")

        def write(self, rows: Any) -> Any:
            message = super().write(rows)
            check_not_loaded("a task", "twisted")
            return message

    tasks.__class__ = Watched
    return tasks


class SpySource(LedgerSource):
    """Format ``bookkeeper-spy``: it reads as ``bookkeeper`` does.

    Fails where Twisted is loaded, or more than one connection to a bookie was made by a task."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-spy"

    def reader(self, schema: StructType) -> DataSourceReader:
        return SpyReader(super().reader(schema))


class SpyReader(DataSourceReader):
    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def partitions(self) -> list[InputPartition]:
        found = self._reader.partitions()
        check_not_loaded("the planner", "twisted")
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        connected = []
        create_connection = socket.create_connection

        def counting(address: tuple[str, int], **options: Any) -> Any:
            found = create_connection(address, **options)
            connected.append((address, found))
            return found

        socket.create_connection = counting
        try:
            yield from self._reader.read(partition)
        finally:
            socket.create_connection = create_connection
        check_not_loaded("a task", "twisted", "kazoo")
        addresses = [address for address, _ in connected]
        assert len(addresses) == len(set(addresses)), f"connected more than once: {addresses}"
        assert all(each.fileno() < 0 for _, each in connected), "a connection was left open"


def check_not_loaded(where: str, *packages: str) -> None:
    wrong = sorted(each for each in sys.modules if each.partition(".")[0] in packages)
    assert not wrong, f"{where} has loaded {wrong[:5]}"
