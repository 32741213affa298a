"""bookkeeper_tx.blocking.later: Futures as others are, of which a loop ends many at once."""

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError, as_completed, wait
from typing import Any

import pytest

from bookkeeper_tx.blocking.later import Later, Results
from bookkeeper_tx.errors import IllegalOperation

TIMEOUT_S = 20


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def results(loop: asyncio.AbstractEventLoop) -> Results:
    return Results(loop)


def turn(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_until_complete(asyncio.sleep(0))


def test_results_show_at_the_end_of_the_turn(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    good, bad = Later[int](results), Later[int](results)
    results.missing.update((good, bad))
    good.callback(7)
    bad.errback(KeyError("seven"))
    assert not good.done()
    assert not bad.done()
    turn(loop)
    assert (good.result(), good.exception()) == (7, None)
    assert isinstance(bad.exception(), KeyError)
    with pytest.raises(KeyError):
        bad.result()
    assert results.missing == set()


def test_what_has_no_result_in_time(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    later = Later[int](results)
    for timeout in (0, -1, 0.001):
        with pytest.raises(TimeoutError):
            later.result(timeout)
    with pytest.raises(TimeoutError):
        later.exception(0)
    assert later._waiters == [], "who asks again and again would leave one each time"
    later.callback(7)
    turn(loop)
    assert later.result(0) == 7


@pytest.mark.parametrize("end", ["result", "error", "cancel"])
def test_every_thread_that_waits_is_woken(results: Results, loop: asyncio.AbstractEventLoop, end: str) -> None:
    later = Later[int](results)
    found: list[object] = []

    def work() -> None:
        try:
            found.append(later.result(TIMEOUT_S))
        except BaseException as error:
            found.append(type(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(later._waiters) < len(threads):
        pass
    if end == "result":
        later.callback(7)
    elif end == "error":
        later.errback(KeyError())
    else:
        assert later.cancel()
    turn(loop)
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert found == [{"result": 7, "error": KeyError, "cancel": CancelledError}[end]] * 4


def test_others_wait_for_several(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    laters = [Later[int](results) for _ in range(3)]
    laters[0].cancel()
    laters[1].callback(1)
    laters[2].errback(KeyError())
    loop.call_soon(laters[0].callback, 0)
    turn(loop)
    turn(loop)
    assert wait(laters, TIMEOUT_S).not_done == set()
    assert set(as_completed(laters, TIMEOUT_S)) == set(laters)


def test_one_ends_while_another_is_looked_at(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    looked_at, other = Later[int](results), Later[int](results)
    thread = threading.Thread(target=other.result, args=(TIMEOUT_S,))
    thread.start()
    with looked_at._condition:  # as concurrent.futures.wait() does, which then waits for the lock of the next Future
        other.callback(7)
        turn(loop)
        thread.join(TIMEOUT_S / 10)
        assert not thread.is_alive()


def test_what_callbacks_raise_keeps_nothing_from_ending(
    results: Results, loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    def give_up() -> None:
        raise asyncio.CancelledError

    first, second = Later[int](results), Later[int](results)
    called: list[Any] = []
    first.add_done_callback(lambda _: sys.exit(1))
    first.add_done_callback(lambda _: give_up())
    first.add_done_callback(lambda _: called.append(called[1]))
    first.add_done_callback(called.append)
    second.add_done_callback(called.append)
    first.callback(1)
    second.callback(2)
    turn(loop)
    assert called == [first, second]
    raised = [record.exc_info and record.exc_info[0] for record in caplog.records]
    assert raised == [SystemExit, asyncio.CancelledError, IndexError]


def test_a_cancelled_one_stays_cancelled(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    later = Later[int](results)
    called: list[Any] = []
    later.add_done_callback(called.append)
    assert later.cancel()
    assert later.cancel()
    later.callback(7)
    turn(loop)
    assert later.cancelled()
    assert called == [later]
    ended = Later[int](results)
    ended.callback(7)
    turn(loop)
    assert not ended.cancel()


def test_a_callback_that_would_wait_for_ever_is_told(results: Results) -> None:
    results.thread_id = threading.get_ident()
    later = Later[int](results)
    for ask in (later.result, later.exception):
        with pytest.raises(IllegalOperation, match="cannot end meanwhile"):
            ask()
        with pytest.raises(TimeoutError):
            ask(0)


def test_nothing_is_held_by_what_has_been_asked_for(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    gc.disable()
    try:
        later = Later[int](results)
        later.add_done_callback(lambda given: given.cancelled())
        later.errback(KeyError())
        turn(loop)
        with pytest.raises(KeyError):
            later.result()
        gone = weakref.ref(later)
        del later
        assert gone() is None
    finally:
        gc.enable()


def test_callbacks_may_ask_for_other_results(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    first, second = Later[int](results), Later[int](results)
    found: list[int] = []
    first.add_done_callback(lambda _: found.append(second.result(0)))
    first.callback(1)
    second.callback(2)
    turn(loop)
    first.add_done_callback(lambda later: found.append(later.result(0)))
    assert found == [2, 1]


def test_asyncio_awaits_them(results: Results, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> int:
        later = Later[int](results)
        loop.call_soon(later.callback, 7)
        return await asyncio.wait_for(asyncio.wrap_future(later), TIMEOUT_S)

    assert loop.run_until_complete(scenario()) == 7
