"""Judge mutants by the cases of the conformance suite, and count which cases notice which mutants."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Self
from unittest.mock import patch

from attrs import frozen

from compat_tests.catalogue import load
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import OURS, of_command
from compat_tests.judge.case import Case, Role
from compat_tests.judge.judgement import Measure
from compat_tests.judge.result import Result, Run
from compat_tests.judge.run import Order, perform
from compat_tests.judge.schedule import Pace
from compat_tests.judge.verdict import Verdict
from compat_tests.targets.options import TargetOptions
from compat_tests.targets.ours import OurTarget
from compat_tests.wire import line
from tests.mutants.first_cases import FIRST_CASE_LIMITS_S
from tests.mutants.fork_server_process import ForkServerProcess
from tests.mutants.launch import AS_IT_IS
from tests.mutants.mutant import BOOKIE, Mutant
from tests.mutants.mutant_environments import MutantBookieEnvironment, MutantClientEnvironment

FORMAT = 1
AT_ONCE = 3
"""Mutants that are tried at a time: more than there are cores, because they wait most of the time."""
_DRIVER = OURS[-1]
_STRICT = Measure(strict=True)
"""A tolerance that lets a real target pass must not hide a defect here."""
_SILENT_S = 3.0
"""How long a reply may take here. A real bookie gets more time; many mutants never answer."""
_FEW = Pace(jobs=4)
_SEED = 1
_SEEDS_OF_THE_HEALTHY = (2, 3, 4)
_RESTARTS = "CRASH"
"""The area of most cases with a bookie of their own: its starts take longer than all the rest."""
_FIRST_CASE, _STARTS = "BKW-BASE-001", "that it starts"


@frozen
class Outcome:
    """The outcome of the trial of one mutant."""

    mutant: Mutant
    killed_by: tuple[str, ...]
    """Ids of the cases that failed; only the first, if the first failure ended the trial."""
    seconds: float
    note: str = ""
    """The message of the first failure."""

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


class Judge:
    """Tries cases on mutants; a context manager.

    A failure counts only if the same case passes on the product without a defect.  That is tried when the case first
    fails.  ``metadata`` is the URI of the ZooKeeper for mutants of the client.
    """

    def __init__(self, metadata: str | None = None) -> None:
        self._metadata = metadata
        self._started = ExitStack()
        self._fork_server: ForkServerProcess
        self._bookie: Any = None
        self._lock = threading.Lock()
        self._sound: dict[tuple[str, float | None], bool] = {}
        """Whether a case passes without a defect, by case and limit; the limit None is the case's own."""

    def __enter__(self) -> Self:
        self._fork_server = self._started.enter_context(ForkServerProcess())
        self._started.enter_context(patch.object(line, "REPLY_TIMEOUT_S", _SILENT_S))
        return self

    def __exit__(self, *ended: object) -> None:
        self._started.close()

    def first_kill(self, mutant: Mutant) -> Outcome:
        """Try the cases named by the mutant until one fails, then those of its areas, then all others."""
        started = time.monotonic()
        tiers: list[list[Case]] = [[], [], []]
        for case in load(Role(mutant.role)):
            tiers[0 if case.id in mutant.areas else 1 if case.area in mutant.areas else 2].append(case)
        with self._target(mutant) as environment_of:

            def failed_of(cases: Sequence[Case], seed: int, limit_s: float | None = None) -> list[Result]:
                with environment_of(limit_s) as environment:
                    order = Order(cases, _STRICT, seed, _FEW, first_failure=True)
                    return _failed(perform(environment, order), mutant)

            for tier, cases in enumerate(tiers):
                limit_s = FIRST_CASE_LIMITS_S.get(mutant.name) if tier == 0 else None
                while cases and (failed := failed_of(cases, _SEED, limit_s)):
                    outcome = self._outcome(mutant, failed, started, limit_s)
                    killers = [case for case in cases if case.id in outcome.killed_by]
                    # Of hundreds of cases one may fail by chance, so it is tried again; the few of tier 0 are not.
                    if outcome.killed_by and (tier == 0 or not killers or failed_of(killers, _SEED + 1)):
                        return outcome
                    left = [case for case in cases if all(case.id != result.case for result in failed)]
                    cases = left if len(left) < len(cases) else []
        return Outcome(mutant, (), time.monotonic() - started)

    def all_kills(self, mutant: Mutant) -> Outcome:
        """Try every case of the role; cases that restart a bookie only if the defect is about restarts."""
        started = time.monotonic()
        restarts = _RESTARTS in mutant.areas
        cases = [case for case in load(Role(mutant.role)) if restarts or case.site != "own"]
        with self._target(mutant) as environment_of, environment_of(None) as environment:
            failed = _failed(perform(environment, Order(cases, _STRICT, _SEED)), mutant)
        return self._outcome(mutant, failed, started)

    def _outcome(self, mutant: Mutant, failed: list[Result], started: float, limit_s: float | None = None) -> Outcome:
        self._look_at([result.case for result in failed], mutant.role, limit_s)
        sound = [result for result in failed if self._sound[result.case, limit_s]]
        ids = tuple(dict.fromkeys(result.case for result in sound))
        return Outcome(mutant, ids, time.monotonic() - started, sound[0].message if sound else "")

    def _look_at(self, case_ids: list[str], role: str, limit_s: float | None) -> None:
        """Find out which of these cases pass without a defect, under the same limit."""
        with self._lock:
            cases = [case for case in load(Role(role)) if case.id in case_ids and (case.id, limit_s) not in self._sound]
            if not cases:
                return
            if role == BOOKIE and self._bookie is None:
                launcher = tuple(self._fork_server.launcher(AS_IT_IS))
                self._bookie = self._started.enter_context(OurTarget(TargetOptions(launcher=launcher)))
            for seed in _SEEDS_OF_THE_HEALTHY:  # on a busy machine a case may fail for lack of time
                target: AbstractContextManager[Any] = (
                    nullcontext(MutantBookieEnvironment(self._bookie))
                    if role == BOOKIE
                    else self._client(AS_IT_IS, limit_s)
                )
                with target as environment:
                    run = perform(environment, Order(cases, _STRICT, seed=seed))
                failed = {result.case for result in run.results if result.verdict is not Verdict.PASS}
                passed = {result.case for result in run.results} - failed  # none if it could not be tried
                self._sound.update(((case.id, limit_s), case.id in passed) for case in cases)
                cases = [case for case in cases if case.id not in passed]
                if not cases:
                    break

    @contextmanager
    def _target(self, mutant: Mutant) -> Iterator[Callable[[float | None], AbstractContextManager[Any]]]:
        """Give a function from a limit in seconds (None: each case's own) to an environment for the mutant."""
        if mutant.role == BOOKIE:
            with OurTarget(TargetOptions(launcher=tuple(self._fork_server.launcher(mutant.name)))) as target:
                yield lambda limit_s: nullcontext(MutantBookieEnvironment(target))
        else:
            yield lambda limit_s: self._client(mutant.name, limit_s)

    def _client(self, name: str, limit_s: float | None = None) -> ClientEnvironment:
        command = [*self._fork_server.launcher(name), _DRIVER]
        client = MutantClientEnvironment(of_command(command), self._metadata, processes=1)
        client.limit_s = limit_s
        return client


