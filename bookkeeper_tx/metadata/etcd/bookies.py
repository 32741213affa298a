"""The registered bookies in etcd: a key each, writable or read-only, under the lease of its process."""

from typing import Any

from bookkeeper_tx.errors import BookieUnavailable
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, LeaseLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient, is_unchanged, put, remove
from bookkeeper_tx.metadata.etcd.lease import EtcdLease
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from protocol_specs.metadata import etcd_layout as spec


class HeldByOther(Exception):
    """The key of a bookie is somebody else's: of the process that ran before, whose lease ends in a while."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class EtcdBookies:
    """The bookies of the cluster at one scope."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        self._client = client
        folder = f"{scope}/{spec.BOOKIES}"
        self.keys = (f"{folder}/", folder + spec.END)
        """The first key of all bookies, and the end."""
        self._writable = f"{scope}/{spec.WRITABLE}"
        self._read_only = f"{scope}/{spec.READ_ONLY}"

    def writable(self) -> frozenset[BookieId]:
        return frozenset(self._client.names(self._writable))

    def read_only(self) -> frozenset[BookieId]:
        return frozenset(self._client.names(self._read_only))

    def info(self, bookie_id: BookieId) -> BookieServiceInfo:
        """Return the bookie's service info; raises BookieUnavailable if it is not registered."""
        # Together: it may go from one key to the other at any time.
        for found in self._client.read_together(self._keys(bookie_id, False)):
            if found is not None:
                return service_info.parse(found.value, bookie_id)
        raise BookieUnavailable(f"bookie {bookie_id} is not registered")

    def stamp(self) -> Any:
        """Return what differs after each change of who is registered, or with what."""
        pairs = self._client.between(*self.keys)
        return tuple((pair.key, pair.mod_revision) for pair in pairs)

    def take(self, bookie_id: BookieId, info: BookieServiceInfo, read_only: bool, lease: EtcdLease) -> int:
        """Register a bookie under ``lease``, or change its registration.

        Returns the id that the lease had, which may have ended when the caller hears of it; raises HeldByOther.
        """
        data = service_info.serialize(info)
        key, other = self._keys(bookie_id, read_only)
        while True:
            lease_id = lease.id()
            found = {each: self._client.read(each) for each in (key, other)}
            for each, stored in found.items():
                if stored is not None and stored.lease != lease_id:
                    raise HeldByOther(each)
            conditions = [is_unchanged(each, stored) for each, stored in found.items()]
            try:
                if self._client.transact(conditions, [put(key, data, lease_id), remove(other)]).succeeded:
                    return lease_id
            except ConnectionLost:
                continue  # if it was done, the keys are ours now
            except LeaseLost:
                lease.forget()

    def give_up(self, bookie_id: BookieId, lease: EtcdLease) -> None:
        """Remove the registration, if it is one under ``lease``."""
        for key in self._keys(bookie_id, False):
            lease.give_back(key)

    def _keys(self, bookie_id: BookieId, read_only: bool) -> tuple[str, str]:
        """Return the key of a bookie, and the key that it has in the other state, writable or read-only."""
        folders = (self._writable, self._read_only)
        first, second = reversed(folders) if read_only else folders
        return f"{first}/{bookie_id}", f"{second}/{bookie_id}"
