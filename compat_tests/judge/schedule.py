"""Run the cases of a role, several at a time, each after those that it depends on."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from attrs import define, field, frozen

from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import CATALOGUE, Case, Dialect
from compat_tests.judge.environment import Environment
from compat_tests.judge.judgement import Measure, judge
from compat_tests.judge.result import Result
from compat_tests.judge.verdict import Verdict

_POLL_S = 0.2


@frozen
class Pace:
    """How many cases are tried at a time."""

    jobs: int = 8
    """More than there are cores, because cases mostly wait for replies."""
    own_jobs: int = 2
    """The same for cases that start a bookie of their own."""


@frozen
class _Item:
    case: Case
    dialect: Dialect

    @property
    def key(self) -> tuple[str, Dialect]:
        return self.case.id, self.dialect


@define
class Schedule:
    """The cases of one run.

    :param report: called with each result as it comes, in one thread
    :param enough: whether a result ends the run, as the first failure does where only that is asked for
    :param stop: set to end the run; cases that were not tried are *not reached*
    """

    environment: Environment
    cases: Sequence[Case]
    seed: int
    features: Mapping[str, str]
    measure: Measure
    pace: Pace
    report: Callable[[Result], None]
    enough: Callable[[Result], bool] = lambda result: False
    stop: threading.Event = field(factory=threading.Event)
    _results: dict[tuple[str, Dialect], Result] = field(factory=dict)

    def run(self) -> list[Result]:
        """Try all cases, and return the results in order of the cases."""
        items = [_Item(case, dialect) for case in self.cases for dialect in case.dialects]
        waiting = {item.key: item for item in items}
        running: dict[Future[Result], _Item] = {}
        with _pools(self.pace) as (pool, own_pool):
            try:
                while waiting or running:
                    ready = self._ready(waiting, idle=not running)
                    if not ready and not running:
                        raise ValueError(f"these cases wait for each other: {sorted({key[0] for key in waiting})}")
                    for item in ready:
                        del waiting[item.key]
                        early = self._not_reached(item)
                        if early is not None:
                            self._record(item, early)
                            continue
                        chosen = own_pool if item.case.site == "own" else pool
                        running[chosen.submit(self._try, item)] = item
                    done, _ = wait(running, _POLL_S, FIRST_COMPLETED)
                    for future in done:
                        self._record(running.pop(future), future.result())
            except BaseException:
                self.stop.set()  # Ctrl-C: the cases that run end by themselves, soon
                raise
        return [self._results[item.key] for item in items]

    def _ready(self, waiting: Mapping[tuple[str, Dialect], _Item], idle: bool) -> list[_Item]:
        """The items whose dependencies have results; an item that is tried alone, only if no other is ready or runs."""
        free = [item for item in waiting.values() if all(key in self._results for key in self._before(item))]
        return [item for item in free if not item.case.alone] or (free[:1] if idle else [])

    def _before(self, item: _Item) -> list[tuple[str, Dialect]]:
        """The keys that an item depends on: each case in the item's protocol version, or in all that the case has."""
        found = []
        wanted = {case.id for case in self.cases}
        base = (self.environment.base,) if item.case.id != self.environment.base else ()
        for case_id in (*base, *item.case.after):
            if case_id in wanted:
                dialects = CATALOGUE[case_id].dialects
                same = (item.dialect,) if item.dialect in dialects else dialects
                found += [(case_id, dialect) for dialect in same]
        return found

    def _not_reached(self, item: _Item) -> Result | None:
        if self.stop.is_set():
            return Result(item.case.id, item.dialect, Verdict.NOT_REACHED, "the run was ended before")
        for key in self._before(item):
            verdict = self._results[key].verdict
            if verdict is Verdict.UNSUPPORTED:
                return Result(item.case.id, item.dialect, Verdict.UNSUPPORTED, f"{key[0]} is unsupported")
            if not verdict.reached:
                return Result(item.case.id, item.dialect, Verdict.NOT_REACHED, f"{key[0]}: {verdict}")
        return None

    def _try(self, item: _Item) -> Result:
        if self.stop.is_set():  # it waited in the queue; its bookie need not be started any more
            return Result(item.case.id, item.dialect, Verdict.NOT_REACHED, "the run was ended before")
        brief = Brief(item.case, item.dialect, self.seed, self.features, self.stop.is_set)
        return judge(self.environment, brief, self.measure)

    def _record(self, item: _Item, result: Result) -> None:
        self._results[item.key] = result
        self.report(result)
        if self.enough(result):
            self.stop.set()


@contextmanager
def _pools(pace: Pace) -> Iterator[tuple[ThreadPoolExecutor, ThreadPoolExecutor]]:
    with ThreadPoolExecutor(pace.jobs, "case") as pool, ThreadPoolExecutor(pace.own_jobs, "own") as own_pool:
        yield pool, own_pool
