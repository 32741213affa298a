"""The registered bookies in ZooKeeper and their service info: a view of all, whichever process made the nodes."""

from typing import Any

from kazoo import exceptions

from bookkeeper_tx.errors import BookieUnavailable
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.zookeeper.requests import Requests
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from protocol_specs.metadata import layout as spec


class RegisteredBookies:
    """The registrations below one root."""

    def __init__(self, requests: Requests, root: str) -> None:
        self.writable_folder = f"{root}/{spec.AVAILABLE}"
        self.read_only_folder = f"{root}/{spec.AVAILABLE}/{spec.READ_ONLY}"
        self._requests = requests

    def paths(self, bookie_id: BookieId, read_only: bool) -> tuple[str, str]:
        """Return the path of a bookie's node, and the path that it has in the other state, writable or read-only."""
        folders = (self.writable_folder, self.read_only_folder)
        first, second = reversed(folders) if read_only else folders
        return f"{first}/{bookie_id}", f"{second}/{bookie_id}"

    async def writable(self, watch: Any = None) -> frozenset[BookieId]:
        """Return the ids; ``watch`` is called with the next event."""
        return await self._children(self.writable_folder, watch) - {spec.READ_ONLY}

    async def read_only(self) -> frozenset[BookieId]:
        return await self._children(self.read_only_folder)

    async def _children(self, folder: str, watch: Any = None) -> frozenset[BookieId]:
        try:
            return frozenset(await self._requests.insist("get_children", folder, watch=watch))
        except exceptions.NoNodeError:
            return frozenset()

    async def info(self, bookie_id: BookieId) -> BookieServiceInfo:
        """Return the bookie's service info; raises BookieUnavailable if it is not registered."""
        for path in self.paths(bookie_id, False):
            try:
                data, _ = await self._requests.insist("get", path)
            except exceptions.NoNodeError:
                continue
            return service_info.parse(data, bookie_id)
        raise BookieUnavailable(f"bookie {bookie_id} is not registered")
