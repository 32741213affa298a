"""The locks of re-replication in ZooKeeper, which Java's workers take while they make new copies of a ledger.

A cluster in which no auto-recovery has ever run has no folder of locks; then there is nobody to lock out.
"""

from kazoo import exceptions

from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.requests import Requests
from bookkeeper_tx.model import BookieId
from protocol_specs.metadata import layout as spec


class ReplicationLocks:
    """The locks below one root; those that are held end with the session."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._held: dict[int, int | None] = {}
        """The ledgers whose locks are nodes of ours, and the sessions that the nodes are of."""
        self._folder = f"{root}/{spec.UNDER_REPLICATION}/{spec.REPLICATION_LOCKS}"

    async def lock(self, ledger_id: int, bookie_id: BookieId) -> bool:
        """Take the lock of a ledger; return whether nobody else has it."""
        path, owner = self._path(ledger_id), f'bookieId: "{bookie_id}"\n'.encode()
        repeated = False
        while True:
            try:
                await self._requests.once("create", path, owner, ephemeral=True)
            except ConnectionLost:
                repeated = True
                continue
            except exceptions.NoNodeError:
                return True
            except exceptions.NodeExistsError:
                if not repeated or not await self._is_owner(path, owner):
                    return False
            stat = await self._requests.insist("exists", path)
            if stat is not None and stat.ephemeralOwner == self._requests.session_id:
                self._held[ledger_id] = stat.ephemeralOwner
                return True
            # The session has ended since, and the node with it.

    async def unlock(self, ledger_id: int) -> None:
        """Give back a lock; one whose session has ended may be somebody else's by now."""
        if ledger_id not in self._held or self._held.pop(ledger_id) != self._requests.session_id:
            return
        try:
            await self._requests.insist("delete", self._path(ledger_id))
        except exceptions.NoNodeError:
            pass  # an earlier request whose answer was lost has deleted it, or the session has ended

    async def _is_owner(self, path: str, owner: bytes) -> bool:
        try:
            found, _ = await self._requests.insist("get", path)
        except exceptions.NoNodeError:
            return False
        return bool(found == owner)

    def _path(self, ledger_id: int) -> str:
        return f"{self._folder}/{spec.REPLICATION_LOCK_PREFIX}{ledger_id:010d}"
