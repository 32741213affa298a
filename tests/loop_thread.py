"""Run coroutines on a real asyncio loop from a pytest test, as ``reactor_thread`` does on a reactor."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    """Return the session's loop, which runs in a daemon thread."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="loop", daemon=True).start()
        return _loop


def run_in_loop(coroutine_function: Callable[[], Coroutine[Any, Any, Result]], timeout_s: float = 30) -> Result:
    """Run ``coroutine_function()`` on the loop's thread and return its result or raise its error here.

    After ``timeout_s`` seconds it is cancelled and TimeoutError raised.
    """
    done = asyncio.run_coroutine_threadsafe(coroutine_function(), _running_loop())
    try:
        return done.result(timeout_s)
    except TimeoutError:
        if done.done():  # the coroutine's own
            raise
        done.cancel()
        raise TimeoutError(f"{coroutine_function.__name__} took more than {timeout_s} s") from None
