"""Metrics of the budgets that the clients of a bookie share (docs/guides/bookie-metrics.md)."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from bookkeeper_tx.transport.client_budget import ClientBudget

Budgets: TypeAlias = Mapping[str, tuple[int, int]]
"""Bytes in use and the most that may be, by name."""


class BudgetMetrics:
    """Collects the budgets: ``memory()`` gives those of memory, ``clients`` has those of connections."""

    def __init__(self, memory: Callable[[], Budgets], clients: ClientBudget) -> None:
        self._budgets = memory
        self._clients = clients

    def collect(self) -> Iterable[Metric]:
        """Give the families that Prometheus reads."""
        yield from self._memory()
        yield from self._connections()

    def _memory(self) -> Iterable[Metric]:
        used = GaugeMetricFamily("bookie_memory_bytes", "Bytes in use of a budget.", labels=["budget"])
        allowed = GaugeMetricFamily("bookie_memory_bytes_max", "Bytes that a budget has.", labels=["budget"])
        for name, (now, most) in self._budgets().items():
            used.add_metric([name], now)
            allowed.add_metric([name], most)
        return used, allowed

    def _connections(self) -> Iterable[Metric]:
        clients = self._clients
        closed = CounterMetricFamily("bookie_connections_closed", "Connections closed by the bookie.", labels=["why"])
        for why, count in clients.closed.items():
            closed.add_metric([why], count)
        return (
            GaugeMetricFamily("bookie_connections", "Connections of clients.", clients.connections),
            GaugeMetricFamily("bookie_connections_max", "Connections that may be.", clients.limits.connections_max),
            CounterMetricFamily("bookie_connections_refused", "Connections too many.", clients.refused),
            closed,
        )
