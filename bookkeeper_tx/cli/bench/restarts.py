"""How long bookies of our own take to start after SIGKILL, and to stop at SIGTERM, after a run of adds each."""

import time

from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.series import Series, load_clients
from bookkeeper_tx.testing.local_cluster import LocalCluster


def measure_restarts(series: Series, local: LocalCluster) -> dict[str, float]:
    """Write a run, kill all bookies, start them; write another, and stop them; return the seconds."""
    with load_clients(series, local.metadata_uri, local.directory / "clients") as clients:
        _write(series, clients)
        for index in range(len(local.bookies)):
            local.kill(index)
    started = time.perf_counter()
    local.start()
    start_s = time.perf_counter() - started
    with load_clients(series, local.metadata_uri, local.directory / "clients") as clients:
        _write(series, clients)
    started = time.perf_counter()
    local.stop()
    return {"start_after_sigkill_s": round(start_s, 3), "stop_at_sigterm_s": round(time.perf_counter() - started, 3)}


def _write(series: Series, clients: LoadClients) -> None:
    clients.ask("ready", lengths=series.lengths)
    clients.ask("create", ledgers=series.ledgers, **series.quorums)
    clients.ask("adds", entries=series.entries_of_each, window=series.window)
