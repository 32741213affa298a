"""Bookies' cookies in ZooKeeper: a node for each bookie that was ever started."""

from kazoo import exceptions

from bookkeeper_tx.errors import MetadataConflict
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.requests import Requests, create_with_parents
from bookkeeper_tx.model import BookieId
from protocol_specs.metadata import layout as spec


class ZooKeeperCookies:
    """The cookies below one root."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._folder = f"{root}/{spec.COOKIES}"

    async def read(self, bookie_id: BookieId) -> tuple[bytes, int] | None:
        try:
            cookie, stat = await self._requests.insist("get", f"{self._folder}/{bookie_id}")
        except exceptions.NoNodeError:
            return None
        return cookie, stat.version

    async def bookie_ids(self) -> frozenset[BookieId]:
        """Return all bookies that have a cookie, running or not."""
        try:
            return frozenset(await self._requests.insist("get_children", self._folder))
        except exceptions.NoNodeError:
            return frozenset()

    async def write(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> int:
        """Create or compare and set.  After a lost answer, finding this very cookie means that it was written."""
        path = f"{self._folder}/{bookie_id}"
        expected = 0 if version is None else version + 1
        repeated = False
        while True:
            try:
                if version is None:
                    await create_with_parents(self._requests, path, cookie, [self._folder])
                else:
                    await self._requests.once("set", path, cookie, version)
                return expected
            except ConnectionLost:
                repeated = True
            except (exceptions.NodeExistsError, exceptions.BadVersionError, exceptions.NoNodeError):
                if repeated and await self.read(bookie_id) == (cookie, expected):
                    return expected
                raise _conflict(bookie_id, version) from None

    async def delete(self, bookie_id: BookieId, version: int) -> None:
        repeated = False
        while True:
            try:
                await self._requests.once("delete", f"{self._folder}/{bookie_id}", version)
                return
            except ConnectionLost:
                repeated = True
            except (exceptions.BadVersionError, exceptions.NoNodeError) as error:
                if repeated and isinstance(error, exceptions.NoNodeError):
                    return
                raise _conflict(bookie_id, version) from None


def _conflict(bookie_id: BookieId, version: int | None) -> MetadataConflict:
    expected = "no cookie" if version is None else f"version {version}"
    return MetadataConflict(f"the cookie of bookie {bookie_id} was changed by somebody else: expected was {expected}")
