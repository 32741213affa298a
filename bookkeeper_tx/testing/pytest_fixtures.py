"""Fixtures for pytest; a project names this module in its ``conftest.py``::

pytest_plugins = ["bookkeeper_tx.testing.pytest_fixtures"]
"""

from collections.abc import Callable, Iterator

import pytest

from bookkeeper_tx import aio, blocking
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.testing.shared_cluster import BOOKIE_COUNT


@pytest.fixture(scope="session")
def bookkeeper_bookie_count() -> int:
    """How many bookies :func:`bookkeeper_cluster` has: 3.  A project whose tests want another number overrides it."""
    return BOOKIE_COUNT


@pytest.fixture(scope="session")
def bookkeeper_cluster(
    tmp_path_factory: pytest.TempPathFactory, bookkeeper_bookie_count: int
) -> Iterator[LocalCluster]:
    """A cluster for all tests of the session."""
    with LocalCluster(tmp_path_factory.mktemp("bookkeeper"), bookkeeper_bookie_count) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def bookkeeper_config() -> ClientConfig:
    """The settings of the clients below: the defaults.  A project overrides it to change them."""
    return ClientConfig()


@pytest.fixture
def bookkeeper_client(
    bookkeeper_cluster: LocalCluster, bookkeeper_config: ClientConfig
) -> Iterator[blocking.BookKeeper]:
    """A client whose calls wait, closed after the test."""
    with blocking.BookKeeper(bookkeeper_cluster.metadata_uri, bookkeeper_config) as client:
        yield client


@pytest.fixture
def bookkeeper_aio_client(
    bookkeeper_cluster: LocalCluster, bookkeeper_config: ClientConfig
) -> Callable[[], aio.BookKeeper]:
    """What makes a client on the event loop that runs: ``async with bookkeeper_aio_client() as bk:``.

    No fixture that is asynchronous itself: each of the plugins that run such fixtures wants them declared in a way of
    its own, and this one needs none of them.
    """
    return lambda: aio.BookKeeper(bookkeeper_cluster.metadata_uri, bookkeeper_config)
