"""Mutants as the suite sees them: what they have need not be found out, for they are our product."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import evolve

from compat_tests.bookie.bookie_environment import BookieGround
from compat_tests.client.client_environment import ClientGround
from compat_tests.client.stage import Stage
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import Dialect
from compat_tests.judge.features import FEATURES

_LACKS = {"metadata": "no: mutants register in SQLite"}


class KnownBookie(BookieGround):
    """Has every feature, as our bookie does; a site is started with the first case for it."""

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Say so."""
        return {name: _LACKS.get(name, "yes") for name in FEATURES}


class KnownClient(ClientGround):
    """Speaks both dialects, as our client does."""

    limit_s: float | None = None
    """What a case may take; its own limit if that is less, or this is None."""

    @contextmanager
    def attempt(self, brief: Brief) -> Iterator[Stage]:
        """A stage for a case that may have to hurry."""
        if self.limit_s is not None:
            brief = evolve(brief, case=evolve(brief.case, limit_s=min(brief.case.limit_s, self.limit_s)))
        with super().attempt(brief) as stage:
            yield stage

    def _speaks(self, dialect: Dialect) -> str:
        return "yes"
