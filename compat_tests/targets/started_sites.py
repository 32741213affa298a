"""Sites that are started when they are first asked for, each once for all callers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from compat_tests.targets.process import StartFailed
from compat_tests.targets.sites import NotOffered, Site
from compat_tests.targets.unavailable import Unavailable

_FAILURES = (NotOffered, Unavailable, StartFailed)


class StartedSites:
    """A site, or the reason why there is none, for each kind; several kinds may start at the same time."""

    def __init__(self, starters: Mapping[str, Callable[[], Site]]) -> None:
        self._starters = dict(starters)
        self._locks = {kind: threading.Lock() for kind in starters}
        self._found: dict[str, Site | Exception] = {}

    def get(self, kind: str) -> Site:
        """The site of that kind; a start that failed is not tried again."""
        if kind not in self._starters:
            raise NotOffered(f"there is no site {kind!r}; there are {', '.join(self._starters)}")
        with self._locks[kind]:
            if kind not in self._found:
                try:
                    self._found[kind] = self._starters[kind]()
                except _FAILURES as failure:
                    self._found[kind] = failure
            found = self._found[kind]
        if isinstance(found, Exception):
            raise found
        return found
