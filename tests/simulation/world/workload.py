"""What clients do: write, read, tail, recover and delete ledgers, and say what they were told."""

from collections.abc import Coroutine
from contextlib import suppress
from random import Random
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.history import History
from tests.simulation.world.timeline import Timeline
from tests.simulation.world.work.deleting import deletes
from tests.simulation.world.work.reading import reads
from tests.simulation.world.work.recovering import recovers, take_over
from tests.simulation.world.work.tailing import tails
from tests.simulation.world.work.work import Work
from tests.simulation.world.work.writing import writes

TASKS = (writes, writes, recovers, reads, tails)
"""Of which a process has two at least."""


class Workload(Work):
    """The tasks of one client's process."""

    def __init__(
        self, node: ClientNode, history: History, timeline: Timeline, random: Random, number: int, end_s: float
    ) -> None:
        super().__init__(node, history, timeline, number, end_s)
        self.random = random
        self.tasks = 0
        """Those that have not ended."""

    def begin(self) -> None:
        """Start the process, and its tasks, unless it runs."""
        if self.node.is_up:
            return
        self.node.start()
        self.node.machine.post(self.timeline.now, self._begin)

    def _begin(self) -> None:
        self._spawn(self._start())
        for task in self.random.sample(TASKS, self.random.randrange(2, len(TASKS) + 1)):
            self._spawn(task(self, Random(self.random.random())))
        if self.random.random() < 0.3:
            self._spawn(deletes(self, Random(self.random.random())))

    def take_over(self, ledger_id: int | None, seed: float) -> None:
        """Recover a ledger, or any that is open, if this client runs."""
        if self.node.client is not None and self.timeline.now < self.end_s:
            self._spawn(take_over(self, ledger_id, Random(seed)))

    def kill(self) -> None:
        """End the process; nobody waits for what it has begun."""
        # Else these would try to end when they are collected.
        iterations, self.iterations = self.iterations, []
        self.node.end(iterations)
        self.node.kill()
        address = self.node.machine.address
        under_way = self.history.under_way
        for name in [each for each in under_way if each.endswith(f" of {address}")]:
            del under_way[name]

    async def _start(self) -> None:
        with suppress(BookKeeperError):
            await self.client.start()

    def _spawn(self, task: Coroutine[Any, Any, None]) -> None:
        def ended(error: Exception | None, _: None) -> None:
            self.tasks -= 1
            if error is not None:
                self.history.broken(error)

        self.tasks += 1
        self.node.run(task, ended)
