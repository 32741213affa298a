"""The threads of a process in virtual time: each job takes a while, and longer when its disk stalls."""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from tests.bookie.crashing_disk import Crashed
from tests.simulation.world.disk import FaultyDisk
from tests.simulation.world.machine import Machine


class MachineThreads:
    """Runs jobs as ``bookkeeper_tx.threads.worker.Worker`` does, ``count`` at a time; a job takes about ``job_s``."""

    def __init__(self, machine: Machine, disk: FaultyDisk, random: Random, count: int, job_s: float) -> None:
        self._machine = machine
        self._disk = disk
        self._random = random
        self._job_s = job_s
        self._idle = count
        self._jobs: deque[tuple[Deferred[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._stopped: list[Deferred[None]] = []
        self._count = count

    def run(self, function: Callable[..., Any], *arguments: Any) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()
        self._jobs.append((done, function, arguments))
        self._begin()
        return done

    def stop(self) -> Deferred[None]:
        stopped: Deferred[None] = Deferred()
        self._stopped.append(stopped)
        self._tell_stopped()
        return stopped

    def _begin(self) -> None:
        if self._jobs and self._idle:
            self._idle -= 1
            now = self._machine.timeline.now
            at = max(now, self._disk.stalled_until) + self._job_s * (0.5 + self._random.random())
            # Not the reactor's turn: a process that is stopped has its threads stopped, a long turn would not.
            self._machine.post(at, self._work, self._jobs.popleft())

    def _work(self, job: tuple[Deferred[Any], Callable[..., Any], tuple[Any, ...]]) -> None:
        now = self._machine.timeline.now
        if now < self._disk.stalled_until:
            self._machine.post(self._disk.stalled_until, self._work, job)
            return
        done, function, arguments = job
        try:
            result = function(*arguments)
        except Crashed:
            return  # the power has failed: nothing goes on
        except Exception:
            result = Failure()
        self._machine.post(now, self._bring, done, result)

    def _bring(self, done: Deferred[Any], result: Any) -> None:
        self._idle += 1
        self._begin()
        done.callback(result)
        self._tell_stopped()

    def _tell_stopped(self) -> None:
        if self._idle == self._count and not self._jobs:
            stopped, self._stopped = self._stopped, []
            for each in stopped:
                each.callback(None)
