"""Bookies' cookies in etcd: a key for each bookie that was ever started."""

from bookkeeper_tx.errors import MetadataConflict
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.model import BookieId
from protocol_specs.metadata import etcd_layout as spec


class EtcdCookies:
    """The cookies of the cluster at one scope."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        self._client = client
        self._folder = f"{scope}/{spec.COOKIES}"

    def read(self, bookie_id: BookieId) -> tuple[bytes, int] | None:
        found = self._client.read(f"{self._folder}/{bookie_id}")
        return None if found is None else (found.value, found.version)

    def bookie_ids(self) -> frozenset[BookieId]:
        """Return all bookies that have a cookie, running or not."""
        return frozenset(self._client.names(self._folder))

    def write(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> int:
        """Create (version None) or compare and set; return the new version."""
        if not self._client.write(f"{self._folder}/{bookie_id}", cookie, version).done:
            raise _conflict(bookie_id, version)
        return 0 if version is None else version + 1

    def delete(self, bookie_id: BookieId, version: int) -> None:
        if not self._client.delete(f"{self._folder}/{bookie_id}", version).done:
            raise _conflict(bookie_id, version)


def _conflict(bookie_id: BookieId, version: int | None) -> MetadataConflict:
    expected = "no cookie" if version is None else f"version {version}"
    return MetadataConflict(f"the cookie of bookie {bookie_id} was changed by somebody else: expected was {expected}")
