"""An environment without a target: the scripts of the cases decide what comes."""

from contextlib import contextmanager

from compat_tests.judge.attempt import Attempt
from compat_tests.judge.case import MUST, Case, Role
from compat_tests.judge.result import TargetInfo

BASE = "BKW-BASE-001"


def make_case(case_id, script=lambda attempt: None, *, level=MUST, **options):
    """A case that is not in the catalogue."""
    texts = ("sec-read-entry-v2", "title", "It must.", "bytes", "bytes back")
    return Case(case_id, Role.BOOKIE, level, *texts, script, **options)


class FakeEnvironment:
    """Every attempt is a plain one."""

    role = Role.BOOKIE
    base = BASE
    info = TargetInfo("fake", "java", "4.16.6", "in memory")

    def __init__(self, features=None):
        self.features = features or {}
        self.tried = []

    def probe(self, seed, stop):
        return self.features

    @contextmanager
    def attempt(self, brief):
        self.tried.append((brief.case.id, str(brief.dialect)))
        yield Attempt(brief)
