"""The cluster that all test cases of a process share: to start bookies for each would take longer than most of them."""

import atexit
import tempfile
from functools import cache
from threading import Lock

from bookkeeper_tx.testing.local_cluster import LocalCluster

BOOKIE_COUNT = 3
"""Enough for ledgers as they are created by default."""

_lock = Lock()


def shared_cluster(bookie_count: int = BOOKIE_COUNT) -> LocalCluster:
    """Return the cluster of this process that has ``bookie_count`` bookies; all of them serve.

    It is started for the first caller, and ends with the process.  A bookie that a test killed is started again for the
    next caller.  The call blocks: on a reactor or an event loop use ``deferToThread`` or ``asyncio.to_thread``.

    :raises BookieFailed: a bookie does not start
    """
    with _lock:
        return _made(bookie_count).start()


@cache
def _made(bookie_count: int) -> LocalCluster:
    directory = tempfile.TemporaryDirectory(prefix="bookkeeper-", ignore_cleanup_errors=True)
    atexit.register(directory.cleanup)  # after the cluster, which registers itself later, has killed its bookies
    return LocalCluster(directory.name, bookie_count)
