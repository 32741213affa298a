"""bookkeeper_tx.bookie.metrics.budgets: each budget is shown, with its limit."""

from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from bookkeeper_tx.bookie.metrics.budgets import BudgetMetrics
from bookkeeper_tx.transport.client_budget import TAKES_NOTHING, ClientBudget, ClientLimits
from tests.transport.test_client_budget import FakeClient


def shown(metrics: Any) -> list[str]:
    registry = CollectorRegistry()
    registry.register(metrics)
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_budgets_are_shown_with_their_limits() -> None:
    limits = ClientLimits(connections_max=7, frames_bytes_max=2**20, replies_bytes_max=2**21)
    clients = ClientBudget(limits)
    clients.admit("a")
    account = clients.open(FakeClient())
    account.wants(2**19)
    account.has_unsent(11)
    clients.closed[TAKES_NOTHING] += 3
    clients.refused = 2
    assert shown(BudgetMetrics(lambda: {"queued": (5, 6), **clients.memory()}, clients)) == [
        'bookie_memory_bytes{budget="queued"} 5.0',
        'bookie_memory_bytes{budget="frames"} 524288.0',
        'bookie_memory_bytes{budget="replies"} 11.0',
        'bookie_memory_bytes_max{budget="queued"} 6.0',
        'bookie_memory_bytes_max{budget="frames"} 1.048576e+06',
        'bookie_memory_bytes_max{budget="replies"} 2.097152e+06',
        "bookie_connections 1.0",
        "bookie_connections_max 7.0",
        "bookie_connections_refused_total 2.0",
        'bookie_connections_closed_total{why="it takes no replies"} 3.0',
    ]
