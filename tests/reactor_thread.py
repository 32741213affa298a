"""Run coroutines on a real Twisted reactor from a pytest test: ``run_in_reactor(coroutine_function, timeout_s)``.

For the integration tests only: they talk to real sockets and files.  One reactor serves the whole session; it runs in a
daemon thread, so that the test function itself stays plain blocking code that can start and kill processes.

    from tests.reactor_thread import run_in_reactor

    def test_something(zookeeper):
        async def scenario():
            store = open_metadata_store(f"zk://{zookeeper.hosts}/ledgers", reactor)
            await store.start()
            ...
        run_in_reactor(scenario, timeout_s=20)
"""

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

Result = TypeVar("Result")

_START_TIMEOUT_S = 10
_CANCEL_GRACE_S = 5
_lock = threading.Lock()
_thread: threading.Thread | None = None


def ensure_reactor_runs() -> None:
    """Start the session's reactor thread unless it runs already."""
    global _thread
    with _lock:
        if _thread is not None:
            return
        running = threading.Event()
        reactor.callWhenRunning(running.set)
        # Signal handlers belong to the main thread, where pytest has its own.
        _thread = threading.Thread(
            target=reactor.run, kwargs={"installSignalHandlers": False}, name="reactor", daemon=True
        )
        _thread.start()
        if not running.wait(_START_TIMEOUT_S):
            raise RuntimeError("the reactor did not start")


def run_in_reactor(
    coroutine_function: Callable[[], Coroutine[Deferred[Any], Any, Result]], timeout_s: float = 30
) -> Result:
    """Run ``coroutine_function()`` on the reactor thread and return its result or raise its error here.

    After ``timeout_s`` seconds it is cancelled and TimeoutError raised.
    """
    ensure_reactor_runs()
    done: Future[Result] = Future()
    running: list[Deferred[Result]] = []

    def fail(failure: Failure) -> None:
        done.set_exception(failure.value)

    def start() -> None:
        deferred = Deferred.fromCoroutine(coroutine_function())
        running.append(deferred)
        deferred.addCallbacks(done.set_result, fail)

    reactor.callFromThread(start)
    try:
        return done.result(timeout_s)
    except TimeoutError:
        if done.done():  # the coroutine's own
            raise
        reactor.callFromThread(lambda: running[0].cancel())
        try:
            done.exception(_CANCEL_GRACE_S)  # let it clean up
        except TimeoutError:
            pass
        raise TimeoutError(f"{coroutine_function.__name__} took more than {timeout_s} s") from None
