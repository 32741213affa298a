"""Table ``entrylog``: the records of entry logs, ours or Java's (docs/guides/spark-tables.md)."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bookkeeper_tx.entry.entry_log_scan import Header, Problem, parse_header
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entries.partition_reader import freeze_once
from bookkeeper_tx.spark.entrylog.columns import DIGEST_OK, EVERY_COLUMN, PAYLOAD, LogColumns
from bookkeeper_tx.spark.entrylog.files import LogPart, find_logs, log_id_of, share_out
from bookkeeper_tx.spark.entrylog.scan import scan
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns
from protocol_specs.disk import entry_log as spec


class EntryLogTable(DataSource):
    """A row for each record: every entry, and every other record between them."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-entrylog"

    def schema(self) -> Any:
        return spark_schema(_columns(Options.from_spark(self.options, Use.ENTRYLOG)))

    def reader(self, schema: Any) -> DataSourceReader:
        options = Options.from_spark(self.options, Use.ENTRYLOG)
        return EntryLogReader(options, wanted_columns(_columns(options), schema))


class LogInput(InputPartition):
    """The parts of logs that one task reads."""

    def __init__(self, parts: Sequence[LogPart]) -> None:
        super().__init__(tuple(parts))


class EntryLogReader(DataSourceReader):
    """Reads the logs that exist when the query is planned."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        """Share the files out; the driver looks at their sizes only."""
        paths = [*self._options.paths, *([self._options.path] if self._options.path else [])]
        if not paths:
            raise InvalidConfig("no entry log is named: give a path, as in load('/var/bookkeeper/ledgers')")
        logs = [(path, os.path.getsize(path)) for path in find_logs(paths)]
        return [LogInput(parts) for parts in share_out(logs, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a task's parts."""
        freeze_once()
        for part in partition.value or ():
            yield from read_part(part, self._options, self._names)


def _columns(options: Options) -> pa.Schema:
    asked = {DIGEST_OK.name: options.include_digest, PAYLOAD.name: options.include_payload}
    return pa.schema([each for each in EVERY_COLUMN if asked.get(each.name, True)])


def read_part(part: LogPart, options: Options, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Give the rows of one part; a file that cannot be read is a row with a problem."""
    digest_type = options.digest_type or DigestType.CRC32C
    columns = LogColumns(part.path, log_id_of(part.path), False, digest_type)
    try:
        with open(part.path, "rb", buffering=0) as file:
            descriptor, size = file.fileno(), os.fstat(file.fileno()).st_size

            def read_at(offset: int, count: int) -> bytes:
                return os.pread(descriptor, count, offset)

            if not size:
                return  # Java makes the next log ahead of time
            header = _header(read_at(0, spec.HEADER_SIZE), size)
            if isinstance(header, Problem):
                if part.first == 0:
                    yield columns.problem(header, names)
                return
            columns = LogColumns(part.path, log_id_of(part.path), header.scoped, digest_type)
            for found in scan(read_at, size, part.first, part.end):
                if isinstance(found, Problem):
                    yield columns.problem(found, names)
                else:
                    yield from columns.batches(found, names, options.batch_rows, options.batch_bytes)
    except OSError as error:
        yield columns.problem(Problem(part.first, 0, f"cannot be read: {error}"), names)


def _header(data: bytes, size: int) -> Header | Problem:
    try:
        return parse_header(data)
    except ValueError as error:
        return Problem(0, size, str(error))
