"""bookkeeper_tx.transport.aio_driver: promises, coroutines and timers of a loop, as the client's rules want them."""

import asyncio
import gc
import logging
import os
import warnings
from typing import Any

import pytest

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


def test_another_thread_or_process_and_a_loop_that_has_ended_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    drivers: list[AioDriver] = []

    async def scenario(driver: AioDriver) -> None:
        drivers.append(driver)
        with pytest.raises(IllegalOperation, match="run_coroutine_threadsafe"):
            await asyncio.to_thread(driver.promise)
        for use in (lambda: driver.spawn(never_run()), lambda: driver.clock.callLater(0, print)):
            with pytest.raises(IllegalOperation, match="run_coroutine_threadsafe"):
                await asyncio.to_thread(use)
            with monkeypatch.context() as forked:
                forked.setattr(os, "getpid", lambda: -1)
                with pytest.raises(IllegalOperation, match="after the fork"):
                    use()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no coroutine is left that was never awaited
        run(scenario)
        [driver] = drivers
        with pytest.raises(ClientClosed, match="has ended"):
            driver.spawn(never_run())
        gc.collect()
