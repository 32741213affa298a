"""Candidates of an election on puppets."""

from collections.abc import Container
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.replicated_log import Leadership
from tests.client.puppet_network import Network
from tests.replicated_log.logs import LOG, Logs, outcome

LEASE_S = 10.0


class Candidate:
    """A process with a clock and a network of its own, that stands for election."""

    def __init__(self, logs: Logs, name: str, lease_s: float = LEASE_S) -> None:
        self.name = name
        self.clock = logs.cluster.clock = Clock()
        self.network = logs.cluster.network = logs.cluster.store_network = Network()
        self.client = logs.client()
        self.logs = logs.logs(self.client)
        self._lease_s = lease_s
        self.stand()

    def stand(self) -> None:
        self.waiting: Deferred[Leadership] = self.logs.campaign(LOG, self.name, lease_s=self._lease_s)
        self.told = outcome(self.waiting)

    @property
    def leads(self) -> bool:
        return self.leadership is not None and self.leadership.leads()

    @property
    def leadership(self) -> Leadership | None:
        return self.told[0] if self.told and isinstance(self.told[0], Leadership) else None


class Election:
    """Several candidates; time passes for all of them but those who are asleep, or dead."""

    def __init__(self, *names: str) -> None:
        self.logs = Logs()
        self.state = self.logs.cluster.state
        self.now_s = 0.0
        self.candidates = [Candidate(self.logs, name) for name in names]
        for each in self.candidates:
            each.network.run()

    def pass_time(self, seconds: float, asleep: Container[Candidate] = (), cut_off: Container[Candidate] = ()) -> None:
        """Let time pass in small steps, in each of which all that is sent arrives.

        Some may be asleep, and the messages of some stay where they are.
        """
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(self.now_s + 0.5, end_s)
            for each in self.candidates:
                if each not in asleep:
                    self.wake(each)
                    if each not in cut_off:
                        each.network.run()
            assert sum(each.leads for each in self.candidates if each not in asleep) <= 1

    def wake(self, candidate: Candidate) -> None:
        candidate.clock.advance(self.now_s - candidate.clock.seconds())

    def result(self, candidate: Candidate, deferred: Deferred[Any]) -> Any:
        """Return what is promised to a candidate."""
        found = outcome(deferred)
        candidate.network.run()
        [result] = found
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def leading(self) -> list[str]:
        return [each.name for each in self.candidates if each.leads]


def lose_a_renewal(election: Election, candidate: Candidate) -> None:
    """Let it be time for one, and lose the answer."""
    candidate.clock.advance(LEASE_S / 3 + 0.01)
    election.now_s = candidate.clock.seconds()
    candidate.network.lose(candidate.network.deliver_until("reply store write record"))
