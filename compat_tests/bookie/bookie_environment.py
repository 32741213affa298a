"""The bookie role: a target's sites, and the talk that each case gets."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from compat_tests.bookie.bystander import let_in
from compat_tests.bookie.probing import probe
from compat_tests.bookie.talk import OwnTalk, Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import Role
from compat_tests.judge.result import TargetInfo
from compat_tests.targets.target import Target

_PROBE_LEDGER = 1 << 61
"""A bit above all ledger ids of cases; the seed fills the bits below it."""

_NO_METADATA = "no: this run has no ZooKeeper to look into; --metadata names one"


class BookieEnvironment:
    """An open target, as the schedule sees it."""

    role = Role.BOOKIE
    base = "BKW-BASE-001"

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    def info(self) -> TargetInfo:
        target = self.target
        return TargetInfo(target.name, target.implementation, target.release, target.how)

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Start the plain bookie and find out its features."""
        site = self.target.site("plain")
        found = dict(probe(site, _PROBE_LEDGER | seed, stop))
        found["metadata"] = "yes" if site.cluster is not None else _NO_METADATA
        return found

    @contextmanager
    def attempt(self, brief: Brief) -> Iterator[Talk]:
        """A talk with the site that the case is for; the case's clock starts when the site is up."""
        if brief.case.site == "own":
            with self.target.own() as bookie, OwnTalk(brief, bookie) as own_talk:
                yield own_talk
            return
        site = self.target.site(brief.case.site)
        with Talk(brief, site) as talk:
            let_in(talk)
            yield talk
