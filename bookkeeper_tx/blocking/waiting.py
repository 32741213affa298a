"""Methods that wait for what the client on asyncio promises."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args

from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.client.promised import telling
from bookkeeper_tx.driver import Promise

P = ParamSpec("P")
T = TypeVar("T")
Inner = TypeVar("Inner")


class OnThread(Generic[Inner]):
    """What is there on asyncio, as callers on other threads have it."""

    def __init__(self, thread: LoopThread, inner: Inner) -> None:
        self._thread = thread
        self._inner = inner


class Waiting(OnThread[Inner]):
    """A client or handle of asyncio, which is closed."""

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """End the use of it."""
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        """Close, also after an error; a child process leaves to its parent what it has inherited."""
        if not self._thread.inherited:
            self.close()


def waits(method: Callable[Concatenate[Any, P], Promise[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return ``method`` of what is wrapped as a method that is called on its thread, and waits for the result."""

    @wraps(method)
    def call(self: OnThread[Any], /, *arguments: P.args, **named: P.kwargs) -> T:
        return self._thread.call(lambda: method(self._inner, *arguments, **named))

    (result,) = get_args(signature(method).return_annotation)
    return telling(result, call)


def gives(
    handle: Callable[[LoopThread, Any], T], method: Callable[Concatenate[Any, P], Promise[Any]]
) -> Callable[Concatenate[Any, P], T]:
    """Return ``method`` in the same way, but for its result, which is wrapped as a ``handle``."""
    inner = waits(method)

    @wraps(inner)
    def call(self: OnThread[Any], /, *arguments: P.args, **named: P.kwargs) -> T:
        return handle(self._thread, inner(self, *arguments, **named))

    return telling(handle, call)
