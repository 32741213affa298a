"""Metrics of requests: how many there were and are, and how long they took."""

from collections.abc import Callable
from typing import Any, Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition
from bookkeeper_tx.bookie.metrics.summary import Outcomes
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.counts import Counts
from bookkeeper_tx.bookie.operations.dispatch import MIXED_READS, RequestCounts, Serve
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

MILLISECONDS_PER_S: Final = 1000

SAMPLED: Final = {"READ_ENTRY": 64}
"""Of so many runs of requests one is measured: to measure a read in memory would cost as much as to serve it."""

RARE: Final = (
    "READ_ENTRY_LONG_POLL",
    "WRITE_LAC",
    "READ_LAC",
    "FORCE_LEDGER",
    "GET_BOOKIE_INFO",
    "GET_LIST_OF_ENTRIES_OF_LEDGER",
)
"""Operations all of whose requests are measured."""


def at_once(seconds: Callable[[], float], counts: Counts) -> Outcomes:
    """Return the times of requests that are answered in the turn of the reactor in which they come."""
    outcomes = Outcomes(seconds)
    for count, succeeded in ((counts.succeeded, True), (counts.failed, False)):
        if count:
            outcomes.observe(0.0, succeeded, count)
    return outcomes


class RequestMetrics:
    """Measures requests by Java's names of their operations; ``seconds`` gives the time."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._outcomes = {name: Outcomes(seconds) for name in (*SAMPLED, *RARE)}

    def measured(self, name: str, serve: Serve) -> Serve:
        """Return ``serve`` with the time from a request to its reply taken, of a run of reads to its first reply."""
        if name == MIXED_READS:
            return self._measured_in_memory(serve)
        outcomes, seconds, every = self._outcomes[name], self._seconds, SAMPLED.get(name, 1)
        turn = 0

        def serve_and_measure(request: Any, connection: Connection) -> None:
            nonlocal turn
            turn += 1
            if turn == every:
                turn = 0
                begun_s = seconds()

                def replied(_: object, status: Status, size: int) -> None:
                    took_ms = (seconds() - begun_s) * MILLISECONDS_PER_S
                    outcomes.observe(took_ms, status is statuses.EOK)

                connection.observe(request, replied)
            serve(request, connection)

        return serve_and_measure

    def _measured_in_memory(self, serve: Serve) -> Serve:
        """Return ``serve`` with the time measured that it takes: what is in memory is answered in it."""
        outcomes, seconds, every = self._outcomes["READ_ENTRY"], self._seconds, SAMPLED["READ_ENTRY"]
        turn = 0

        def serve_and_measure(request: Any, connection: Connection) -> None:
            nonlocal turn
            turn += 1
            if turn < every:
                serve(request, connection)
                return
            turn, begun_s = 0, seconds()
            serve(request, connection)
            outcomes.observe((seconds() - begun_s) * MILLISECONDS_PER_S, succeeded=True)

        return serve_and_measure

    def write(self, out: Exposition, counts: RequestCounts, adds: Outcomes, adds_in_progress: int) -> None:
        """Write them; ``adds`` are the times of adds."""
        of_adds, of_reads = counts.adds, counts.reads
        for name in ("ADD_ENTRY", "ADD_ENTRY_REQUEST"):
            out.summary(f"bookkeeper_server_{name}", adds, (of_adds.succeeded, of_adds.failed))
        for name in ("READ_ENTRY", "READ_ENTRY_REQUEST"):
            out.summary(
                f"bookkeeper_server_{name}", self._outcomes["READ_ENTRY"], (of_reads.succeeded, of_reads.failed)
            )
        for name in RARE:
            out.summary(f"bookkeeper_server_{name}_REQUEST", self._outcomes[name])
            if name != "READ_ENTRY_LONG_POLL":  # Java measures parts of it under other names
                out.summary(f"bookkeeper_server_{name}", self._outcomes[name])
        out.gauge("bookkeeper_server_ADD_ENTRY_IN_PROGRESS", adds_in_progress)
        out.gauge("bookkeeper_server_ADD_ENTRY_BLOCKED", counts.held_adds)
        out.gauge("bookkeeper_server_READ_ENTRY_IN_PROGRESS", counts.reads_in_progress)
        out.gauge("bookkeeper_server_READ_ENTRY_BLOCKED", counts.waiting_reads)
