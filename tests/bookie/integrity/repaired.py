"""A storage on a disk in memory that is repaired from a cluster of puppets, in which it stands for bookie ``b1``."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.integrity.durable import LOOK_S, durable
from bookkeeper_tx.bookie.integrity.full_check import FullCheck
from bookkeeper_tx.bookie.integrity.pre_boot import PreBoot
from bookkeeper_tx.bookie.integrity.repair import LedgerRepair
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.errors import BookKeeperError, UnknownLedgerState
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.storage.storages import MARK, disks_of, new_storage, read
from tests.bookie.workers import InlineWorker
from tests.client.puppets import Cluster

SELF = "b1"


class Repaired:
    """Bookie ``b1``, wiped: the puppet of this name answers clients that it does not know."""

    def __init__(self, cluster: Cluster, disk: CrashingDisk, **settings: Any) -> None:
        self.cluster, self.disk = cluster, disk
        self._settings = settings | {"data_integrity_checking": True}
        self.storage: LedgerStorage
        self.check: FullCheck
        cluster.bookies[SELF].fails = UnknownLedgerState()
        self.open()

    def open(self) -> None:
        """Open the storage, as after a start."""
        self.disks = disks_of(self.disk)
        storage = self.storage = new_storage(self.disk, DIRECTORY, disks=self.disks, **self._settings)
        storage.on_flush_wanted = self._flush
        self.client, clock, worker = self.cluster.client(), self.cluster.clock, InlineWorker()
        repair = LedgerRepair(clock, self.client, storage, worker, SELF, None)
        self.check = FullCheck(clock, self.client.metadata, storage, SELF, repair)

    def _flush(self) -> None:
        self.storage.flush(lambda: MARK).addErrback(lambda _: None)

    def mark(self) -> int:
        """Put all ledgers into limbo."""
        self.storage.limbo.set_needs_check(True)
        store: Any = self.client.metadata
        pre_boot = PreBoot(store, self.storage, SELF, lambda: durable(self.cluster.clock, self.storage))
        return int(self.wait(pre_boot.run()))

    def wait(self, waiting: Coroutine[Any, Any, Any]) -> Any:
        """Deliver messages, and let time pass, until the coroutine has ended; return its result or raise its error."""
        outcome: list[Any] = []
        Deferred.fromCoroutine(waiting).addBoth(outcome.append)
        for _ in range(10_000):
            self.cluster.network.run(until=lambda: bool(outcome))
            if outcome:
                break
            self.cluster.clock.advance(LOOK_S)
        assert outcome, "it does not end"
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]

    def crash(self) -> None:
        self.disk.crash()
        self.disk.restart()
        self.open()

    def answers(self, ledger_id: int, count: int) -> list[bytes | type[BookKeeperError]]:
        """Return each of the first entries of a ledger, or the error that is answered in its place."""
        found: list[bytes | type[BookKeeperError]] = []
        for entry_id in range(count):
            try:
                found.append(read(self.storage, ledger_id, entry_id))
            except BookKeeperError as error:
                found.append(type(error))
        return found
