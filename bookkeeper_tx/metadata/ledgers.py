"""Ledger metadata in ZooKeeper: a node per ledger, in the hierarchical layout."""

from collections.abc import Callable
from typing import Any

from kazoo import exceptions
from twisted.internet.defer import Deferred

from bookkeeper_tx.errors import LedgerExists, MetadataConflict, NoSuchLedger
from bookkeeper_tx.metadata import zookeeper_paths as paths
from bookkeeper_tx.metadata.kazoo_session import ConnectionLost
from bookkeeper_tx.metadata.ledger_serialization import as_created, as_update, parse, serialize
from bookkeeper_tx.metadata.zookeeper_requests import Requests, create_with_parents
from bookkeeper_tx.model import LedgerMetadata, Versioned
from protocol_specs.metadata import layout as spec
from protocol_specs.metadata import ledger as ledger_spec

_NEW_VERSION = 0
"""The version of a node that was just created."""


class ZooKeeperLedgers:
    """The ledgers below one root."""

    def __init__(self, requests: Requests, root: str, draw_token: Callable[[int], int]) -> None:
        self._requests = requests
        self._root = root
        self._draw_token = draw_token

    async def create(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        """Create a ledger.  That the node exists does not mean that somebody else made it: a request whose answer was
        lost may have; the token in the metadata tells.
        """
        created = as_created(metadata, self._draw_token)
        path, record = paths.ledger_path(self._root, ledger_id), serialize(created)
        repeated = False
        while True:
            try:
                await create_with_parents(self._requests, path, record, paths.parents(path, self._root))
                return Versioned(created, _NEW_VERSION)
            except ConnectionLost:
                repeated = True
            except exceptions.NodeExistsError:
                stored = await self._read(ledger_id)
                if stored is not None and self._is_own(stored.metadata, created, repeated):
                    return stored
                raise LedgerExists(f"ledger {ledger_id} exists already") from None

    @staticmethod
    def _is_own(stored: LedgerMetadata, created: LedgerMetadata, repeated: bool) -> bool:
        if created.format_version == ledger_spec.BINARY_PROTOBUF:
            return stored.create_token == created.create_token
        return repeated and stored == created

    async def read(self, ledger_id: int) -> Versioned:
        stored = await self._read(ledger_id)
        if stored is None:
            raise _no_such(ledger_id)
        return stored

    async def _read(self, ledger_id: int) -> Versioned | None:
        try:
            record, stat = await self._requests.insist("get", paths.ledger_path(self._root, ledger_id))
        except exceptions.NoNodeError:
            return None
        return Versioned(parse(record, ledger_id), stat.version)

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        """Compare and set.  After a lost answer, finding these very bytes in the next version means that it was set."""
        updated = as_update(metadata)
        path, record = paths.ledger_path(self._root, ledger_id), serialize(updated)
        repeated = False
        while True:
            try:
                stat = await self._requests.once("set", path, record, version)
                return Versioned(updated, stat.version)
            except ConnectionLost:
                repeated = True
            except exceptions.NoNodeError:
                raise _no_such(ledger_id) from None
            except exceptions.BadVersionError:
                if repeated and await self._holds(path, record, version + 1):
                    return Versioned(updated, version + 1)
                raise MetadataConflict(f"metadata of ledger {ledger_id} no longer has version {version}") from None

    async def _holds(self, path: str, record: bytes, version: int) -> bool:
        try:
            stored, stat = await self._requests.insist("get", path)
        except exceptions.NoNodeError:
            return False
        return bool(stored == record and stat.version == version)

    async def delete(self, ledger_id: int) -> None:
        """Delete a ledger and, upwards, the range nodes that it leaves empty."""
        path = paths.ledger_path(self._root, ledger_id)
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
                raise _no_such(ledger_id) from None
        for parent in paths.parents(path, self._root):
            try:
                await self._requests.insist("delete", parent)
            except exceptions.NotEmptyError:
                return
            except exceptions.NoNodeError:
                pass  # somebody else was faster; the one above may still be empty

    async def all_ids(self) -> list[int]:
        """Return all ids, ascending: the short form's ranges come first, and ranges ascend like their names.

        As many ledgers as there may be: the time limit holds for each range, not for the whole.
        """
        await self._within_limit("sync", self._root)
        names = sorted(await self._children(self._root))
        found: list[int] = []
        for long in (False, True):
            for name in names:
                if paths.is_range(name, 0, long):
                    found += await self._list_range(f"{self._root}/{name}", 1, long)
        return found

    async def _list_range(self, path: str, depth: int, long: bool) -> list[int]:
        children = sorted(await self._children(path))
        if depth + 1 == len(spec.LONG_GROUPS if long else spec.SHORT_GROUPS):
            ids = (paths.ledger_id_of(self._root, f"{path}/{name}") for name in children)
            return [ledger_id for ledger_id in ids if ledger_id is not None]
        found: list[int] = []
        for name in children:
            if paths.is_range(name, depth, long):
                found += await self._list_range(f"{path}/{name}", depth + 1, long)
        return found

    async def _children(self, path: str) -> list[str]:
        try:
            children: list[str] = await self._within_limit("get_children", path)
        except exceptions.NoNodeError:
            return []  # deleted in the meantime
        return children

    def _within_limit(self, name: str, path: str) -> Deferred[Any]:
        return self._requests.within(self._requests.insist(name, path))


def _no_such(ledger_id: int) -> NoSuchLedger:
    return NoSuchLedger(f"there is no ledger {ledger_id}")
