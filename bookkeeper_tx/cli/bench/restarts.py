"""How long bookies of our own take to start after SIGKILL, and to stop at SIGTERM and start again, each after adds."""

import time
from collections.abc import Callable

from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.series import Series, load_clients
from bookkeeper_tx.testing.local_cluster import LocalCluster


def measure_restarts(series: Series, local: LocalCluster) -> dict[str, float]:
    """Write a run, kill all bookies, start them; write another, and stop and start them; return the seconds."""
    with load_clients(series, local.metadata_uri, local.directory / "clients") as clients:
        _write(series, clients)
        for index in range(len(local.bookies)):
            local.kill(index)
    after_kill_s = _timed(local.start)
    with load_clients(series, local.metadata_uri, local.directory / "clients") as clients:
        _write(series, clients)
    stop_s = _timed(local.stop)
    after_stop_s = _timed(local.start)
    return {"start_after_sigkill_s": after_kill_s, "stop_at_sigterm_s": stop_s, "start_after_stop_s": after_stop_s}


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return round(time.perf_counter() - started, 3)


def _write(series: Series, clients: LoadClients) -> None:
    clients.ask("ready", lengths=series.lengths)
    clients.ask("create", ledgers=series.ledgers, **series.quorums)
    clients.ask("adds", entries=series.entries_of_each, window=series.window)
