"""How much of a test the plain run takes, where ``tox -e full`` takes it all: parameters, examples, steps."""

from collections.abc import Iterable
from typing import Any, Final

import pytest
from hypothesis import settings

SAMPLED: Final = "sampled"
"""The name of hypothesis' profile in the plain run."""

FULL: Final = "full"
"""Its name under ``--full``."""

SHARE: Final = 5
"""The plain run takes one in so many of the examples of a test, and of the steps at which another one cuts."""

EXAMPLES_MIN: Final = 15
"""But so many examples."""


def examples(count: int) -> int:
    """How many examples a test takes that takes ``count`` under ``--full``."""
    return count if _is_full() else min(count, max(count // SHARE, EXAMPLES_MIN))


def stride() -> int:
    """How far apart the steps are at which a test cuts that cuts at each of them under ``--full``."""
    return 1 if _is_full() else SHARE


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


def _is_full() -> bool:
    return settings.default is settings.get_profile(FULL)


def _full(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.full)
