"""A program that lists a million ledgers out of a ZooKeeper that makes names up, and prints how many MiB that took.

python -m tests.metadata.zookeeper.listing_many flat
"""

import sys
from typing import Any

from attrs import define
from kazoo import exceptions
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import react

from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore
from tests.memory import memory_peak_mib

COUNT = 1_000_000
ROOT = "/ledgers"
GROUPS = {HIERARCHICAL: (2, 4, 4), FLAT: (10,)}


@define
class Session:
    """A session on a cluster with ledgers 0 to COUNT - 1; it has no LAYOUT."""

    groups: tuple[int, ...]
    hosts: str = "none:1"
    session_id: int = 1
    connected_again: Any = None

    def start(self) -> Deferred[None]:
        return succeed(None)

    def stop(self) -> Deferred[None]:
        return succeed(None)

    def submit(self, name: str, path: str, **_: Any) -> Deferred[Any]:
        if name == "get":
            return fail(exceptions.NoNodeError())
        return succeed(self.children(path) if name == "get_children" else path)

    def children(self, path: str) -> list[str]:
        above = path.removeprefix(ROOT).split("/")[1:]
        if any(not name.isdecimal() or len(name) != size for name, size in zip(above, self.groups, strict=False)):
            return []
        size, below = self.groups[len(above)], sum(self.groups[len(above) + 1 :])
        first = int("".join(above) or "0") * 10 ** (size + below)
        count = min(10**size, -(-(COUNT - first) // 10**below))
        prefix = "" if below else "L"
        others = [] if above else ["available", "LAYOUT", "idgen", "ID-0000000001"]
        return others + [f"{prefix}{number:0{size}d}" for number in range(count)]


async def main(reactor: Any, layout: str) -> None:
    uri = ZooKeeperUri(("none:1",), ROOT, layout)
    store = ZooKeeperMetadataStore(uri, reactor, make_session=lambda *_: Session(GROUPS[layout]))
    await store.start()
    listed = await store.list_ledgers()
    assert listed == list(range(COUNT))
    print(memory_peak_mib())


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor, sys.argv[1])))
