"""A program that lists a million ledgers out of a ZooKeeper that makes names up, and prints how many MiB that took.

python -m tests.metadata.zookeeper.listing_many flat
"""

import sys
from typing import Any

from attrs import define
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import react

from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL, LONG_HIERARCHICAL
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore
from protocol_specs.metadata.layout import FACTORY_CLASS_OF
from tests.memory import memory_peak_mib

COUNT = 1_000_000
ROOT = "/ledgers"
GROUPS = {HIERARCHICAL: (2, 4, 4), LONG_HIERARCHICAL: (3, 4, 4, 4, 4), FLAT: (10,)}


@define
class Session:
    """A session on a cluster with ledgers 0 to COUNT - 1."""

    layout: str
    hosts: str = "none:1"
    session_id: int = 1
    connected_again: Any = None

    def start(self) -> Deferred[None]:
        return succeed(None)

    def stop(self) -> Deferred[None]:
        return succeed(None)

    def submit(self, name: str, path: str, **_: Any) -> Deferred[Any]:
        if name == "get":
            return succeed((f"2\n{FACTORY_CLASS_OF[self.layout].decode()}:1".encode(), None))
        return succeed(self.children(path) if name == "get_children" else path)

    def children(self, path: str) -> list[str]:
        groups = GROUPS[self.layout]
        above = path.removeprefix(ROOT).split("/")[1:]
        if any(not name.isdecimal() or len(name) != size for name, size in zip(above, groups, strict=False)):
            return []
        size, below = groups[len(above)], sum(groups[len(above) + 1 :])
        first = int("".join(above) or "0") * 10 ** (size + below)
        count = min(10**size, -(-(COUNT - first) // 10**below))
        prefix = "" if below else "L"
        others = [] if above else ["available", "LAYOUT", "idgen", "ID-0000000001"]
        return others + [f"{prefix}{number:0{size}d}" for number in range(count)]


async def main(reactor: Any, layout: str) -> None:
    uri = ZooKeeperUri(("none:1",), ROOT, layout)
    store = ZooKeeperMetadataStore(uri, reactor, make_session=lambda *_: Session(layout))
    await store.start()
    listed = await store.list_ledgers()
    assert listed == list(range(COUNT))
    print(memory_peak_mib())


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor, sys.argv[1])))
