import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from bookkeeper_tx.threads.worker import Worker

TIMEOUT_S = 10


class Reactor:
    """The only method of a reactor that workers use."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()

    def callFromThread(self, function: Callable[..., Any], *args: Any) -> None:
        self.calls.put((function, args))

    def turn(self) -> None:
        function, args = self.calls.get(timeout=TIMEOUT_S)
        function(*args)


def test_results_come_in_order_on_the_reactor_thread(result_of: Any) -> None:
    reactor = Reactor()
    worker = Worker(reactor, "worker")
    seen: list[str] = []
    results = [worker.run(lambda n: (n, threading.current_thread().name), n) for n in range(3)]
    for result in results:
        result.addCallback(lambda value: (*value, seen.append(threading.current_thread().name)))
    for _ in results:
        reactor.turn()
    assert [result_of(result) for result in results] == [(n, "worker", None) for n in range(3)]
    assert seen == [threading.current_thread().name] * 3
    worker.stop()


def test_an_error_fails_its_job_only(result_of: Any, failure_of: Any) -> None:
    reactor = Reactor()
    worker = Worker(reactor, "worker")
    bad, good = worker.run(int, "x"), worker.run(int, "7")
    reactor.turn()
    reactor.turn()
    failure_of(bad, ValueError)
    assert result_of(good) == 7
    worker.stop()


def test_stop_waits_for_the_jobs_taken(result_of: Any) -> None:
    reactor = Reactor()
    worker = Worker(reactor, "worker", threads=2)
    gate = threading.Event()
    jobs = [worker.run(gate.wait, TIMEOUT_S) for _ in range(3)]
    stops = [worker.stop(), worker.stop()]
    with pytest.raises(RuntimeError):
        worker.run(int)
    gate.set()
    for _ in range(5):
        assert not stops[0].called
        reactor.turn()
    assert [result_of(each) for each in (*jobs, *stops, worker.stop())] == [True, True, True, None, None, None]


def test_threads_of_a_pool_work_at_the_same_time() -> None:
    reactor = Reactor()
    worker = Worker(reactor, "pool", threads=2)
    together = threading.Barrier(2, timeout=TIMEOUT_S)
    both = [worker.run(together.wait) for _ in range(2)]
    reactor.turn()
    reactor.turn()
    assert all(each.called for each in both)
    worker.stop()
