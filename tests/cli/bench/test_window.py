"""The loop that makes load."""

import time

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.bench import window
from bookkeeper_tx.cli.bench.window import cost_us, windowed
from bookkeeper_tx.errors import StorageFailed


class Operations:
    """Operations that end when the test says so."""

    def __init__(self, count):
        self.begun = []
        self._count = count

    def __iter__(self):
        for _ in range(self._count):
            self.begun.append(Deferred())
            yield self.begun[-1]


@pytest.fixture
def clock(monkeypatch):
    """The time that the loop sees."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def run(operations, size, **options):
    return Deferred.fromCoroutine(windowed(iter(operations), size, **options))


def test_one_begins_where_one_ends(result_of):
    operations = Operations(4)
    results = []
    done = run(operations, 3, took=results.append)
    assert len(operations.begun) == 3
    operations.begun[1].callback("b")
    assert len(operations.begun) == 4
    for index, result in ((0, "a"), (2, "c")):
        operations.begun[index].callback(result)
    assert not done.called
    operations.begun[3].callback("d")
    result_of(done)
    assert results == ["b", "a", "c", "d"]


def test_the_slowest_of_all_is_seen_though_few_are_sampled(clock, result_of):
    operations = Operations(window.CLOCK_EVERY * 4 + 3)
    done = run(operations, 20)
    clock[0] = 101.0
    for deferred in operations.begun:
        if deferred is not operations.begun[3]:
            deferred.callback(0)
    clock[0] = 109.0
    operations.begun[3].callback(0)
    latencies = result_of(done)
    assert latencies.slowest == 9
    assert len(latencies.sampled) == 4


def test_each_of_few_operations_can_be_sampled(clock, result_of):
    operations = Operations(3)
    done = run(operations, 8, clock_every=1)
    for deferred in operations.begun:
        clock[0] += 1
        deferred.callback(0)
    latencies = result_of(done)
    assert (latencies.sampled, latencies.slowest) == ([1, 2, 3], 3)


def test_there_is_a_latency_even_of_a_single_operation(result_of):
    operations = Operations(1)
    done = run(operations, 100)
    operations.begun[0].callback(0)
    assert len(result_of(done).sampled) == 1


def test_the_first_error_ends_it(failure_of):
    operations = Operations(9)
    done = run(operations, 3)
    operations.begun[1].errback(StorageFailed())
    failure_of(done, StorageFailed)
    operations.begun[0].callback(0)
    operations.begun[2].errback(StorageFailed())
    assert len(operations.begun) == 3


def test_an_operation_that_cannot_even_begin_ends_it(failure_of):
    begun = Deferred()

    def operations():
        yield begun
        raise StorageFailed

    done = run(operations(), 1)
    begun.callback(0)
    failure_of(done, StorageFailed)


def test_a_result_that_cannot_be_taken_ends_it(failure_of):
    operations = Operations(3)
    done = run(operations, 1, took=len)
    operations.begun[0].callback(0)
    failure_of(done, TypeError)
    assert len(operations.begun) == 1


def test_its_cost_is_what_it_takes_beyond_a_deferred(monkeypatch, result_of):
    readings = iter([0, 9_000_000, 10_000_000, 14_000_000])
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(readings))
    assert result_of(Deferred.fromCoroutine(cost_us(count=1000, window=10))) == 5
