"""Asking about several things at once."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, FirstError, gatherResults

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


async def at_once(
    ask: Callable[[_Item], Coroutine[Any, Any, _Answer]], items: Sequence[_Item]
) -> list[tuple[_Item, _Answer]]:
    """Return each item with the answer about it; raises the first error when all have ended."""
    asked = [Deferred.fromCoroutine(ask(item)) for item in items]
    try:
        answers = await gatherResults(asked, consumeErrors=True)
    except FirstError as error:
        error.subFailure.raiseException()
    return list(zip(items, answers, strict=True))
