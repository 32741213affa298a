"""Documents in ZooKeeper: a node each, below one folder.

A node without data is no document, but a parent of documents.  Such nodes are made with the first document below them,
and deleted with the last.
"""

from kazoo import exceptions

from bookkeeper_tx.metadata.documents import DocumentPath, check_document, decoded, encoded
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.requests import Requests, create_with_parents
from protocol_specs.metadata import layout as spec

_NO_DOCUMENT = b""


class ZooKeeperDocuments:
    """The documents of the cluster below one root."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._folder = f"{root}/{spec.DOCUMENTS}"

    async def create(self, path: DocumentPath, data: bytes) -> bool:
        """Create a document; returns False if there is one.

        After a lost answer, finding these very bytes means that they were written by this call.
        """
        check_document(path, data)
        node, *parents = self._nodes(path)
        repeated = False
        while True:
            try:
                await create_with_parents(self._requests, node, data, [*parents, self._folder])
                return True
            except ConnectionLost:
                repeated = True
                continue
            except exceptions.NodeExistsError:
                pass
            stored, version = await self._get(node)
            if stored:
                return repeated and stored == data
            if stored == _NO_DOCUMENT:
                try:
                    await self._requests.once("set", node, data, version)
                    return True
                except ConnectionLost:
                    repeated = True
                except (exceptions.BadVersionError, exceptions.NoNodeError):
                    pass  # somebody else was faster

    async def read(self, path: DocumentPath) -> bytes | None:
        """Return the bytes of a document, None if there is none."""
        nodes = self._nodes(path)
        return (await self._get(nodes[0]))[0] or None if nodes else None

    async def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all documents below ``path``, sorted, perhaps with one that is just being made."""
        node = (self._nodes(path) or [self._folder])[0]
        await self._requests.insist("sync", node)
        try:
            names: list[str] = await self._requests.insist("get_children", node)
        except exceptions.NoNodeError:
            return []
        return sorted(map(decoded, names))

    async def delete(self, path: DocumentPath) -> None:
        """Delete a document, if there is one, and those of its ancestors that it leaves empty."""
        nodes = self._nodes(path)
        for node in nodes:
            data, version = await self._get(node)
            if data is None:
                continue
            if data and node is not nodes[0]:
                return
            try:
                await self._requests.insist("delete", node, version)
            except exceptions.NotEmptyError:
                if data:
                    await self._requests.insist("set", node, _NO_DOCUMENT)
                return
            except exceptions.BadVersionError:
                return  # a document was made there meanwhile
            except exceptions.NoNodeError:
                continue

    async def _get(self, node: str) -> tuple[bytes | None, int]:
        try:
            data, stat = await self._requests.insist("get", node)
        except exceptions.NoNodeError:
            return None, 0
        return data, stat.version

    def _nodes(self, path: DocumentPath) -> list[str]:
        """Return the node of a document and its ancestors, nearest first."""
        names = encoded(path)
        return ["/".join([self._folder, *names[:count]]) for count in range(len(names), 0, -1)]
