"""Methods whose result comes later; the class of a client or handle says to type checkers what its promises are.

The rules are written once for all worlds, whose promises differ: a method of the client on Twisted returns a Deferred.
At run time the driver makes them.
"""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from bookkeeper_tx.driver import Promise

if TYPE_CHECKING:
    from asyncio import Future

    from twisted.internet.defer import Deferred

P = ParamSpec("P")
T = TypeVar("T")


class OnTwisted:
    """A class whose promises are Deferreds."""


class OnAsyncio:
    """A class whose promises are Futures."""


def telling(result: Any, method: Callable[P, T]) -> Callable[P, T]:
    """Return ``method``, which wraps another, with ``result`` as the type that it returns, for pages and consoles."""
    method.__signature__ = signature(method).replace(return_annotation=result)  # type: ignore[attr-defined]
    method.__annotations__ = {**method.__annotations__, "return": result}
    vars(method).pop("__wrapped__")  # a coroutine, maybe, which this is not
    return method


if TYPE_CHECKING:

    class _Method(Generic[P, T]):
        @overload
        def __get__(self, instance: None, owner: Any = ...) -> Callable[Concatenate[Any, P], Promise[T]]: ...
        @overload
        def __get__(self, instance: OnTwisted, owner: Any = ...) -> Callable[P, Deferred[T]]: ...
        @overload
        def __get__(self, instance: OnAsyncio, owner: Any = ...) -> Callable[P, Future[T]]: ...
        @overload
        def __get__(self, instance: object, owner: Any = ...) -> Callable[P, Promise[T]]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...

    class promised(_Method[P, T]):
        def __init__(self, method: Callable[Concatenate[Any, P], Promise[T]]) -> None: ...

    class operation(_Method[P, T]):
        def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None: ...

else:

    def promised(method):
        """Declare a method that returns a promise."""
        return method

    def operation(method):
        """Make of a coroutine a method of a client that returns the promise of its result."""

        @wraps(method)
        def run(self, *arguments, **named):
            return self._run(partial(method, self, *arguments, **named))

        result = signature(method).return_annotation
        return telling(Promise[getattr(result, "__bound__", result)], run)
