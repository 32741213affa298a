"""A cluster's root in ZooKeeper: made once, and checked for a layout that is built here."""

import uuid
from collections.abc import Coroutine
from typing import Any

import construct
from kazoo import exceptions

from bookkeeper_tx.errors import InvalidConfig, MetadataConflict, MetadataCorrupt, MetadataError, MetadataUnavailable
from bookkeeper_tx.metadata.uri import LAYOUTS
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.paths import name_of_another_layout
from bookkeeper_tx.metadata.zookeeper.requests import Requests, ensure, refusal, said
from protocol_specs.metadata import layout as spec

_ATTEMPTS_MAX = 5
"""Attempts to make a cluster; each failed one means that somebody else was making it at the same moment."""


class ZooKeeperCluster:
    """The cluster at ``root``; ``wanted_layout`` None takes the layout that it has."""

    def __init__(self, requests: Requests, root: str, wanted_layout: str | None) -> None:
        self._requests = requests
        self._root = root
        self._wanted_layout = wanted_layout
        self.layouts: tuple[str, ...] = (wanted_layout,) if wanted_layout else LAYOUTS
        """The layouts that the cluster may have, the likely one first; only its own, once that is known."""
        self._is_known = False

    async def check(self) -> None:
        """Raise MetadataUnavailable if there is no cluster yet, InvalidConfig if its layout is not the wanted one.

        A cluster without LAYOUT is taken for one of the wanted layout, or the hierarchical one; never for good, since
        somebody may be making LAYOUT.
        """
        if self._is_known:
            return
        record = await self._get(spec.LAYOUT)
        if record is not None:
            self.layouts = (self._checked_layout(record),)
            self._is_known = True
        elif await self._requests.insist("exists", f"{self._root}/{spec.AVAILABLE}") is None:
            raise MetadataUnavailable(
                f"there is no cluster at {self._root} in ZooKeeper at {self._requests.hosts}: "
                "make one with `bktx cluster init`"
            )

    async def check_layout(self) -> None:
        """As :meth:`check`, and raise MetadataError without LAYOUT: who lists ledgers may delete what is not listed."""
        await self.check()
        if not self._is_known:
            raise MetadataError(
                f"{self._root}/{spec.LAYOUT} is missing in ZooKeeper at {self._requests.hosts}, so nobody can tell "
                "where the cluster's ledgers are; `bktx cluster init` with the layout in the metadata URI writes it"
            )

    async def checked(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do ``work`` after :meth:`check`."""
        try:
            await self.check()
        except BaseException:
            work.close()
            raise
        return await work

    async def check_if_there(self) -> None:
        """As :meth:`check`, but without an error if there is no cluster."""
        try:
            await self.check()
        except MetadataUnavailable:
            pass

    async def initialize(self) -> bool:
        """Make the missing nodes of a cluster, in one transaction; return whether a new cluster was made.

        Only a new cluster gets an instance id: in an old one without it, the cookies have no instance id either.
        """
        parts = self._root.split("/")[1:]
        for depth in range(1, len(parts)):
            path = "/" + "/".join(parts[:depth])
            # Where the nodes above are others', not even a create that finds the node there may be tried.
            if await self._requests.insist("exists", path) is None:
                await ensure(self._requests, path)
        instance_id = str(uuid.uuid4()).encode("ascii")
        for _ in range(_ATTEMPTS_MAX):
            await self.check_if_there()
            missing, is_new = await self._missing(instance_id)
            try:
                results = await self._requests.commit(missing) if missing else []
            except ConnectionLost:
                await self._requests.insist("sync", self._root)
                if await self._get(spec.INSTANCE_ID) == instance_id:
                    return True
                continue
            failed = refusal(results)
            if failed is None:
                return is_new
            if not isinstance(failed[1], exceptions.NodeExistsError | exceptions.NoNodeError):
                raise said(self._requests, missing[failed[0]][0], failed[1])
        raise MetadataConflict(f"others kept changing {self._root} while a cluster was being made there")

    async def instance_id(self) -> str | None:
        record = await self._get(spec.INSTANCE_ID)
        return None if record is None else record.decode("ascii", "replace")

    async def _missing(self, instance_id: bytes) -> tuple[list[tuple[str, bytes]], bool]:
        layout = spec.LAYOUT_RECORD.build(
            {"factory_class": spec.FACTORY_CLASS_OF[self.layouts[0]], "manager_version": spec.MANAGER_VERSION}
        )
        nodes = {
            self._root: b"",
            f"{self._root}/{spec.AVAILABLE}": b"",
            f"{self._root}/{spec.AVAILABLE}/{spec.READ_ONLY}": b"",
            f"{self._root}/{spec.INSTANCE_ID}": instance_id,
            f"{self._root}/{spec.LAYOUT}": layout,
        }
        there = {path for path in nodes if await self._requests.insist("exists", path) is not None}
        is_new = there <= {self._root}
        if not is_new:
            there.add(f"{self._root}/{spec.INSTANCE_ID}")
            if f"{self._root}/{spec.LAYOUT}" not in there:
                await self._check_ledgers()
        return [(path, data) for path, data in nodes.items() if path not in there], is_new

    async def _check_ledgers(self) -> None:
        """Raise InvalidConfig if an old cluster has ledgers which the layout that it is about to get would not find."""
        layout, names = self.layouts[0], await self._requests.insist("get_children", self._root)
        found = name_of_another_layout(layout, names)
        if found is not None:
            raise InvalidConfig(
                f"the cluster at {self._root} in ZooKeeper at {self._requests.hosts} has no {spec.LAYOUT}, and {found} "
                f"there is not of the layout {layout!r}; name the cluster's layout in the metadata URI"
            )

    async def _get(self, name: str) -> bytes | None:
        try:
            record, _ = await self._requests.insist("get", f"{self._root}/{name}")
        except exceptions.NoNodeError:
            return None
        return bytes(record)

    def _checked_layout(self, record: bytes) -> str:
        try:
            parts = spec.LAYOUT_RECORD.parse(record)
        except construct.ConstructError as error:
            raise MetadataCorrupt(f"{self._root}/{spec.LAYOUT} is {record[:80]!r}: {error}") from error
        names = {factory: name for name, factory in spec.FACTORY_CLASS_OF.items()}
        name: str = names.get(parts.factory_class, parts.factory_class.decode("ascii", "replace"))
        where = f"the cluster at {self._root} in ZooKeeper at {self._requests.hosts}"
        if self._wanted_layout is not None and name != self._wanted_layout:
            raise InvalidConfig(f"{where} has the layout {name!r}, the metadata URI asks for {self._wanted_layout!r}")
        if name not in LAYOUTS:
            raise InvalidConfig(f"{where} has the layout {name!r}, which is not built; {', '.join(LAYOUTS)} are")
        if parts.manager_version != spec.MANAGER_VERSION:
            raise InvalidConfig(f"{where} has version {parts.manager_version!r} of its layout, which is not known")
        return name
