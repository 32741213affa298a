"""How many bytes Spark's driver, its plans and its checkpoints hold for each ledger, task, gap and epoch of ours.

``python -m tests.benchmarks.spark_memory`` prints the figures of docs/guides/spark-scale.md.  It needs no
Spark session and no bookie: it measures the objects that planning makes, in Python's memory or pickled as Spark sends
them.
"""

import argparse
import gc
import json
import logging
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import evolve, frozen
from pyspark import cloudpickle
from pyspark.sql import Row

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.metadata.documents import DOCUMENT_SIZE_MAX
from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, Versioned
from bookkeeper_tx.spark.cluster.ledgers_table import CHUNK_MAX
from bookkeeper_tx.spark.entries.source_reader import ledger_partition
from bookkeeper_tx.spark.jobs.arguments import Cluster
from bookkeeper_tx.spark.jobs.pinned_ledgers import pin
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.filters import EntryFilter
from bookkeeper_tx.spark.plan.ledger_chunks import ChosenLedgers, ChunkInput
from bookkeeper_tx.spark.plan.ledger_ranges import Snapshot, take_snapshot, wanted_ranges
from bookkeeper_tx.spark.plan.partitions import partition
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger, publish
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.sink.sweep import sweep
from bookkeeper_tx.spark.sink.writer import EpochMessage
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from tests.spark.memory_store import MemoryStore
from tests.spark.stores import closed_ledger

BOOKIES = 300
COPIES = 3
QUERY = "6f1c1c52-9e0e-4ef5-a5fa-6b4d3f4f0f6d"
FIRST_ID = 10**9
"""Ids as long as those of a cluster that has made many ledgers."""


@frozen
class Figure:
    """The size of an object that grows with the number of ledgers, tasks, gaps or epochs."""

    what: str
    count: int
    of: str
    """The things of which there are ``count``."""
    size: int
    """Bytes of all of them."""
    seconds: float | None = None
    """CPU to make the object, if that is of interest."""

    def __str__(self) -> str:
        each = f"{self.size / self.count:,.1f} B"
        cpu = "" if self.seconds is None else f", {self.seconds / self.count * 1e6:,.1f} us CPU"
        return f"{self.what}: {self.size:,} B for {self.count:,} {self.of}: {each}{cpu} each"


def measure(ledgers: int, tasks: int, directory: Path) -> Iterator[Figure]:
    """Yield all figures, for this number of ledgers and for plans of this number of tasks."""
    yield from snapshots(ledgers, directory)
    yield from plans(tasks, directory)
    yield from offsets(ledgers)
    yield from jobs(ledgers)
    yield from manifests()
    yield from sweeps(ledgers)


# Reads ---------------------------------------------------------------------------------------------------------------


def snapshots(count: int, directory: Path) -> Iterator[Figure]:
    """The objects of a DataFrame of many ledgers in the process that plans it, and those that Spark sends there."""
    options = cluster_of(directory / "ledgers.db", count, entries=10_000)
    snapshot, held, _ = _held(lambda: take_snapshot(options, Secret()))
    yield Figure("snapshot of a read, in the planner's memory", count, "ledgers", held)
    pickled, seconds = _timed(lambda: cloudpickle.dumps(snapshot))
    yield Figure("snapshot of a read, pickled", count, "ledgers", len(pickled), seconds)
    _, seconds = _timed(lambda: cloudpickle.loads(pickled))
    yield Figure("snapshot of a read, unpickled for each plan", count, "ledgers", len(pickled), seconds)
    yield _plan("tasks of many small ledgers", snapshot, options)
    chunks = ChosenLedgers(tuple(range(FIRST_ID, FIRST_ID + count)), frozenset()).chunks(CHUNK_MAX)
    sent = sum(len(cloudpickle.dumps(ChunkInput(each))) for each in chunks)
    yield Figure("tasks of the table of ledgers, pickled", count, "ledgers", sent)


