"""A test case for ``unittest`` on asyncio that has a cluster and a client of it."""

import asyncio
import unittest
from typing import ClassVar

from bookkeeper_tx.aio import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.testing.shared_cluster import BOOKIE_COUNT, shared_cluster


class BookKeeperTestCase(unittest.IsolatedAsyncioTestCase):
    """A test case with a cluster, which the cases of a process share, and a client, closed after each test.

    A class that has an ``asyncSetUp`` of its own awaits this one first.
    """

    bookie_count: ClassVar[int] = BOOKIE_COUNT
    """How many bookies the cluster has."""
    config: ClassVar[ClientConfig] = ClientConfig()
    """Settings of the client."""
    cluster: LocalCluster
    """The cluster."""
    bookkeeper: BookKeeper
    """The client on asyncio, started."""

    async def asyncSetUp(self) -> None:
        """Start the cluster for the first test, and a client."""
        self.cluster = await asyncio.to_thread(shared_cluster, self.bookie_count)
        self.bookkeeper = await self.enterAsyncContext(BookKeeper(self.cluster.metadata_uri, self.config))
