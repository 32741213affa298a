"""The environment in which cases of one role run, as the schedule needs it."""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from compat_tests.judge.attempt import Attempt, Brief
from compat_tests.judge.case import Role
from compat_tests.judge.result import TargetInfo


class Environment(Protocol):
    """One target, ready to be judged in one role."""

    @property
    def role(self) -> Role:
        """The role that is judged."""

    @property
    def info(self) -> TargetInfo:
        """The target that is judged."""

    @property
    def base(self) -> str:
        """The id of the case that every other case depends on."""

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Find out its features: each is ``yes``, or ``no`` with how that showed.  Raises Unavailable."""

    def attempt(self, brief: Brief) -> AbstractContextManager[Attempt]:
        """The attempt that the case is called with.  Raises NotOffered, Unavailable, StartFailed, Mismatch."""
