"""A thread for calls that block, which lets the interpreter end whatever it does."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_Call = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]


class DaemonThread:
    """Makes calls in their order, and brings their results to the loop."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def run(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        """Call ``function(*arguments)``, unless the Future is cancelled before; it has the result, or the error."""
        result = self._loop.create_future()
        self._calls.put((result, function, arguments))
        return result

    def end(self) -> None:
        """End after the calls that were made."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            result, function, arguments = call
            if result.done():  # given up
                continue
            try:
                value, error = function(*arguments), None
            except BaseException as raised:
                value, error = None, raised
            try:
                self._loop.call_soon_threadsafe(_settle, result, value, error)
            except RuntimeError:
                return  # the loop has ended: nobody waits any more
            del call, result, function, arguments, value, error


def _settle(result: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if result.done():
        return  # given up
    if error is None:
        result.set_result(value)
    else:
        result.set_exception(error)
