"""Environments for mutants: their features need no probing, because they are our own product."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import evolve

from compat_tests.bookie.bookie_environment import BookieEnvironment
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.stage import Stage
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import Dialect
from compat_tests.judge.features import FEATURES

_LACKS = {"metadata": "no: mutants register in SQLite"}


class MutantBookieEnvironment(BookieEnvironment):
    """A bookie with every feature, as ours has; a site is started with the first case for it."""

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Give the features without asking the bookie."""
        return {name: _LACKS.get(name, "yes") for name in FEATURES}


class MutantClientEnvironment(ClientEnvironment):
    """A client that speaks both protocol versions, as ours does."""

    limit_s: float | None = None
    """The longest that a case may take, if that is less than its own limit; None for no further limit."""

    @contextmanager
    def attempt(self, brief: Brief) -> Iterator[Stage]:
        """A stage, under the shorter of the two limits."""
        if self.limit_s is not None:
            brief = evolve(brief, case=evolve(brief.case, limit_s=min(brief.case.limit_s, self.limit_s)))
        with super().attempt(brief) as stage:
            yield stage

    def _speaks(self, dialect: Dialect) -> str:
        return "yes"
