"""Locks of those who make or delete copies of ledgers: a key each, under its holder's lease.

Java's driver for etcd has no auto-recovery, so only programs of ours meet here.
"""

from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, LeaseLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient, has_version, put
from bookkeeper_tx.metadata.etcd.lease import EtcdLease
from bookkeeper_tx.model import BookieId
from protocol_specs.metadata import etcd_layout as spec


class EtcdReplicationLocks:
    """The locks of the cluster at one scope."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        self._client = client
        self._folder = f"{scope}/{spec.REPLICATION_LOCKS}"
        self._held: set[tuple[int, int]] = set()
        """The ledgers whose locks were taken here, each with the lease."""
        self._unwanted: set[int] = set()
        """The ledgers whose locks may be under our lease, and are to be given back: an attempt has failed."""

    def lock(self, ledger_id: int, bookie_id: BookieId, lease: EtcdLease) -> bool:
        """Take the lock of a ledger; return whether nobody has it, this process neither."""
        self._give_back(lease)
        try:
            return self._lock(ledger_id, bookie_id, lease)
        except BaseException:
            if all(held != ledger_id for held, _ in self._held):  # it may have been taken
                self._unwanted.add(ledger_id)
            raise

    def _lock(self, ledger_id: int, bookie_id: BookieId, lease: EtcdLease) -> bool:
        key, repeated = self._key(ledger_id), False
        while True:
            lease_id = lease.id()
            try:
                if self._client.transact([has_version(key, None)], [put(key, bookie_id.encode(), lease_id)]).succeeded:
                    self._held.add((ledger_id, lease_id))
                    return True
            except ConnectionLost:
                repeated = True
                continue
            except LeaseLost:
                lease.forget()
                continue
            found = self._client.read(key)
            if found is not None:
                is_own = repeated and found.lease == lease_id and (ledger_id, lease_id) not in self._held
                if is_own:
                    self._held.add((ledger_id, lease_id))
                return is_own

    def unlock(self, ledger_id: int, lease: EtcdLease) -> None:
        """Give back a lock that is held under ``lease``, and those of earlier calls that have failed."""
        self._held.discard((ledger_id, lease.current))
        self._unwanted.add(ledger_id)
        self._give_back(lease)

    def _give_back(self, lease: EtcdLease) -> None:
        for ledger_id in sorted(self._unwanted):
            lease.give_back(self._key(ledger_id))
            self._unwanted.discard(ledger_id)

    def _key(self, ledger_id: int) -> str:
        return f"{self._folder}/{spec.ledger_name(ledger_id)}"
