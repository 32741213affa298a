"""The clients of the simulation on a real reactor, real bookies behind real links; a seed says what fails when.

Bookies are killed and started again, stopped and continued; links become long, narrow, or forget what they are given,
connections are reset, a disk is full.  Then all is well, and ``tests/simulation/world/history.py`` must hold of what
was done and told: nothing acknowledged is lost or altered, no ledger ends before it, and each is closed once.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import frozen
from twisted.logger import globalLogPublisher

from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from tests.integration.support.our_client import poll
from tests.integration.support.real_node import MetadataObserver, RealNode, RealTime
from tests.integration.support.slow_link import SlowLink
from tests.integration.support.small_disk import full, small_disk
from tests.integration.support.stopped import stopped
from tests.reactor_thread import run_in_reactor
from tests.simulation.world.audit import audit
from tests.simulation.world.history import History
from tests.simulation.world.workload import Workload

RUNS = 20
BOOKIES = 4
CLIENTS = 3
ROUNDS = 3
WELL_WITHIN_S = 60.0
"""After the last fault."""

RATE = 100e6
SETTINGS = {
    "flushInterval": 500,
    "diskCheckInterval": 500,
    "journalPreAllocSizeMB": 1,
    "diskUsageThreshold": 0.95,
    "diskUsageWarnThreshold": 0.90,
}

# Clients find the bookies, which listen on 127.0.0.1, at another address of this machine: there the links begin.
BEHIND_LINKS = ("--advertise", "127.0.0.2")


def writable(cluster: LocalCluster) -> set[str]:
    """The bookies that are registered as such."""
    tables = Tables(cluster.metadata_uri.removeprefix("sqlite://"))
    try:
        return {bookie_id for bookie_id, read_only, _ in tables.bookies() if not read_only}
    finally:
        tables.close()


@frozen
class Bookie:
    """A bookie, and what can be done to it; each for as long as it is entered."""

    cluster: LocalCluster
    index: int
    link: SlowLink

    @property
    def _process(self) -> LocalBookie:
        return self.cluster.bookies[self.index]

    @contextmanager
    def killed(self) -> Iterator[None]:
        self.cluster.kill(self.index)
        yield
        self.cluster.restart(self.index)

    def stopped(self) -> AbstractContextManager[None]:
        return stopped(self._process.pid)

    @contextmanager
    def far(self) -> Iterator[None]:
        self.link.delay_s = 0.2
        yield
        self.link.delay_s = 0.0

    @contextmanager
    def narrow(self) -> Iterator[None]:
        self.link.rate = 20e3
        yield
        self.link.rate = RATE

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        self.link.sever()
        yield
        self.link.mend()

    @contextmanager
    def reset(self) -> Iterator[None]:
        self.link.reset()
        yield
        self.link.reset()

    @contextmanager
    def full(self) -> Iterator[None]:
        with full(self._process.directory / "data"):
            assert poll(lambda: self._process.bookie_id not in writable(self.cluster)), "clients are not told"
            yield


KINDS: tuple[Callable[[Bookie], Any], ...] = (
    Bookie.killed,
    Bookie.stopped,
    Bookie.far,
    Bookie.narrow,
    Bookie.cut_off,
    Bookie.reset,
    Bookie.full,
)
"""Every run has one of these and some more."""


@frozen
class Round:
    """One fault or two at a time, of different bookies."""

    faults: list[tuple[Callable[[Bookie], Any], int]]
    """Each with the index of its bookie."""
    lasts_s: float
    then_s: float

    def __str__(self) -> str:
        faults = " and ".join(f"bookie {index} is {kind.__name__}" for kind, index in self.faults)
        return f"{faults} for {self.lasts_s:.1f} s, then {self.then_s:.1f} s nothing"


def rounds_of(seed: int) -> list[Round]:
    random, rounds = Random(seed), []
    for number in range(ROUNDS):
        kinds = random.sample(KINDS, random.choice((1, 2)))
        if number == 0:
            kinds[0] = KINDS[seed % len(KINDS)]
        faults = list(zip(kinds, random.sample(range(BOOKIES), len(kinds)), strict=True))
        rounds.append(Round(faults, random.uniform(0.5, 2.5), random.uniform(0.0, 1.0)))
    return rounds


def small_disks(rounds: list[Round]) -> set[int]:
    """The bookies whose disks are to be full."""
    return {index for each in rounds for kind, index in each.faults if kind is Bookie.full}


class Run:
    """Clients at work on a cluster, and the faults of a seed."""

    def __init__(self, cluster: LocalCluster, links: list[SlowLink], random: Random) -> None:
        self.history = History()
        self._cluster = cluster
        self._bookies = [Bookie(cluster, index, link) for index, link in enumerate(links)]
        self._random = random
        self._nodes = [self._node(f"client {number}") for number in range(CLIENTS)]
        self._observer_node, self._auditor = self._node("observer"), self._node("auditor")
        self._observer = MetadataObserver(self._observer_node, self.history)
        self._work: list[Workload] = []

    def _node(self, name: str) -> RealNode:
        return RealNode(name, self._cluster.metadata_uri, self._random)

    def survive(self, rounds: list[Round]) -> None:
        run_in_reactor(self._begin)
        try:
            for each in rounds:
                self._make(each)
            run_in_reactor(self._finish)
            # A task that sleeps has nothing under way, and yet something to end, as its ledger to close.
            assert poll(lambda: not any(each.tasks for each in self._work), WELL_WITHIN_S), self.history.under_way
            assert poll(self._is_well, WELL_WITHIN_S), "a bookie has ended, or is not writable again"
            run_in_reactor(self._check, 3 * WELL_WITHIN_S)
        finally:
            run_in_reactor(self._close)
        if self.history.violation is not None:
            raise self.history.violation

    async def _begin(self) -> None:
        globalLogPublisher.addObserver(self.history.surprised)
        self._observer.start()
        self.history.troubled = True
        for number, node in enumerate(self._nodes):
            work = Workload(node, self.history, RealTime(), self._random, number, math.inf)
            work.bounds = {}  # how long the machine takes nobody knows
            work.begin()
            self._work.append(work)

    def _make(self, each: Round) -> None:
        with ExitStack() as faults:
            for kind, index in each.faults:
                faults.enter_context(kind(self._bookies[index]))
            time.sleep(each.lasts_s)
        time.sleep(each.then_s)

    async def _finish(self) -> None:
        """Begin nothing new."""
        for work in self._work:
            work.end_s = RealTime().now

    def _is_well(self) -> bool:
        running = all(each.running for each in self._cluster.bookies)
        return running and writable(self._cluster) == set(self._cluster.bookie_ids)

    async def _check(self) -> None:
        await self._observer.stop()
        self._auditor.start()
        await audit(self._auditor, self.history, RealTime().now + WELL_WITHIN_S)
        await self._observer.look()

    async def _close(self) -> None:
        globalLogPublisher.removeObserver(self.history.surprised)
        for node in (*self._nodes, self._observer_node, self._auditor):
            await node.stop()


def run_of(seed: int) -> Any:
    """A run whose disks are those of the machine can be checked everywhere, and has to be."""
    return pytest.param(seed, marks=() if small_disks(rounds_of(seed)) else pytest.mark.crash)


def survive(directory: Path, seed: int, rounds: list[Round], bookies: int = BOOKIES) -> None:
    print(f"seed {seed}", *rounds, sep="\n")
    with ExitStack() as stack:
        cluster = LocalCluster(directory, bookies, settings=SETTINGS, options=BEHIND_LINKS)
        for index in small_disks(rounds):
            stack.enter_context(small_disk(cluster.bookies[index].directory / "data"))
        stack.enter_context(cluster)
        links = [stack.enter_context(SlowLink(each.port, RATE, "127.0.0.2", each.port)) for each in cluster.bookies]
        run = Run(cluster, links, Random(seed))
        run.survive(rounds)
        print(run.history.counts)
        assert run.history.counts.get("appends")


def test_the_work_of_the_simulation_runs_on_real_bookies(tmp_path: Path) -> None:
    """Without faults, so that every run shows that the simulation's clients still have all that they need here."""
    survive(tmp_path, 0, [Round([], 1.0, 0.0)], bookies=3)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [run_of(seed) for seed in range(RUNS)])
def test_what_was_acknowledged_survives_what_a_seed_says(tmp_path: Path, seed: int) -> None:
    survive(tmp_path, seed, rounds_of(seed))
