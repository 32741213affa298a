"""Format ``bookkeeper-spy``: what ``bookkeeper`` reads, and what was loaded for it, seen from within Spark's processes.

No module that loads Twisted may be imported here.
"""

import socket
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from bookkeeper_tx.spark.source import LedgerSource


class SpySource(LedgerSource):
    """Fails where Twisted is loaded, or more than one connection to a bookie was made by a task."""

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
        check_modules("planner")
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
        check_modules("task")
        addresses = [address for address, _ in connected]
        assert len(addresses) == len(set(addresses)), f"connected more than once: {addresses}"
        assert all(each.fileno() < 0 for _, each in connected), "a connection was left open"


def check_modules(where: str) -> None:
    loaded = sorted(each for each in sys.modules if each.split(".")[0] in ("twisted", "kazoo", "pandas"))
    wrong = [each for each in loaded if each.startswith("twisted") or (where == "task" and each.startswith("kazoo"))]
    assert not wrong, f"the {where} has loaded {wrong[:5]}"
