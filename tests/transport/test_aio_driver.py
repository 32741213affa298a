"""bookkeeper_tx.transport.aio_driver: promises, coroutines and timers of a loop, as the client's rules want them."""

import asyncio
import gc
import logging
import os
import time
import warnings
from functools import partial
from typing import Any

import pytest

from bookkeeper_tx.driver import pause
from bookkeeper_tx.errors import ClientClosed, IllegalOperation
from bookkeeper_tx.transport.aio_driver import AioDriver


def run(scenario: Any) -> None:
    """Run ``scenario(driver)`` on a loop of its own."""

    async def main() -> None:
        await scenario(AioDriver(asyncio.get_running_loop()))

    asyncio.run(main())


def test_a_promise_brings_its_result_or_its_error() -> None:
    async def scenario(driver: AioDriver) -> None:
        kept, broken = driver.promise(), driver.promise()
        assert not kept.called
        kept.callback(7)
        broken.errback(ValueError("no"))
        assert kept.called
        assert await kept == await driver.succeed(7) == 7
        for failed in broken, driver.fail(ValueError("no")):
            with pytest.raises(ValueError, match="no"):
                await failed

    run(scenario)


def test_what_comes_after_a_cancellation_is_dropped() -> None:
    async def scenario(driver: AioDriver) -> None:
        cancelled: list[Any] = []
        promise = driver.cancellable(cancelled.append)
        promise.cancel()
        promise.cancel()
        assert cancelled == [promise]
        promise.callback(1)
        promise.errback(ValueError())
        with pytest.raises(asyncio.CancelledError):
            await promise

    run(scenario)


def test_a_pause_that_is_cancelled_in_the_turn_in_which_it_ends_is_no_error() -> None:
    async def scenario(driver: AioDriver) -> None:
        errors: list[Any] = []
        driver.loop.set_exception_handler(lambda _, context: errors.append(context))
        pausing = driver.spawn(pause(driver, 0))
        driver.loop.call_soon(driver.loop.call_at, 0, pausing.cancel)  # in the next turn, before what is due later
        with pytest.raises(asyncio.CancelledError):
            await pausing
        await asyncio.sleep(0)
        assert errors == []

    run(scenario)


def test_who_waits_is_told_of_results_errors_and_cancellations() -> None:
    async def scenario(driver: AioDriver) -> None:
        told: list[Any] = []
        error = ValueError()
        promises = [driver.succeed(1), driver.fail(error), driver.promise()]
        for promise in promises:
            driver.when_done(promise, lambda failure, result: told.append((failure, result)))
        promises[2].cancel()
        assert told == []
        await asyncio.sleep(0)
        (cancelled, nothing) = told.pop()
        assert told == [(None, 1), (error, None)]
        assert (type(cancelled), nothing) == (ClientClosed, None)

    run(scenario)


def test_a_coroutine_runs_though_nobody_holds_it() -> None:
    async def scenario(driver: AioDriver) -> None:
        gate, done = driver.promise(), driver.promise()

        async def work() -> None:
            await gate
            done.callback("done")

        driver.spawn(work())
        await asyncio.sleep(0)
        gc.collect()
        gate.callback(None)
        assert await done == "done"

    run(scenario)


def test_cancelling_a_coroutine_cancels_what_it_waits_for() -> None:
    async def scenario(driver: AioDriver) -> None:
        given_up: list[Any] = []
        waiting = driver.cancellable(given_up.append)

        async def work() -> None:
            await waiting

        working = driver.spawn(work())
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert given_up == [waiting]

    run(scenario)


def test_timers_are_never_due_within_the_call() -> None:
    async def scenario(driver: AioDriver) -> None:
        due: list[str] = []
        driver.clock.callLater(0, due.append, "now")
        driver.clock.callLater(0, due.append, "never").cancel()
        assert due == []
        last = driver.promise()
        driver.clock.callLater(0, last.callback, None)
        await last
        assert due == ["now"]

    run(scenario)


def test_mistakes_and_errors_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(driver: AioDriver) -> None:
        driver.warn("a bookie said 100%")
        try:
            raise ValueError("broken")
        except ValueError:
            driver.report("a callback failed")

    run(scenario)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "a bookie said 100%"),
        (logging.ERROR, "a callback failed"),
    ]
    assert "ValueError: broken" in caplog.text


async def never_run() -> None:
    raise AssertionError


def test_another_thread_process_or_loop_and_a_loop_that_has_ended_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(driver: AioDriver) -> None:
        for use in uses(driver):
            with pytest.raises(IllegalOperation, match="run_coroutine_threadsafe"):
                await asyncio.to_thread(use)

    def uses(driver: AioDriver) -> list[Any]:
        later = partial(driver.clock.callLater, 0, print)
        return [driver.promise, lambda: driver.cancellable(print), lambda: driver.spawn(never_run()), later]

    async def made() -> AioDriver:
        return AioDriver(asyncio.get_running_loop())

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no coroutine is left that was never awaited
        run(scenario)
        loop = asyncio.new_event_loop()
        driver = loop.run_until_complete(made())
        assert loop.run_until_complete(driver.succeed(7)) == 7, "made between two runs of the loop"

        async def elsewhere(_: AioDriver) -> None:
            for use in uses(driver):
                with pytest.raises(IllegalOperation, match="another event loop"):
                    use()

        run(elsewhere)
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: -1)
            for use in uses(driver):
                with pytest.raises(IllegalOperation, match="after the fork"):
                    use()
        loop.close()
        for use in uses(driver):
            with pytest.raises(ClientClosed, match="has ended"):
                use()
        gc.collect()


def test_at_the_end_of_a_loop_everything_is_cancelled_and_told() -> None:
    """As ``asyncio.run`` ends: it cancels the tasks, and the loop runs until they have ended."""
    told: list[Any] = []

    async def scenario(driver: AioDriver) -> None:
        async def forever() -> None:
            try:
                await driver.promise()
            finally:
                told.append("given up")

        def done(error: Exception | None, _: Any) -> None:
            told.append(type(error))

        driver.when_done(driver.spawn(forever()), done)
        driver.spawn(forever())
        driver.when_done(driver.promise(), done)
        await asyncio.sleep(0)
        driver.spawn(never_run())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(scenario)
        gc.collect()
    assert told == ["given up", "given up", ClientClosed], "a promise of nobody is no task: it is dropped with the loop"


def test_deadlines_are_not_made_with_the_wall_clock() -> None:
    async def scenario(driver: AioDriver) -> None:
        assert driver.clock.seconds is time.monotonic

    run(scenario)
