"""The two metrics of batch read that BP-62 names (docs/guides/bookie-metrics.md).

Counting costs a bisection and two additions; the families that Prometheus wants are made when it asks.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.protocol.bookie.requests import BatchReadRequest

BATCH_READ_REQUEST = "bookkeeper_server_BATCH_READ_ENTRY_REQUEST"
BATCH_READ_RESPONSE_SIZE = "bookkeeper_server_BATCH_READ_ENTRY_RESPONSE_SIZE"

REQUEST_BOUNDS_MS = (5, 10, 20, 50, 100, 200, 500, 1000, 3000)
"""Upper bounds of the latency buckets in milliseconds; another bucket takes what is above."""

RESPONSE_SIZE_BOUNDS = (128, 512, 1024, 2048, 4096, 16 * 1024, 128 * 1024, 1024 * 1024)
"""Upper bounds of the size buckets in bytes."""

MILLISECONDS_PER_SECOND = 1000

Serve = Callable[[BatchReadRequest, Connection], None]


class Histogram:
    """Counts values by the lowest bound that they do not exceed."""

    def __init__(self, name: str, documentation: str, bounds: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """Give the family that Prometheus reads: every bucket counts what is in those below it as well."""
        buckets: list[tuple[str, float]] = []
        total = 0
        for bound, count in zip([*map(str, map(float, self._bounds)), "+Inf"], self._counts, strict=True):
            total += count
            buckets.append((bound, total))
        yield HistogramMetricFamily(self._name, self._documentation, buckets=buckets, sum_value=self.sum)


class BatchReadMetrics:
    """Counts the batch reads of one bookie; ``seconds`` gives the time."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self._seconds = seconds
        self._requests = Histogram(
            BATCH_READ_REQUEST, "Time from a batch read request to its reply, in milliseconds.", REQUEST_BOUNDS_MS
        )
        self._response_sizes = Histogram(
            BATCH_READ_RESPONSE_SIZE, "Bytes of a batch read reply, its length word included.", RESPONSE_SIZE_BOUNDS
        )
        self.registry.register(self._requests)
        self.registry.register(self._response_sizes)

    @property
    def size_bytes(self) -> int:
        """Bytes of all replies."""
        return int(self._response_sizes.sum)

    def measured(self, serve: Serve) -> Serve:
        """Return ``serve`` with its batch reads counted, whatever they are answered."""

        def serve_and_measure(request: BatchReadRequest, connection: Connection) -> None:
            started = self._seconds()
            connection.observe(request, lambda request, status, size: self.replied(started, size))
            serve(request, connection)

        return serve_and_measure

    def replied(self, started: float, size: int) -> None:
        """Count a reply of ``size`` bytes to a request that came at ``started``."""
        self._requests.observe((self._seconds() - started) * MILLISECONDS_PER_SECOND)
        self._response_sizes.observe(size)
