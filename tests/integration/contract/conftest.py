"""What every face of the client does: each test of this room is written once, and run on the three.

A test is a coroutine, which runs where the clients do: on the reactor, or on an event loop.  Of the client whose calls
wait each call is made on a thread of its own (``OnThreads``).  More that each face does: ``test_tailing.py`` and
``test_tls_and_sasl.py`` in ``tests/integration/process``.
"""

from collections.abc import Callable, Iterator, Sequence
from inspect import iscoroutinefunction
from typing import Any

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support import stopped as processes
from tests.integration.support.our_client import make_client, wait_for
from tests.sampling import only


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine in the world of the face."""
    if not iscoroutinefunction(pyfuncitem.function):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    wait_for(pyfuncitem.function, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture(scope="session", params=only("SortedLedgerStorage", ["SortedLedgerStorage", "DbLedgerStorage"]))
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    if request.param == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    settings = {"ledgerStorageClass": request.param}
    with LocalCluster(tmp_path_factory.mktemp("contract"), bookie_count=3, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def client(face: str, cluster: LocalCluster) -> Callable[..., Any]:
    """Makes a client of the cluster that is not started; the arguments are fields of ``ClientConfig``."""
    return lambda **settings: make_client(cluster.metadata_uri, **settings)


@pytest.fixture
def stopped(cluster: LocalCluster) -> Callable[[Sequence[str]], Any]:
    """Bookies that do nothing, and whose connections stay."""

    return lambda bookie_ids: processes.stopped(*(cluster.bookies[cluster.index_of(each)].pid for each in bookie_ids))
