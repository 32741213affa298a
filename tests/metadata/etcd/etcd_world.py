"""The records of a cluster in an etcd in memory, with time in the test's hand."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.lease import EtcdLease
from bookkeeper_tx.metadata.etcd.records import EtcdRecords
from tests.metadata.etcd.fake_etcd import FakeChannel, FakeEtcd

SCOPE = "/made/ledgers"
TIMEOUT_S = 10.0
TTL_S = 9.0


class World:
    """One etcd, and any number of clients of it."""

    def __init__(self) -> None:
        self.etcd = FakeEtcd()
        self.now_s = 0.0
        self.tokens = iter(range(1, 1000))
        self.records = self.new_records()
        self.records.cluster.initialize()
        self.etcd.requests.clear()

    def new_client(self) -> EtcdClient:
        channel: Any = FakeChannel(self.etcd)
        return EtcdClient(channel, TIMEOUT_S, clock=lambda: self.now_s, sleep=self._sleep)

    def new_records(self) -> EtcdRecords:
        return EtcdRecords(self.new_client(), SCOPE, lambda key: None, lambda bits: next(self.tokens))

    def new_lease(self) -> EtcdLease:
        return EtcdLease(self.new_client(), TTL_S)

    def lose_next(self, name: str, what: str, then: Callable[[], object] = lambda: None) -> None:
        """Lose the next request ``name``, or its answer, and call ``then()`` before the one after it."""
        state = ["waiting"]

        def lose(each: str) -> str | None:
            if state[0] == "lost":
                state[0] = "over"
                then()
            if each == name and state[0] == "waiting":
                state[0] = "lost"
                return what
            return None

        self.etcd.lose = lose

    def _sleep(self, delay_s: float) -> None:
        self.now_s += delay_s
