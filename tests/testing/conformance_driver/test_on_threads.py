"""The client whose calls wait, on an event loop: one call does not keep another from being made."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from bookkeeper_tx.errors import ClientClosed, LedgerFenced
from bookkeeper_tx.testing.conformance_driver.on_threads import OnThreads


class Waiting:
    """Reads that wait for a gate, appends that have their outcomes at once."""

    length = 7

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.outcomes: list[Any] = []

    def read(self, first: int, last: int, *, batch: bool) -> Any:
        self.gate.wait(20)
        return first, last, batch, threading.current_thread() is threading.main_thread()

    def append_later(self, payload: bytes) -> "Future[int]":
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, ClientClosed):
            raise outcome
        later: Future[int] = Future()
        if isinstance(outcome, Exception):
            later.set_exception(outcome)
        else:
            later.set_result(outcome)
        return later

    def tail(self, first: int) -> Iterator[int]:
        yield from (first, first + 1)
        raise LedgerFenced("somebody else")


def test_calls_wait_on_threads_of_their_own() -> None:
    async def scenario() -> None:
        waiting: Any = Waiting()
        read = OnThreads(waiting).read(1, 2, batch=True)
        assert OnThreads(waiting).length == 7
        waiting.gate.set()
        assert await read == (1, 2, True, False)

    asyncio.run(scenario())


def test_appends_have_their_ids_or_their_errors() -> None:
    async def scenario() -> None:
        waiting: Any = Waiting()
        waiting.outcomes = [0, LedgerFenced(), ClientClosed()]
        appended = [OnThreads(waiting).append(b"x") for _ in range(3)]
        assert await appended[0] == 0
        for promise, error in zip(appended[1:], (LedgerFenced, ClientClosed), strict=True):
            with pytest.raises(error):
                await promise

    asyncio.run(scenario())


def test_an_iteration_ends_as_that_of_the_client_does() -> None:
    async def scenario() -> None:
        waiting: Any = Waiting()
        tail = OnThreads(waiting).tail(5)
        assert [await anext(tail), await anext(tail)] == [5, 6]
        with pytest.raises(LedgerFenced):
            await anext(tail)

    asyncio.run(scenario())
