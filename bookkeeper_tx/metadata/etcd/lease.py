"""The lease under which a process has its bookies and locks: all their keys go when it ends."""

import math

from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, LeaseLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient, is_unchanged, remove
from protocol_specs.metadata import etcd_pb2 as messages


class EtcdLease:
    """One lease after the other; for one thread."""

    def __init__(self, client: EtcdClient, ttl_s: float) -> None:
        """``ttl_s`` is how long a lease lives on when nobody keeps it alive; whole seconds, as etcd has them."""
        self._client = client
        self._ttl_s = max(1, math.ceil(ttl_s))
        self.current = 0
        """Its id, 0 while there is none; other threads may look."""

    def id(self) -> int:
        """Return the id of the lease, which is granted if there is none."""
        if not self.current:
            # When the answer is lost the lease ends by itself, and has no keys.
            self.current = self._client.insist("LeaseGrant", messages.LeaseGrantRequest(TTL=self._ttl_s)).ID
        return self.current

    def forget(self) -> None:
        """Have the next :meth:`id` be a new one: the last has ended."""
        self.current = 0

    def give_back(self, key: str) -> None:
        """Delete a key, if it is under the lease."""
        while (found := self._client.read(key)) is not None and found.lease == self.id():
            try:
                self._client.transact([is_unchanged(key, found)], [remove(key)])
            except ConnectionLost:
                continue

    def keep_alive(self) -> None:
        """Have the lease begin anew; raises LeaseLost if it has ended."""
        if not self.current:
            return
        answer = self._client.insist("LeaseKeepAlive", messages.LeaseKeepAliveRequest(ID=self.current))
        if answer.TTL <= 0:
            self.forget()
            raise LeaseLost(f"the lease at etcd at {self._client.hosts} has ended")

    def revoke(self) -> None:
        """End the lease, and its keys with it."""
        lease, self.current = self.current, 0
        if lease:
            self._client.once("LeaseRevoke", messages.LeaseRevokeRequest(ID=lease))
