"""The locks of re-replication in ZooKeeper, which Java's workers take while they make new copies of a ledger.

A cluster in which no auto-recovery has ever run has no folder of locks; then there is nobody to lock out.
"""

from kazoo import exceptions

from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.requests import Requests, delete_own, looked_at
from bookkeeper_tx.model import BookieId
from protocol_specs.metadata import layout as spec


class ReplicationLocks:
    """The locks below one root; those that are held end with the session."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._held: set[int] = set()
        """The ledgers whose locks were taken here; they may have ended with their session."""
        self.unwanted: set[int] = set()
        """The ledgers whose locks may be nodes of ours, and are to be given back."""
        self._folder = f"{root}/{spec.UNDER_REPLICATION}/{spec.REPLICATION_LOCKS}"

    async def lock(self, ledger_id: int, bookie_id: BookieId) -> bool:
        """Take the lock of a ledger; return whether nobody else has it."""
        await self.give_back()
        path, owner = self._path(ledger_id), f'bookieId: "{bookie_id}"\n'.encode()
        try:
            return await self._lock(ledger_id, path, owner)
        except BaseException:  # also a time-out: it may have been taken
            self.unwanted.add(ledger_id)
            raise

    async def _lock(self, ledger_id: int, path: str, owner: bytes) -> bool:
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
            stat, session_id = await looked_at(self._requests, path)
            if stat is not None and stat.ephemeralOwner == session_id:
                self._held.add(ledger_id)
                return True
            # The session has ended since, and the node with it.

    async def unlock(self, ledger_id: int) -> None:
        """Give back a lock; one whose session has ended may be somebody else's by now."""
        if ledger_id in self._held:
            self._held.discard(ledger_id)
            self.unwanted.add(ledger_id)
        await self.give_back()

    async def give_back(self) -> None:
        """Give back all locks that are not wanted any more, also those of earlier calls that have failed."""
        while self.unwanted:
            ledger_id = self.unwanted.pop()
            try:
                await delete_own(self._requests, self._path(ledger_id))
            except BaseException:
                self.unwanted.add(ledger_id)
                raise

    async def _is_owner(self, path: str, owner: bytes) -> bool:
        try:
            found, _ = await self._requests.insist("get", path)
        except exceptions.NoNodeError:
            return False
        return bool(found == owner)

    def _path(self, ledger_id: int) -> str:
        return f"{self._folder}/{spec.REPLICATION_LOCK_PREFIX}{ledger_id:010d}"
