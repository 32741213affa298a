"""The state of Java's autorecovery in ZooKeeper: who is the auditor, and whether ledgers lack replicas."""

import re

from kazoo import exceptions

from bookkeeper_tx.metadata.zookeeper.requests import Requests
from bookkeeper_tx.model import BookieId, Replication
from protocol_specs.metadata import layout as spec

_VOTE = re.compile(rb'bookieId:\s*"([^"]*)"')


class Underreplication:
    """What is below one root."""

    def __init__(self, requests: Requests, root: str) -> None:
        self._requests = requests
        self._folder = f"{root}/{spec.UNDERREPLICATION}"

    async def read(self) -> Replication:
        """Return the state; nothing is due where no auditor has ever been."""
        switched_off = spec.REPLICATION_DISABLED in await self._children(self._folder)
        is_due = await self._has_ledgers(f"{self._folder}/{spec.UNDERREPLICATED_LEDGERS}")
        return Replication(await self._auditor(), not switched_off, is_due)

    async def _auditor(self) -> BookieId | None:
        folder = f"{self._folder}/{spec.AUDITOR_ELECTION}"
        votes = await self._children(folder)
        if not votes:
            return None
        vote = await self._data(f"{folder}/{min(votes, key=_sequence)}")
        found = _VOTE.search(vote)
        return found[1].decode("utf-8", "replace") if found else None

    async def _has_ledgers(self, folder: str) -> bool:
        """Tell whether a ledger is marked; emptied folders are removed, so that the first one mostly tells."""
        for name in await self._children(folder):
            if name.startswith(spec.UNDERREPLICATED_PREFIX) or await self._has_ledgers(f"{folder}/{name}"):
                return True
        return False

    async def _children(self, folder: str) -> list[str]:
        try:
            return sorted(await self._requests.insist("get_children", folder))
        except exceptions.NoNodeError:
            return []

    async def _data(self, path: str) -> bytes:
        try:
            data, _ = await self._requests.insist("get", path)
        except exceptions.NoNodeError:  # the auditor has just gone
            return b""
        return bytes(data)


def _sequence(name: str) -> str:
    return name.rpartition("_")[2]
