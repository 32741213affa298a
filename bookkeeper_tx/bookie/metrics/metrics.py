"""All metrics of a bookie, made when somebody asks for them."""

from collections.abc import Callable, Mapping

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest

from bookkeeper_tx.bookie.bookie import Parts
from bookkeeper_tx.bookie.metrics.batch_read import BatchReadMetrics
from bookkeeper_tx.bookie.metrics.exposition import Exposition
from bookkeeper_tx.bookie.metrics.garbage import write_garbage
from bookkeeper_tx.bookie.metrics.journal import JournalMetrics
from bookkeeper_tx.bookie.metrics.requests import RequestMetrics, at_once
from bookkeeper_tx.bookie.metrics.scrub import ScrubMetrics
from bookkeeper_tx.bookie.metrics.storage import StorageMetrics
from bookkeeper_tx.bookie.metrics.threads import Working, write_threads
from bookkeeper_tx.bookie.operations.dispatch import Serve
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE

UNREGISTERED, READ_ONLY, WRITABLE = -1, 0, 1
"""Values of ``bookie_SERVER_STATUS``."""


class Metrics:
    """Measures while a bookie serves: :meth:`measured` goes around its operations, :meth:`watch` is told its parts.

    ``seconds`` gives the time.  ``registry`` has what is collected besides.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._batch_reads = BatchReadMetrics(seconds)
        self.registry = self._batch_reads.registry
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = RequestMetrics(seconds)
        self._journal = JournalMetrics(seconds)
        self._storage = StorageMetrics(seconds)
        self.scrub = ScrubMetrics(seconds)
        """Is told of the scrubber, if there is one."""
        self.garbage: Callable[[], object] = lambda: None
        """Gives the status of the garbage collection; None if there is none."""
        self.is_serving: Callable[[], bool] = lambda: False
        self._parts: Parts | None = None
        self._workers: Mapping[str, Working] = {}
        self._read_threads = self._queued_bytes_max = 0

    def measured(self, name: str, serve: Serve) -> Serve:
        """Return ``serve`` with its requests measured."""
        if name == "BATCH_READ_ENTRY":
            return self._batch_reads.measured(serve)
        return self._requests.measured(name, serve)

    def watch(self, parts: Parts, workers: Mapping[str, Working], read_threads: int, queued_bytes_max: int) -> None:
        """Look at the parts of the bookie from now on."""
        self._journal.watch(parts.journals)
        parts.sync_thread.on_flushed = self._storage.flushed
        self._parts, self._workers = parts, workers
        self._read_threads, self._queued_bytes_max = read_threads, queued_bytes_max

    def text(self) -> str:
        """Return all of them in Prometheus' text format."""
        out = Exposition()
        if self._parts is not None:
            self._write(out, self._parts)
        return out.text + generate_latest(self.registry).decode("utf-8")

    def _write(self, out: Exposition, parts: Parts) -> None:
        counts = parts.dispatch.counts()
        if counts.adds_at_once:
            adds, queued_count, written_bytes = at_once(self._seconds, counts.adds), 0, counts.adds.size_bytes
        else:
            adds, queued_count = self._journal.adds, sum(journal.queued_count for journal in parts.journals)
            # The records of the journal are entries with their length, but for a few of keys and fences.
            written_bytes = max(self._journal.written_bytes - RECORD_LENGTH_SIZE * counts.adds.succeeded, 0)
        self._requests.write(out, counts, adds, queued_count)
        self._journal.write(out, self._queued_bytes_max)
        batch_bytes = self._batch_reads.size_bytes
        self._storage.write(out, parts.storage, counts, written_bytes, batch_bytes, *parts.disks.usage())
        write_garbage(out, self.garbage())
        self.scrub.write(out)
        write_threads(out, self._workers, self._read_threads)
        writable = READ_ONLY if parts.availability.read_only else WRITABLE
        out.gauge("bookie_SERVER_STATUS", writable if self.is_serving() else UNREGISTERED)
