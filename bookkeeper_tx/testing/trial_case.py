"""A test case for Twisted's trial that has a cluster and a client of it."""

from typing import ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial import unittest

from bookkeeper_tx import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.testing.shared_cluster import BOOKIE_COUNT, shared_cluster


class BookKeeperTestCase(unittest.TestCase):
    """A test case with a cluster, which the cases of a process share, and a client, closed after each test.

    A class that has a ``setUp`` of its own awaits this one first.
    """

    bookie_count: ClassVar[int] = BOOKIE_COUNT
    """How many bookies the cluster has."""
    config: ClassVar[ClientConfig] = ClientConfig()
    """Settings of the client."""
    cluster: LocalCluster
    """The cluster."""
    bookkeeper: BookKeeper
    """The client on Twisted, started."""

    def setUp(self) -> "Deferred[None]":  # type: ignore[override]
        """Start the cluster for the first test, and a client."""
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        self.cluster = await deferToThread(shared_cluster, self.bookie_count)
        self.bookkeeper = BookKeeper(self.cluster.metadata_uri, self.config)
        self.addCleanup(self.bookkeeper.close)
        await self.bookkeeper.start()
