"""Metrics of the threads: what waits for each of them."""

from collections.abc import Mapping
from typing import Protocol

from bookkeeper_tx.bookie.metrics.exposition import Exposition


class Working(Protocol):
    """A worker."""

    @property
    def waiting_count(self) -> int: ...


def write_threads(out: Exposition, workers: Mapping[str, Working], read_threads: int) -> None:
    """Write them; ``workers`` by name."""
    for name, worker in workers.items():
        out.gauge("bookkeeper_server_thread_executor_queue", worker.waiting_count, thread=name)
    out.gauge("bookkeeper_server_BookieReadThreadPool_threads", read_threads)