def _failed(run: Run, mutant: Mutant | None = None) -> list[Result]:
    outside = [result.message for result in run.results if result.verdict is Verdict.ERROR and not result.dialect]
    if run.not_checked is not None or outside:
        raise RuntimeError(f"nothing could be judged: {run.not_checked or outside}")
    failed = [result for result in run.results if result.verdict is Verdict.FAIL]  # not ERROR: a fault of ours
    if any(result.expected == _STARTS and result.case == _FIRST_CASE for result in failed):
        raise RuntimeError(f"{mutant} is no defect but a product that does not start: {failed[0].seen}")
    return failed


def report(outcomes: Iterable[Outcome], full: bool) -> dict[str, Any]:
    """The data for the HTML report: mutants, score, and, if every case was tried, the cases that noticed nothing."""
    outcomes = list(outcomes)
    kills = Counter(case_id for outcome in outcomes for case_id in outcome.killed_by)
    roles = {Role(outcome.mutant.role) for outcome in outcomes}
    idle = [case.id for role in sorted(roles) for case in load(role) if full and case.id not in kills]
    return {
        "format": FORMAT,
        "full": full,
        "score": f"{sum(bool(outcome.killed_by) for outcome in outcomes)}/{len(outcomes)}",
        "mutants": [outcome.to_json() for outcome in outcomes],
        "survivors": [outcome.mutant.name for outcome in outcomes if not outcome.killed_by],
        "kills_per_case": dict(sorted(kills.items())),
        "cases_that_kill_none": idle,
    }
