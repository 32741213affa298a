"""bookkeeper_tx.bookie.metrics.batch_read: what is counted, in which bucket, and how Prometheus reads it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.metrics.batch_read import (
    BATCH_READ_REQUEST,
    BATCH_READ_RESPONSE_SIZE,
    REQUEST_BOUNDS_MS,
    RESPONSE_SIZE_BOUNDS,
    BatchReadMetrics,
    Histogram,
)
from protocol_specs.wire import status as statuses
from tests.bookie.seams import Client


def read(registry: CollectorRegistry, name: str) -> tuple[dict[str, float], float, float]:
    """Return buckets by upper bound, count and sum, as a scraper reads them."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    samples = [sample for family in families for sample in family.samples if sample.name.startswith(name)]
    buckets = {sample.labels["le"]: sample.value for sample in samples if sample.name == f"{name}_bucket"}
    values = {sample.name: sample.value for sample in samples}
    return buckets, values[f"{name}_count"], values[f"{name}_sum"]


def test_the_buckets_are_those_of_the_proposal() -> None:
    registry = BatchReadMetrics(lambda: 0.0).registry
    milliseconds = [5, 10, 20, 50, 100, 200, 500, 1000, 3000]
    assert list(map(float, read(registry, BATCH_READ_REQUEST)[0])) == [*milliseconds, float("inf")]
    sizes = [128, 512, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 128 << 10, 1 << 20]
    assert list(map(float, read(registry, BATCH_READ_RESPONSE_SIZE)[0])) == [*sizes, float("inf")]
    assert BATCH_READ_REQUEST == "bookkeeper_server_BATCH_READ_ENTRY_REQUEST"
    assert BATCH_READ_RESPONSE_SIZE == "bookkeeper_server_BATCH_READ_ENTRY_RESPONSE_SIZE"


@pytest.mark.parametrize("bounds", [REQUEST_BOUNDS_MS, RESPONSE_SIZE_BOUNDS])
@given(values=st.lists(st.integers(0, 2 << 20) | st.sampled_from(REQUEST_BOUNDS_MS + RESPONSE_SIZE_BOUNDS)))
def test_each_bucket_counts_what_does_not_exceed_it(bounds: tuple[int, ...], values: list[int]) -> None:
    registry, histogram = CollectorRegistry(), Histogram("h", "what", bounds)
    registry.register(histogram)  # type: ignore[arg-type]
    for value in values:
        histogram.observe(value)
    buckets, count, total = read(registry, "h")
    assert {float(bound): found for bound, found in buckets.items()} == {
        bound: sum(value <= bound for value in values) for bound in (*bounds, float("inf"))
    }
    assert (count, total) == (len(values), sum(values))


def test_a_batch_read_is_counted_when_it_is_answered() -> None:
    clock, client = Clock(), Client()
    metrics = BatchReadMetrics(clock.seconds)
    asked: list[Any] = []
    request: Any = object()
    measured: Any = metrics.measured(lambda request, connection: asked.append((request, connection)))
    measured(request, client)
    assert asked == [(request, client)]
    assert read(metrics.registry, BATCH_READ_REQUEST)[1] == 0
    clock.advance(0.015)
    client.reply(request, statuses.EOK, [b"head", memoryview(b"entries")])
    assert client.take() == [b"head", b"entries"]
    buckets, count, total = read(metrics.registry, BATCH_READ_REQUEST)
    assert (buckets["10.0"], buckets["20.0"], count, total) == (0, 1, 1, 15)
    assert read(metrics.registry, BATCH_READ_RESPONSE_SIZE)[1:] == (1, 11)


def test_each_bookie_has_its_own() -> None:
    first, second = BatchReadMetrics(lambda: 0.0), BatchReadMetrics(lambda: 0.0)
    first.replied(0.0, 1)
    assert [read(each.registry, BATCH_READ_REQUEST)[1] for each in (first, second)] == [1, 0]
