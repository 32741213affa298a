"""Two bookies with the same ledgers that answer HTTP: Java's and ours."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from bookkeeper_tx.model import DigestType
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.ours import RegisteredBookie
from compat_tests.targets.ports import choose_port
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.java.http_table import DIRECTORY, Request
from tests.integration.support.our_client import make_client, wait_for

FLUSHED_SOON = {"flushInterval": 500}

CLASSES = {"sorted": "SortedLedgerStorage", "db": "DbLedgerStorage"}
"""Storages of the two bookies."""

ENTRY_COUNT = 3004
"""Entries of the ledgers that :func:`fill` makes."""


@frozen
class Side:
    """A bookie that answers HTTP."""

    port: int
    bookie_id: str
    ledger_directory: Path

    def ask(self, request: Request) -> tuple[int, str]:
        """Return status and body, with BOOKIE for the bookie's own address, and DIRECTORY for its ledger directory.

        In a request DIRECTORY stands for that directory as well.
        """
        directory = str(self.ledger_directory)
        data = request.body.replace(DIRECTORY, directory).encode() if request.body else None
        url = f"http://127.0.0.1:{self.port}{request.path}"
        asked = urllib.request.Request(url, data, method=request.method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        return status, body.decode("utf-8").replace(self.bookie_id, "BOOKIE").replace(directory, DIRECTORY)


async def _fill(uri: str) -> None:
    async with make_client(uri) as client:
        writer = await client.create_ledger(1, 1, 1, custom_metadata={"a": b"x\0y"})
        other = await client.create_ledger(1, 1, 1, DigestType.CRC32, b"secret")
        await other.append(b"a")
        await other.close()
        await writer.append_many([b"\xff\0\n%d" % index for index in range(3000)])
        for index in range(3):
            await writer.append(b"hello %d" % index)


def fill(uri: str) -> None:
    """Make ledger 0, which is open, and ledger 1, which is closed and has a password."""
    wait_for(_fill, uri)


@contextmanager
def two_sides(
    zookeeper: ZooKeeper, targets: JavaTargets, folder: Path, storage: str = "sorted"
) -> Iterator[tuple[Side, Side]]:
    """Java's and ours, each in a cluster of its own, with the same ledgers and the same class of storage."""
    javas, cluster, port = new_cluster(zookeeper), new_cluster(zookeeper), choose_port()
    java = targets.bookie(RELEASES[-1], cluster=javas, http_port=choose_port(), settings=FLUSHED_SOON, storage=storage)
    settings = {
        "httpServerEnabled": "true",
        "httpServerPort": port,
        "diskUsageThreshold": 0.99,
        "ledgerStorageClass": CLASSES[storage],
        **FLUSHED_SOON,
    }
    ours = RegisteredBookie(cluster, folder, settings=settings)
    ours.start()
    try:
        for uri in (javas.uri, cluster.uri):
            fill(uri)
        assert java.http_port is not None
        yield (
            Side(java.http_port, java.bookie_id, java.ledger_dir),
            Side(port, ours.bookie_id, folder / "data"),
        )
    finally:
        ours.stop()
