"""Ledger metadata in ZooKeeper: a node per ledger."""

from collections.abc import Callable, Coroutine
from typing import Any

from kazoo import exceptions

from bookkeeper_tx.errors import LedgerExists, MetadataConflict, NoSuchLedger
from bookkeeper_tx.metadata.ledger_record.serialization import as_created, as_update, parse, serialize
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.metadata.zookeeper.requests import Requests, create_with_parents
from bookkeeper_tx.model import LedgerMetadata, Versioned, ledger_name
from protocol_specs.metadata import ledger as ledger_spec

_LISTED_AT_ONCE = 64
"""Ranges asked for together: each ledger with a random id (a UUID) has a range of its own, which takes a round trip."""

TURN_NAMES = 1000
"""Names that are read without letting others have their turn: some milliseconds, where a million takes seconds."""

_NEW_VERSION = 0
"""The version of a node that was just created."""


class ZooKeeperLedgers:
    """The ledgers of one cluster; ``tree()`` returns the layout of their nodes, once that of the cluster is known."""

    def __init__(self, requests: Requests, tree: Callable[[], LedgerTree], draw_token: Callable[[int], int]) -> None:
        self._requests = requests
        self._tree = tree
        self._draw_token = draw_token

    async def create(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        """Create a ledger.

        If the node exists already, an earlier request of this call, whose answer was lost, may have made it; the create
        token in the metadata shows that.
        """
        created = as_created(metadata, self._draw_token)
        path, record = self._tree().path(ledger_id), serialize(created)
        repeated = False
        while True:
            try:
                await create_with_parents(self._requests, path, record, self._tree().parents(path))
                return Versioned(created, _NEW_VERSION)
            except ConnectionLost:
                repeated = True
            except exceptions.NodeExistsError:
                stored = await self._read(ledger_id)
                if stored is not None and self._is_own(stored.metadata, created, repeated):
                    return stored
                raise LedgerExists(f"ledger {ledger_name(ledger_id)} exists already") from None

    @staticmethod
    def _is_own(stored: LedgerMetadata, created: LedgerMetadata, repeated: bool) -> bool:
        if created.format_version == ledger_spec.BINARY_PROTOBUF:
            return stored.create_token == created.create_token
        return repeated and stored == created

    async def read(self, ledger_id: int) -> Versioned:
        stored = await self._read(ledger_id)
        if stored is None:
            raise no_such(ledger_id)
        return stored

    async def read_latest(self, ledger_id: int) -> Versioned:
        """Read from a server that knows all that was written before this call."""
        stored: Versioned | None = await self._synced(lambda: self._read(ledger_id))
        if stored is None:
            raise no_such(ledger_id)
        return stored

    async def _read(self, ledger_id: int) -> Versioned | None:
        try:
            answer = await self._requests.insist("get", self._tree().path(ledger_id))
        except exceptions.NoNodeError:
            return None
        return versioned(ledger_id, answer)

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        """Compare and set.  After a lost answer, finding exactly these bytes in the next version means success."""
        updated = as_update(metadata)
        path, record = self._tree().path(ledger_id), serialize(updated)
        repeated = False
        while True:
            try:
                stat = await self._requests.once("set", path, record, version)
                return Versioned(updated, stat.version)
            except ConnectionLost:
                repeated = True
            except exceptions.NoNodeError:
                raise no_such(ledger_id) from None
            except exceptions.BadVersionError:
                if repeated and await self._holds(path, record, version + 1):
                    return Versioned(updated, version + 1)
                raise MetadataConflict(
                    f"metadata of ledger {ledger_name(ledger_id)} no longer has version {version}"
                ) from None

    async def _holds(self, path: str, record: bytes, version: int) -> bool:
        try:
            stored, stat = await self._requests.insist("get", path)
        except exceptions.NoNodeError:
            return False
        return bool(stored == record and stat.version == version)

    async def delete(self, ledger_id: int) -> None:
        """Delete a ledger and the range nodes above it that it leaves empty."""
        path = self._tree().path(ledger_id)
        repeated = False
        while True:
            try:
                await self._requests.once("delete", path)
                break
            except ConnectionLost:
                repeated = True
            except exceptions.NoNodeError:
                if repeated:
                    break
                raise no_such(ledger_id) from None
        for parent in self._tree().parents(path):
            try:
                await self._requests.insist("delete", parent)
            except exceptions.NotEmptyError:
                return
            except exceptions.NoNodeError:
                pass  # somebody else was faster; the one above may still be empty

    async def ids(self, scope_id: int | None) -> list[int]:
        """Return the ids of a scope, of all scopes for None, ascending.

        The time limit holds for each range, not for the whole: there may be any number of ledgers.
        """
        found: list[int] = await self._synced(lambda: self._ids_in_session(scope_id))
        return found

    async def _synced(self, read: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return what ``read()`` returns in a session whose server knows all that was written before.

        A new session may be on a server that is behind the one that was synced, so all begins anew with it.
        """
        while True:
            session_id = self._requests.session_id
            await self._requests.within(self._requests.insist("sync", self._tree().root))
            found = await read()
            if self._requests.session_id == session_id:
                return found

    async def _ids_in_session(self, scope_id: int | None) -> list[int]:
        tree = self._tree()
        found: list[int] = []
        branches = tree.branches(scope_id)
        while branches:
            # From the end (depth first), so that the waiting branches are those beside a few paths, not a whole level.
            some, branches = branches[-_LISTED_AT_ONCE:], branches[:-_LISTED_AT_ONCE]
            listed = await self._requests.children_of_each([branch.path for branch in some])
            read_count = 0
            for branch, names in zip(some, listed, strict=True):
                if not branch.holds_ledgers:
                    branches += [branch.child(name) for name in names if branch.form.is_range(name, branch.depth)]
                    continue
                in_branch: list[int] = []
                for first in range(0, len(names), TURN_NAMES):
                    if read_count >= TURN_NAMES:
                        await self._requests.turn()
                        read_count = 0
                    part = names[first : first + TURN_NAMES]
                    read_count += len(part)
                    in_branch += tree.ids_of(branch, part)
                found += sorted(in_branch)
        return sorted(found)  # fast, since it is made of parts that are sorted


def versioned(ledger_id: int, answer: tuple[bytes, Any]) -> Versioned:
    """Return a ledger's metadata in the answer to a ``get``; raises MetadataCorrupt."""
    record, stat = answer
    return Versioned(parse(record, ledger_id), stat.version)


def no_such(ledger_id: int) -> NoSuchLedger:
    """Return the error for a ledger that has no node."""
    return NoSuchLedger(f"there is no ledger {ledger_name(ledger_id)}")
