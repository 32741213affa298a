"""New ledger ids out of ZooKeeper's sequential nodes, shared with every other client of the cluster.

Each parent numbers its sequential nodes, with ten digits.  31-bit ids come from one parent.  When it has run out,
64-bit ids come from parents that hold the upper half, from then on for ever, as in Java's ``LongZkLedgerIdGenerator``.
In the flat layout that one parent is the cluster's root, which numbers its ledgers and other children with them, so ids
have gaps; when they have run out, no more follow.
"""

from collections.abc import Callable

from kazoo import exceptions
from kazoo.security import OPEN_ACL_UNSAFE

from bookkeeper_tx.errors import MetadataError
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, LedgerTree
from bookkeeper_tx.metadata.zookeeper.requests import Requests, create_with_parents
from protocol_specs.metadata import layout as spec

_LOW_BITS = 32


class LedgerIds:
    """The id generator below one root; ``tree()`` returns the layout of the cluster, once it is known."""

    def __init__(self, requests: Requests, root: str, tree: Callable[[], LedgerTree]) -> None:
        self._requests = requests
        self._root = root
        self._tree = tree
        self._short = f"{root}/{spec.ID_GENERATOR}"
        self._long = f"{root}/{spec.LONG_ID_GENERATOR}"

    async def new(self) -> int:
        """Return an id that was never given before.  With a lost answer an id is lost, too; there are enough.

        Raises MetadataError if a flat cluster has no more.
        """
        if self._tree().layout == FLAT:
            return await self._new_flat()
        if await self._requests.insist("exists", self._long) is None:
            ledger_id = await self._next(self._short, [self._short])
            if ledger_id is not None:
                return ledger_id
        return await self._new_long()

    async def _new_flat(self) -> int:
        ledger_id = await self._next(self._root, [])
        if ledger_id is None:
            raise MetadataError(
                f"the cluster at {self._root} in ZooKeeper at {self._requests.hosts} has no more ledger ids: the flat "
                f"layout has those below {spec.ID_31_BIT_END}; choose ids yourself, or make a cluster of another layout"
            )
        return ledger_id

    async def _new_long(self) -> int:
        while True:
            high = max(await self._high_bits(), default=0)
            if high:
                parent = self._high_bits_path(high)
                low = await self._next(parent, [parent, self._long])
                if low is not None:
                    await self._forget_old(high)
                    return high << _LOW_BITS | low
            await self._add_high_bits(high + 1)

    async def _next(self, parent: str, parents: list[str]) -> int | None:
        """Return the next number of ``parent``, None if it has run out."""
        while True:
            try:
                prefix = f"{parent}/{spec.ID_PREFIX}"
                path = await create_with_parents(self._requests, prefix, b"", parents, ephemeral=True, sequence=True)
                break
            except ConnectionLost:
                continue  # a node that may have been made goes with the session
        try:
            await self._requests.once("delete", path)
        except (ConnectionLost, exceptions.NoNodeError):
            pass
        number = int(path[len(prefix) :])  # negative after an overflow
        return number if 0 <= number < spec.ID_31_BIT_END else None

    async def _high_bits(self) -> list[int]:
        try:
            names = await self._requests.insist("get_children", self._long)
        except exceptions.NoNodeError:
            return []
        digits = [name.removeprefix(spec.HIGH_BITS_PREFIX) for name in names if name.startswith(spec.HIGH_BITS_PREFIX)]
        return sorted(int(each) for each in digits if each.isdecimal())

    async def _add_high_bits(self, high: int) -> None:
        for path in (self._long, self._high_bits_path(high)):
            try:
                await self._requests.once("create", path, b"", acl=OPEN_ACL_UNSAFE)  # as Java makes these two, always
            except (exceptions.NodeExistsError, exceptions.NoNodeError, ConnectionLost):
                pass  # the caller reads the list of these nodes again

    async def _forget_old(self, newest: int) -> None:
        """Delete all but the newest nodes; a node that another client still uses is not empty, and stays."""
        if newest <= spec.HIGH_BITS_KEPT:
            return
        for high in await self._high_bits():
            if high <= newest - spec.HIGH_BITS_KEPT:
                try:
                    await self._requests.once("delete", self._high_bits_path(high))
                except (ConnectionLost, exceptions.NoNodeError, exceptions.NotEmptyError):
                    pass

    def _high_bits_path(self, high: int) -> str:
        return f"{self._long}/{spec.HIGH_BITS_PREFIX}{high:010d}"
