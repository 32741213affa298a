"""bookkeeper_tx.transport.twisted_driver: a client belongs to the thread and the process of its reactor."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import Clock
from twisted.python import threadable
from zope.interface import implementer

from bookkeeper_tx.errors import IllegalOperation
from bookkeeper_tx.transport.twisted_driver import TwistedDriver


@implementer(IReactorFromThreads)
class Reactor(Clock):
    """A reactor that other threads could call."""

    def callFromThread(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        raise NotImplementedError


@pytest.fixture
def runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threadable, "ioThread", threading.get_ident())


async def never_run() -> None:
    raise AssertionError


def uses(driver: TwistedDriver) -> list[Callable[[], Any]]:
    return [driver.promise, lambda: driver.cancellable(print), lambda: driver.spawn(never_run())]


def elsewhere(use: Callable[[], Any]) -> list[BaseException]:
    """What ``use`` raises on another thread."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            use()
        except IllegalOperation as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(20)
    return raised


def test_another_thread_is_told(runs_here: None) -> None:
    for use in uses(TwistedDriver(Reactor())):
        [error] = elsewhere(use)
        assert "reactor.callFromThread" in str(error)


def test_before_the_reactor_runs_it_has_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threadable, "ioThread", None)
    assert elsewhere(TwistedDriver(Reactor()).promise) == []


def test_a_process_after_a_fork_is_told(runs_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = TwistedDriver(Reactor())
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(IllegalOperation, match="after the fork"):
        driver.spawn(never_run())


def test_a_clock_belongs_to_everybody(runs_here: None) -> None:
    assert elsewhere(TwistedDriver(Clock()).promise) == []


def test_deadlines_are_not_made_with_the_wall_clock() -> None:
    class OnWallClock(Reactor):
        seconds = staticmethod(time.time)  # type: ignore[assignment]  # as reactors of Twisted have it

    assert TwistedDriver(OnWallClock()).clock.seconds is time.monotonic


def test_a_reactor_with_a_time_of_its_own_keeps_it() -> None:
    reactor = Reactor()
    assert TwistedDriver(reactor).clock is reactor
