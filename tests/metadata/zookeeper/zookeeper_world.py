"""A ZooKeeper in memory with stores on it, and a clock in the test's hand."""

from typing import Any

from twisted.internet.task import Clock

from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper.paths import HIERARCHICAL, LedgerTree
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore
from tests.conftest import result_of
from tests.metadata.zookeeper.fake_zookeeper import FakeSession, FakeZooKeeper


class World:
    """A server, a clock, and stores."""

    def __init__(self, layout: str | None = "hierarchical") -> None:
        self.server = FakeZooKeeper()
        self.clock = Clock()
        self.uri = ZooKeeperUri(("fake:2181",), "/made/ledgers", layout)

    def path(self, ledger_id: int) -> str:
        """Return the path of a ledger's node."""
        return LedgerTree(self.uri.root, self.uri.layout or HIERARCHICAL).path(ledger_id)

    def unstarted(self) -> tuple[Any, FakeSession]:
        session = FakeSession(self.server)
        tokens = iter(range(1, 1000))
        store = ZooKeeperMetadataStore(
            self.uri, self.clock, make_session=lambda *args: session, draw_token=lambda bits: next(tokens)
        )
        return store, session

    def open(self) -> tuple[Any, FakeSession]:
        store, session = self.unstarted()
        result_of(store.start())
        result_of(store.initialize())
        return store, session

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.1] * int(seconds * 10 + 1))

    def settle(self, deferred: Any, seconds: float = 2) -> Any:
        self.wait(seconds)
        return result_of(deferred)
