"""The address of a bookie while the metadata store is away."""

import asyncio
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_tx.errors import BookieUnavailable, MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.transport import last_known_address
from bookkeeper_tx.transport.aio_driver import AioDriver
from bookkeeper_tx.transport.last_known_address import PATIENCE_S, LastKnownAddress
from bookkeeper_tx.transport.twisted_driver import TwistedDriver

HERE, THERE = BookieServiceInfo("here", 3181), BookieServiceInfo("there", 3181)


def resolved(answers: list[Any]) -> list[Any]:
    """Return the results of resolving as often as the store has ``answers``."""
    left = iter(answers)

    def ask() -> Deferred[BookieServiceInfo]:
        answer = next(left)
        return fail(answer) if isinstance(answer, Exception) else succeed(answer)

    address, results = LastKnownAddress(TwistedDriver(Clock()), ask), []
    for _ in answers:
        deferred = Deferred.fromCoroutine(address.resolve())
        deferred.addErrback(lambda failure: failure.type)
        deferred.addCallback(results.append)
    return results


def test_the_store_is_asked_each_time() -> None:
    assert resolved([HERE, THERE]) == [HERE, THERE]


def test_while_the_store_is_away_the_last_address_serves() -> None:
    assert resolved([HERE, MetadataUnavailable(), THERE, MetadataUnavailable()]) == [HERE, HERE, THERE, THERE]


@pytest.mark.parametrize("error", [MetadataUnavailable, BookieUnavailable])
def test_a_bookie_that_nobody_knows(error: type[Exception]) -> None:
    assert resolved([error()]) == [error]


def test_a_bookie_that_is_no_longer_registered_has_no_address() -> None:
    assert resolved([HERE, BookieUnavailable()]) == [HERE, BookieUnavailable]


def test_a_store_that_hangs_holds_nothing_up_where_an_address_is_known() -> None:
    clock, asked, results = Clock(), list[Deferred[BookieServiceInfo]](), list[BookieServiceInfo]()

    def ask() -> Deferred[BookieServiceInfo]:
        asked.append(Deferred())
        return asked[-1]

    address = LastKnownAddress(TwistedDriver(clock), ask)

    def resolve() -> None:
        Deferred.fromCoroutine(address.resolve()).addCallback(results.append)

    resolve()
    clock.advance(60)
    assert not results, "nothing else is known"
    asked[0].callback(HERE)
    resolve()
    clock.advance(PATIENCE_S)
    assert results == [HERE, HERE]
    asked[1].callback(THERE)
    resolve()
    clock.advance(PATIENCE_S)
    assert results == [HERE, HERE, THERE], "an answer that was late serves the next"
    asked[2].errback(MetadataUnavailable())
    resolve()
    asked[3].callback(HERE)
    assert results[-1] == HERE
    assert not clock.getDelayedCalls()


def test_who_gives_up_while_a_store_hangs_leaves_no_error_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """On asyncio, where a result that comes after a cancellation is an error."""
    monkeypatch.setattr(last_known_address, "PATIENCE_S", 0.0)
    errors: list[Any] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        answers = [HERE]

        async def ask() -> BookieServiceInfo:
            return answers.pop() if answers else await loop.create_future()

        driver = AioDriver(loop)
        address = LastKnownAddress(driver, ask)
        assert await address.resolve() == HERE
        waiting = driver.spawn(address.resolve())
        loop.call_soon(waiting.cancel)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(scenario())
    assert errors == []
