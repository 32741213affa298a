"""Judge mutants by the cases of the conformance suite, and count who notices what."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from compat_tests.bookie.ground import BookieGround
from compat_tests.client.client_target import OURS, of_command
from compat_tests.client.ground import ClientGround
from compat_tests.judge.case import Case, Role
from compat_tests.judge.catalogue import load
from compat_tests.judge.result import Result, Run
from compat_tests.judge.run import Order, perform
from compat_tests.judge.verdict import Verdict
from compat_tests.targets.options import TargetOptions
from compat_tests.targets.ours import OurTarget
from tests.mutants.mutant import BOOKIE, Mutant

FORMAT = 1
_LAUNCHER = (sys.executable, "-m", "tests.mutants.launch")
_DRIVER = OURS[-1]
_FIRST_CASE, _STARTS = "BKW-BASE-001", "that it starts"


@frozen
class Outcome:
    """What came of a mutant."""

    mutant: Mutant
    killed_by: tuple[str, ...]
    """Ids of the cases that failed; of the first one only if the first ends it."""
    seconds: float
    note: str = ""
    """What the first of them has seen."""

    def to_json(self) -> dict[str, Any]:
        mutant = self.mutant
        return {
            "name": mutant.name,
            "role": mutant.role,
            "sentence": mutant.sentence,
            "origin": mutant.origin,
            "killed_by": list(self.killed_by),
            "seconds": round(self.seconds, 2),
            "note": self.note,
        }


@frozen
class Judge:
    """Tries cases on mutants."""

    sick: frozenset[str] = frozenset()
    """Cases that fail without any defect: they notice nothing."""
    metadata: str | None = None
    """The ZooKeeper of mutants of the client."""

    def first_kill(self, mutant: Mutant) -> Outcome:
        """Try the cases named by the mutant until one fails, then those of its areas, then all others."""
        started = time.monotonic()
        tiers: list[list[Case]] = [[], [], []]
        for case in self._cases(mutant.role):
            tiers[0 if case.id in mutant.areas else 1 if case.area in mutant.areas else 2].append(case)
        with self._ground(mutant.role, mutant) as ground:
            for cases in filter(None, tiers):
                run = perform(ground, Order(cases, seed=1, first_failure=True))
                outcome = self._outcome(mutant, run, started)
                if outcome.killed_by:
                    return outcome
        return Outcome(mutant, (), time.monotonic() - started)

    def all_kills(self, mutant: Mutant) -> Outcome:
        """Try every case of the role."""
        started = time.monotonic()
        with self._ground(mutant.role, mutant) as ground:
            return self._outcome(mutant, perform(ground, Order(self._cases(mutant.role), seed=1)), started)

    def _cases(self, role: str) -> list[Case]:
        return [case for case in load(Role(role)) if case.id not in self.sick]

    @contextmanager
    def _ground(self, role: str, mutant: Mutant | None) -> Iterator[Any]:
        if role == BOOKIE:
            with OurTarget(TargetOptions(launcher=(*_LAUNCHER, mutant.name, "--") if mutant else ())) as target:
                yield BookieGround(target)
            return
        command = [*_LAUNCHER, mutant.name, "--", _DRIVER] if mutant else OURS
        with ClientGround(of_command(command), self.metadata, processes=1) as ground:
            yield ground

    def _outcome(self, mutant: Mutant, run: Run, started: float) -> Outcome:
        failed = _failed(run)
        if any(result.expected == _STARTS and result.case == _FIRST_CASE for result in failed):
            raise RuntimeError(f"{mutant} is no defect but a product that does not start: {failed[0].seen}")
        ids = tuple(dict.fromkeys(result.case for result in failed if result.case not in self.sick))
        return Outcome(mutant, ids, time.monotonic() - started, failed[0].message if ids else "")

    def sick_cases(self, role: str) -> frozenset[str]:
        """Return the cases that fail on the product as it is."""
        with self._ground(role, None) as ground:
            return frozenset(result.case for result in _failed(perform(ground, Order(load(Role(role)), seed=1))))


def _failed(run: Run) -> list[Result]:
    if run.not_checked is not None:
        raise RuntimeError(f"nothing could be judged: {run.not_checked}")
    return [result for result in run.results if result.verdict in (Verdict.FAIL, Verdict.ERROR)]


def report(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """What the HTML report shows: the mutants, the score, and the cases that have noticed nothing."""
    outcomes = list(outcomes)
    kills = Counter(case_id for outcome in outcomes for case_id in outcome.killed_by)
    roles = {Role(outcome.mutant.role) for outcome in outcomes}
    idle = [case.id for role in sorted(roles) for case in load(role) if case.id not in kills]
    return {
        "format": FORMAT,
        "score": f"{sum(bool(outcome.killed_by) for outcome in outcomes)}/{len(outcomes)}",
        "mutants": [outcome.to_json() for outcome in outcomes],
        "survivors": [outcome.mutant.name for outcome in outcomes if not outcome.killed_by],
        "kills_per_case": dict(sorted(kills.items())),
        "cases_that_kill_none": idle,
    }
