"""A whole run: probe the target, try all cases, keep the results."""

import random
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from attrs import evolve, field, frozen

from compat_tests.judge.case import Case, with_dependencies
from compat_tests.judge.environment import Environment
from compat_tests.judge.judgement import Measure
from compat_tests.judge.result import Result, Run, describe
from compat_tests.judge.schedule import Pace, Schedule
from compat_tests.judge.verdict import Interrupted, Verdict
from compat_tests.targets.process import StartFailed
from compat_tests.targets.unavailable import Unavailable

_SEED_MAX = 1 << 18


class Progress(Protocol):
    """An observer of a run."""

    def begin(self, run: Run, total: int) -> None:
        """The run starts; ``total`` results will come."""

    def result(self, result: Result) -> None:
        """A result has come."""

    def end(self, run: Run) -> None:
        """The run has ended."""


class SilentProgress:
    """Shows nothing."""

    def begin(self, run: Run, total: int) -> None: ...

    def result(self, result: Result) -> None: ...

    def end(self, run: Run) -> None: ...


@frozen
class Order:
    """What is to be run, and how."""

    cases: Sequence[Case]
    measure: Measure = field(factory=Measure)
    seed: int | None = None
    """Decides ledger ids and every random choice; chosen and reported if not given."""
    pace: Pace = field(factory=Pace)
    command: str = ""
    features: Mapping[str, str] = field(factory=dict)
    """Features that the user has declared; the others are probed."""
    first_failure: bool = False
    """Whether the first failure ends the run."""


def perform(
    environment: Environment, order: Order, progress: Progress | None = None, stop: threading.Event | None = None
) -> Run:
    """Judge a target.  Ctrl-C, or setting ``stop``, ends the run early; the run then has the results so far."""
    progress, stop = progress or SilentProgress(), stop or threading.Event()
    cases = with_dependencies(order.cases, environment.base)
    seed = random.randrange(_SEED_MAX) if order.seed is None else order.seed
    started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    described = [describe(each) for each in cases]
    run = Run(environment.role, environment.info, seed, started, _version(), order.command, cases=described)
    began = time.monotonic()
    results: list[Result] = []

    def keep(result: Result) -> None:
        results.append(result)
        progress.result(result)

    try:
        features = {**environment.probe(seed, stop), **order.features}
        run = evolve(
            run, features=features, target=environment.info
        )  # probing has started the target: only now it is known how it is run
        progress.begin(run, sum(len(case.dialects) for case in cases))
        schedule = Schedule(environment, cases, seed, features, order.measure, order.pace, keep, _enough(order), stop)
        results = schedule.run()
    except Unavailable as missing:
        run = evolve(run, not_checked=missing.reason)
    except StartFailed as failed:
        run = evolve(run, not_checked=str(failed))
    except (KeyboardInterrupt, Interrupted):
        stop.set()
    except Exception as fault:  # reported with the results so far, and not as a bare traceback
        text = f"{type(fault).__name__}: {fault}"
        keep(Result(environment.base, "", Verdict.ERROR, text, note=traceback.format_exc()))
    run = evolve(
        run,
        results=results,
        duration_s=time.monotonic() - began,
        interrupted=stop.is_set() and not any(map(_enough(order), results)),
    )
    progress.end(run)
    return run


def _enough(order: Order) -> Callable[[Result], bool]:
    return lambda result: order.first_failure and result.verdict is Verdict.FAIL


def _version() -> str:
    try:
        return version("bookkeeper_tx")
    except PackageNotFoundError:
        return "(not installed)"
