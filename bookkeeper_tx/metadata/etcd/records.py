"""All that a cluster has in etcd, as values.  Blocking, for any number of threads."""

import secrets
from collections.abc import Callable, Collection
from itertools import islice
from typing import Any

from bookkeeper_tx.metadata.etcd.bookies import EtcdBookies
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.cluster import EtcdCluster
from bookkeeper_tx.metadata.etcd.cookies import EtcdCookies
from bookkeeper_tx.metadata.etcd.ledgers import EtcdLedgers
from bookkeeper_tx.metadata.etcd.named_records import EtcdDocuments, EtcdNamedRecords
from bookkeeper_tx.metadata.etcd.replication_locks import EtcdReplicationLocks
from bookkeeper_tx.metadata.etcd.watches import WATCHES_AT_ONCE, EtcdWatches, Range
from bookkeeper_tx.metadata.watches import BOOKIES, Key


class EtcdRecords:
    """The cluster at one scope; ``tell`` as that of :class:`~bookkeeper_tx.metadata.etcd.watches.EtcdWatches`."""

    def __init__(
        self,
        client: EtcdClient,
        scope: str,
        tell: Callable[[Key | None], None],
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self.client = client
        self.cluster = EtcdCluster(client, scope)
        self.ledgers = EtcdLedgers(client, self.cluster, scope, draw_token)
        self.bookies = EtcdBookies(client, scope)
        self.cookies = EtcdCookies(client, scope)
        self.named = EtcdNamedRecords(client, scope)
        self.documents = EtcdDocuments(client, scope)
        self.locks = EtcdReplicationLocks(client, scope)
        self.watches = EtcdWatches(client, tell)

    def do(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function(*args)`` if the cluster is there; raises what :meth:`EtcdCluster.check` raises."""
        self.cluster.check()
        return function(*args)

    def stamps(self, keys: Collection[Key]) -> dict[Key, Any]:
        """Watch each of ``keys`` (ids of ledgers, BOOKIES), and return what differs after a change."""
        ledgers = {key: self.ledgers.key(key) for key in keys if isinstance(key, int)}
        ranges: dict[Key, Range] = {ledger_id: (name, "") for ledger_id, name in ledgers.items()}
        if BOOKIES in keys:
            ranges[BOOKIES] = self.bookies.keys
        to_watch = iter(ranges.items())
        self.watches.watch(dict(islice(to_watch, WATCHES_AT_ONCE)))
        while more := dict(islice(to_watch, WATCHES_AT_ONCE)):
            # There may be very many after a lost connection.
            with self.client.until(self.client.deadline()):
                self.watches.watch(more)
        found = self.client.read_each(ledgers.values())
        stamps: dict[Key, Any] = {
            ledger_id: stored and stored.mod_revision for ledger_id, stored in zip(ledgers, found, strict=True)
        }
        if BOOKIES in keys:
            stamps[BOOKIES] = self.bookies.stamp()
        return stamps

    def close(self) -> None:
        """Fail what runs, end all connections and the thread of the watches."""
        self.watches.close()
        self.client.channel.close()
