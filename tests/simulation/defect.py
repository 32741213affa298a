"""A defect that is put back."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from attrs import frozen

Patch = tuple[Any, str, Any]


@frozen
class Planted:
    """One defect."""

    name: str
    origin: str
    """Where it was made: in BookKeeper, here (``ours``), or nowhere (``mutant``)."""
    text: str
    patches: tuple[Patch, ...]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the defect."""
        with ExitStack() as stack:
            for target, name, replacement in self.patches:
                stack.enter_context(patch.object(target, name, replacement))
            yield


def around(function: Any, call: Callable[..., Any]) -> Any:
    """Return ``function`` replaced by ``call(function, *its arguments)``."""

    @wraps(function)
    def replaced(*arguments: Any, **named: Any) -> Any:
        return call(function, *arguments, **named)

    return replaced
