"""bookkeeper_tx.blocking.loop_thread: calls on a loop of another thread; nothing hangs."""

import asyncio
import gc
import os
import signal
import threading
import weakref
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import CancelledError, wait
from typing import Any

import pytest

from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.errors import ClientClosed, IllegalOperation

TIMEOUT_S = 20


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("test")
    yield thread
    thread.close()
    assert not thread._thread.is_alive()


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def test_calls_wait_for_results_and_errors(thread: LoopThread) -> None:
    async def seven() -> int:
        assert threading.current_thread() is thread._thread
        return 7

    async def wrong() -> None:
        raise KeyError("seven")

    assert thread.call(seven) == 7
    with pytest.raises(KeyError):
        thread.call(wrong)
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda: 1 / 0)  # type: ignore[arg-type,return-value]


def test_calls_of_one_thread_begin_in_their_order(thread: LoopThread) -> None:
    begun: list[int] = []

    async def begin(number: int) -> int:
        return number

    def function(number: int) -> Any:
        begun.append(number)
        return begin(number)

    results = [thread.begin(lambda number=number: function(number)) for number in range(1000)]
    assert [each.result(TIMEOUT_S) for each in results] == begun == list(range(1000))


def test_threads_share_it(thread: LoopThread) -> None:
    async def echo(value: int) -> int:
        await asyncio.sleep(0)
        return value

    found: dict[int, list[int]] = {}

    def work(number: int) -> None:
        found[number] = [thread.call(lambda value=value: echo(value)) for value in range(number, number + 50)]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(TIMEOUT_S)
    assert found == {number: list(range(number, number + 50)) for number in range(8)}


def test_cancelling_gives_up_there(thread: LoopThread) -> None:
    given_up = threading.Event()

    async def work() -> None:
        try:
            await forever()
        finally:
            given_up.set()

    result = thread.begin(work)
    thread.call(lambda: asyncio.sleep(0))
    assert result.cancel()
    assert given_up.wait(TIMEOUT_S)
    with pytest.raises(CancelledError):
        result.result()


def test_who_waits_for_the_first_of_several_hears_of_cancelled_ones(thread: LoopThread) -> None:
    results = [thread.begin(forever) for _ in range(50)]
    for result in results:
        result.cancel()
    assert wait(results, TIMEOUT_S).not_done == set()


def test_what_waits_fails_when_it_is_closed(thread: LoopThread) -> None:
    results = [thread.begin(forever), thread.begin(thread.loop.create_future)]
    thread.call(lambda: asyncio.sleep(0))
    thread.close()
    thread.close()
    for result in results:
        assert isinstance(result.exception(TIMEOUT_S), ClientClosed)
    with pytest.raises(ClientClosed):
        thread.call(forever)


@pytest.mark.parametrize("under_way", [True, False])
def test_an_iteration_ends_what_it_has_begun_when_it_is_closed(
    thread: LoopThread, under_way: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[bool] = []

    async def numbers() -> AsyncGenerator[int, None]:
        try:
            yield 0
            await forever()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            ended.append(True)

    iterator = numbers()

    async def step() -> int:
        return await anext(iterator)

    assert thread.call(step) == 0
    if under_way:
        thread.begin(step)
        thread.call(lambda: asyncio.sleep(0))
    thread.close()
    assert ended == [True]
    gc.collect()
    assert caplog.messages == [], "asyncio logs a task that was destroyed"


def test_a_collection_of_garbage_may_call_where_a_call_is_made(thread: LoopThread) -> None:
    """It may end an iteration that was left half way, at any allocation."""
    begun: list[Any] = []

    def work() -> None:
        with thread._lock:
            begun.append(thread.begin(lambda: asyncio.sleep(0, 7)))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(TIMEOUT_S / 2)
    assert begun[0].result(TIMEOUT_S) == 7


def test_results_are_let_go(thread: LoopThread) -> None:
    class Result:
        pass

    gc.disable()
    try:
        result = thread.call(lambda: asyncio.sleep(0, Result()))
        gone = weakref.ref(result)
        del result
        thread.call(lambda: asyncio.sleep(0))  # the loop has ended the turn of the first
        assert gone() is None
    finally:
        gc.enable()


def test_a_call_that_would_wait_for_ever_is_refused(thread: LoopThread) -> None:
    async def nested() -> None:
        thread.call(forever)

    with pytest.raises(IllegalOperation, match="own thread"):
        thread.call(nested)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_process_is_told_to_make_its_own(thread: LoopThread) -> None:
    pid = os.fork()
    if not pid:
        try:
            thread.call(forever)
        except IllegalOperation as error:
            os._exit(7 if "after the fork" in str(error) else 8)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert thread.call(lambda: asyncio.sleep(0, "here")) == "here"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_process_can_close_it_whatever_its_thread_did_at_the_fork(thread: LoopThread) -> None:
    with thread._lock:
        pid = os.fork()
        if not pid:
            signal.alarm(TIMEOUT_S // 4)  # ends the child, if it waits
            thread.close()
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert thread.call(lambda: asyncio.sleep(0, "here")) == "here"
