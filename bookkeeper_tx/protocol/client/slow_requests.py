"""Telling those who wait for an answer that it takes longer than others did."""

from collections.abc import Callable
from typing import Any, TypeAlias

Tell: TypeAlias = Callable[[Any], Any]
"""Tells the owner of a token; returns the token that takes its place."""


def tell_slow(done: Any) -> Any:
    """Tell the owner of ``done`` that the answer takes long; return what is to be called with it in place of ``done``.

    Who wants to know has a method ``slow()``: ``done`` itself, or the object that it is a method of.  It may be called
    more than once.  What it returns is called instead; None changes nothing.
    """
    slow = getattr(getattr(done, "__self__", done), "slow", None)
    return done if slow is None else slow() or done
