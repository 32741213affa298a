"""Named records in ZooKeeper: a node each, below one folder.

A node without data is no record, but a parent of records.  Parents are made as needed, and go with their last record.
"""

from kazoo import exceptions

from bookkeeper_tx.metadata.documents import DocumentPath, decoded, encoded
from bookkeeper_tx.metadata.named_records import NEW_VERSION, changed_by_others, check_path, check_record
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.requests import Requests, create_with_parents
from protocol_specs.metadata import layout as spec


class ZooKeeperNamedRecords:
    """The named records of the cluster below one root."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._folder = f"{root}/{spec.NAMED_RECORDS}"

    async def read(self, path: DocumentPath) -> tuple[bytes, int] | None:
        """Return the bytes of a record and its version, None if there is none."""
        check_path(path)
        try:
            data, stat = await self._requests.insist("get", self._nodes(path)[0])
        except exceptions.NoNodeError:
            return None
        return (data, stat.version) if data else None

    async def write(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        """Create (version None) or compare and set; return the new version.  Raises MetadataConflict.

        After a lost answer, finding these very bytes in the next version means that they were written by this call.
        """
        check_record(path, data)
        node, *parents = self._nodes(path)
        after = NEW_VERSION if version is None else version + 1
        repeated = False
        while True:
            try:
                if version is None:
                    await create_with_parents(self._requests, node, data, parents)
                else:
                    await self._requests.once("set", node, data, version)
                return after
            except ConnectionLost:
                repeated = True
            except (exceptions.NodeExistsError, exceptions.BadVersionError, exceptions.NoNodeError):
                if repeated and await self.read(path) == (data, after):
                    return after
                raise changed_by_others(path, version) from None

    async def delete(self, path: DocumentPath, version: int) -> None:
        """Delete a record that has ``version``, and those of its parents that it leaves empty.

        Raises MetadataConflict.
        """
        check_path(path)
        node, *parents = self._nodes(path)
        repeated = False
        while True:
            try:
                await self._requests.once("delete", node, version)
                break
            except ConnectionLost:
                repeated = True
            except (exceptions.BadVersionError, exceptions.NoNodeError, exceptions.NotEmptyError) as error:
                if repeated and isinstance(error, exceptions.NoNodeError):
                    break
                raise changed_by_others(path, version) from None
        for parent in parents:
            try:
                await self._requests.insist("delete", parent)
            except exceptions.NotEmptyError:
                return
            except exceptions.NoNodeError:
                pass  # somebody else was faster; the one above may still be empty

    async def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all records below ``path``, sorted."""
        node = self._nodes(path)[0]
        await self._requests.insist("sync", node)
        try:
            names: list[str] = await self._requests.insist("get_children", node)
        except exceptions.NoNodeError:
            return []
        return sorted(map(decoded, names))

    def _nodes(self, path: DocumentPath) -> list[str]:
        """Return the node of a record, its parents, and the folder of all, nearest first."""
        names = encoded(path)
        return ["/".join([self._folder, *names[:count]]) for count in range(len(names), -1, -1)]
