"""How often a bookie flushed while it was looked at."""

import threading
from types import TracebackType

from attrs import define, field

from bookkeeper_tx.cli.bench.cluster import BenchCluster

POLL_INTERVAL_S = 0.05


@define
class FlushCounter:
    """Counts how often a bookie's lastMark was replaced, by polling the file; a context manager."""

    cluster: BenchCluster
    flushes: int = field(default=0, init=False)
    _seen: list[int] = field(factory=list, init=False)
    _ended: threading.Event = field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def __enter__(self) -> "FlushCounter":
        self._seen = self._now()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._look()

    def _poll(self) -> None:
        while not self._ended.wait(POLL_INTERVAL_S):
            self._look()

    def _look(self) -> None:
        now = self._now()
        if now != self._seen:
            self.flushes += 1
            self._seen = now

    def _now(self) -> list[int]:
        return [path.stat().st_mtime_ns for path in self.cluster.last_marks()]
