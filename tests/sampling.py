"""Which parameters of a test the plain run takes, where ``tox -e full`` takes them all."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(count: int, values: Iterable[Any], first: int = 0) -> list[Any]:
    """The ``first`` of ``values`` and every ``count``-th after it in the plain run; all of them under ``--full``."""
    return [each if index % count == first else _full(each) for index, each in enumerate(values)]


def only(chosen: Any, values: Iterable[Any]) -> list[Any]:
    """``chosen`` in the plain run; all of ``values`` under ``--full``."""
    values = list(values)
    assert chosen in values, f"{chosen!r} is none of {values}"
    return [each if each == chosen else _full(each) for each in values]


def in_turn(cases: Iterable[tuple[Any, ...]], values: Iterable[Any], first: int = 0) -> list[Any]:
    """Each of ``cases`` with one of ``values`` as its last part, by turns from the ``first``; all under ``--full``."""
    values = list(values)
    found = []
    for index, case in enumerate(cases, first):
        chosen = values[index % len(values)]
        found += [(*case, each) if each == chosen else _full((*case, each)) for each in values]
    return found


def _full(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.full)
