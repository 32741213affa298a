"""All cases of the suite: loads the modules of both roles, and selects cases by patterns."""

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import compat_tests.bookie.cases
import compat_tests.client.cases
from compat_tests.judge.case import CATALOGUE, Case, Role

_PACKAGES = {Role.BOOKIE: compat_tests.bookie.cases, Role.CLIENT: compat_tests.client.cases}


def load(role: Role | None = None) -> list[Case]:
    """All cases, or those of a role, in order of their ids."""
    for package in [_PACKAGES[role]] if role else _PACKAGES.values():
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return [case for _, case in sorted(CATALOGUE.items()) if role in (None, case.role)]


def select(cases: Iterable[Case], only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[Case]:
    """The cases that match a pattern of ``only`` (all, if there is none), and no pattern of ``skip``.

    A pattern is an id, an area or a section, in capitals or not, with ``*`` for any characters.  Raises ValueError for
    a pattern that matches nothing: it is misspelt.
    """
    cases = list(cases)
    for pattern in (*only, *skip):
        if not any(_matches(each, pattern) for each in cases):
            raise ValueError(f"no case matches {pattern!r}: `bookkeeper-conformance list` shows what there is")
    wanted = [each for each in cases if not only or any(_matches(each, pattern) for pattern in only)]
    return [each for each in wanted if not any(_matches(each, pattern) for pattern in skip)]


def _matches(case: Case, pattern: str) -> bool:
    return any(fnmatchcase(name.upper(), pattern.upper()) for name in (case.id, case.area, case.section))