def plans(tasks: int, directory: Path) -> Iterator[Figure]:
    """The tasks of large ledgers in the process that plans them, and as Spark keeps them until they are done."""
    each = 10
    options = cluster_of(directory / "large.db", max(tasks // each, 1), entries=each * 1_000_000)
    snapshot = take_snapshot(options, Secret())
    yield _plan("tasks of large ledgers", snapshot, options)


def _plan(what: str, snapshot: Snapshot, options: Options) -> Figure:
    def plan() -> list[bytes]:
        wanted = wanted_ranges(snapshot, options, EntryFilter())
        parts = partition(wanted, options.max_entries_per_partition, options.max_bytes_per_partition)
        return [cloudpickle.dumps(ledger_partition(ranges, snapshot.bookies, Secret())) for ranges in parts]

    pickled, seconds = _timed(plan)
    per_task = len(snapshot.ledgers) / len(pickled)
    what = f"{what} ({per_task:,.1f} ledgers each), cut and pickled"
    return Figure(what, len(pickled), "tasks", sum(map(len, pickled)), seconds)


def cluster_of(path: Path, count: int, entries: int) -> Options:
    """Make a cluster of closed ledgers in a file; return the options of a read of them all."""
    tables = Tables(str(path))
    tables.create()
    draw = random.Random(4711)
    names = [f"bookie-{number:03d}.example.net:3181" for number in range(BOOKIES)]

    def record(ledger_id: int) -> bytes:
        ensemble = tuple(draw.sample(names, COPIES))
        made = LedgerMetadata(
            COPIES, COPIES, 2, [Fragment(0, ensemble)], DigestType.CRC32C, b"", ctime_ms=1_700_000_000_000
        )
        return serialize(evolve(made, create_token=ledger_id).with_close(entries - 1, 100 * entries))

    with closing(tables), transaction(tables.opened()) as connection:
        rows = ((each, record(each)) for each in range(FIRST_ID, FIRST_ID + count))
        connection.executemany("INSERT INTO ledgers VALUES (?, 0, ?)", rows)
    return Options.from_spark({"metadataServiceUri": f"sqlite://{path}", "ledgers": "0-"}, Use.READ)


# Streams, jobs and sinks ---------------------------------------------------------------------------------------------


def offsets(count: int) -> Iterator[Figure]:
    """The content of a line of a checkpoint, and the CPU to read and write it."""
    ids = range(FIRST_ID, FIRST_ID + count)
    positions = dict.fromkeys(ids, 123_456)
    below = IdRanges([(0, FIRST_ID - 1)])
    of_ledgers = {
        "all finished, ids in a row": StreamOffset(IdRanges([(0, FIRST_ID + count - 1)])),
        "all finished, every second id": StreamOffset(below | IdRanges.of(range(FIRST_ID, FIRST_ID + 2 * count, 2))),
        "all of them open": StreamOffset(below, open=positions),
        "all of them ended in this batch": StreamOffset(below, closed=positions),
    }
    for what, offset in of_ledgers.items():

        def through_text(offset: StreamOffset = offset) -> str:
            text = json.dumps(offset.to_json(), separators=(",", ":"))
            assert StreamOffset.of_json(json.loads(text)) == offset
            return text

        text, seconds = _timed(through_text)
        yield Figure(f"offset of a stream, {what}", count, "ledgers", len(text), seconds)


def jobs(count: int) -> Iterator[Figure]:
    """The knowledge of a job that proves its work about its ledgers, and the option that names them."""
    for what, ids in {
        "ids in a row": range(FIRST_ID, FIRST_ID + count),
        "every second id": range(FIRST_ID, FIRST_ID + 2 * count, 2),
    }.items():
        session: Any = _SessionOf(ids)
        pinned, _, peak = _held(lambda session=session: pin(session, Cluster("sqlite:///nowhere.db")))
        yield Figure(f"ledgers of a job at its height, {what}", count, "ledgers", peak)
        yield Figure(f"option ledgers of a job, {what}", count, "ledgers", len(pinned.cluster.options["ledgers"]))


class _SessionOf:
    """As much of a Spark session as a job needs to look at closed ledgers: it is its own reader and DataFrame."""

    def __init__(self, ids: range) -> None:
        self._ids = ids

    @property
    def read(self) -> "_SessionOf":
        return self

    def load(self, *_: Any, **__: Any) -> "_SessionOf":
        return self

    format = options = select = selectExpr = load

    def toLocalIterator(self) -> Iterator[Row]:
        for each in self._ids:
            yield Row(scope_id=0, ledger_id=each, state="closed", last_entry_id=9_999, length=10**6, problem=None)

    def createDataFrame(self, rows: list[Any], schema: str) -> "_SessionOf":
        return self


def manifests() -> Iterator[Figure]:
    """The message of a sink's task to the driver, and documents that the driver publishes, up to the largest."""
    key = EpochKey(QUERY, 4711)
    message = EpochMessage(key, 17, tuple(published_ledgers(1)))
    yield Figure("message of a task that wrote one ledger, pickled", 1, "tasks", len(cloudpickle.dumps(message)))
    fits, too_many = 1, DOCUMENT_SIZE_MAX // 20
    while fits < too_many - 1:
        middle = (fits + too_many) // 2
        try:
            document_of(key, middle)
        except InvalidArgument:
            too_many = middle
        else:
            fits = middle
    for count in (200, fits):
        yield Figure("manifest of an epoch", count, "ledgers", len(document_of(key, count)))


def sweeps(count: int) -> Iterator[Figure]:
    """The most that a sweep holds of published ledgers, ``each`` of them in an epoch."""
    for each in (1, 1000):
        store: Any = _StoreOfSinks(count, each)
        report, _, peak = _held(lambda store=store: sweep("sqlite:///nowhere.db", open_store=lambda *_: store))
        assert report.published == count
        yield Figure(f"ledgers of sinks while they are swept, {each:,} an epoch", count, "ledgers", peak)


class _StoreOfSinks:
    """As much of a store as a sweep needs, of ledgers that are all published; they are made when they are read."""

    def __init__(self, count: int, each: int) -> None:
        self._ids = range(FIRST_ID, FIRST_ID + count)
        self._each = each

    def __enter__(self) -> "_StoreOfSinks":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_ledgers(self) -> range:
        return self._ids

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned]]:
        for each in ledger_ids:
            key = EpochKey(QUERY, (each - FIRST_ID) // self._each)
            custom = SinkMark("sink", key, partition=0, attempt=0, task_attempt_id=each).to_custom_metadata()
            yield each, Versioned(closed_ledger(10, custom_metadata=custom), 1)

    def read_document(self, path: tuple[str, ...]) -> bytes:
        epoch = int(path[-1])
        return document_of(EpochKey(QUERY, epoch), self._each, FIRST_ID + epoch * self._each)


def published_ledgers(count: int, first: int = FIRST_ID) -> list[PublishedLedger]:
    return [PublishedLedger(first + number, 999_999, 100_000_000) for number in range(count)]


def document_of(key: EpochKey, count: int, first: int = FIRST_ID) -> bytes:
    """Return the document of an epoch with so many ledgers; raises InvalidArgument if they are too many."""
    store = MemoryStore()
    publish(store, "sink", key, published_ledgers(count, first))  # type: ignore[arg-type]
    return next(iter(store.documents.values()))


# Measuring -----------------------------------------------------------------------------------------------------------


def _held(make: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return the result of ``make``, the bytes of Python's memory that it holds, and the most that were held."""
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        return made, *tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of ``make``, and the CPU that it took in seconds."""
    gc.collect()
    began = time.process_time()
    made = make()
    return made, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ledgers", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # there are no bookies
    with tempfile.TemporaryDirectory() as directory:
        for figure in measure(asked.ledgers, asked.tasks, Path(directory)):
            print(figure, flush=True)


if __name__ == "__main__":
    main()
