"""A bookie starts on a file system that has become read-only: as a disk does after an error, here by a remount."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import ReadOnlyBookie, StorageFailed
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.local_cluster import LocalCluster
from protocol_specs.wire.operations import Flag
from tests.integration.support.adding_channel import AddingChannel
from tests.reactor_thread import run_in_reactor
from tests.sampling import only

DIGEST = EntryDigest(DigestType.CRC32C, b"")
KEY = DIGEST.master_key


def mount(*arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        pytest.skip(f"not checked: {error}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not checked: {error.stderr.strip()}")


@pytest.fixture(params=only("SortedLedgerStorage", ["SortedLedgerStorage", "DbLedgerStorage"]))
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    """A bookie whose data is on a file system of its own."""
    if request.param == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    cluster = LocalCluster(tmp_path, 1, settings={"ledgerStorageClass": request.param})
    data = data_of(cluster)
    data.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", str(data))
    try:
        with cluster:
            yield cluster
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)


def data_of(cluster: LocalCluster) -> Path:
    return cluster.bookies[0].directory / "data"


def files_of(cluster: LocalCluster) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in data_of(cluster).rglob("*") if path.is_file()}


def entries(count: int) -> list[bytes]:
    return [DIGEST.seal(1, entry_id, entry_id - 1, 100, bytes(100)) for entry_id in range(count)]


def registered_read_only(cluster: LocalCluster) -> bool:
    async def ask() -> bool:
        store = open_metadata_store(cluster.metadata_uri, reactor)
        await store.start()
        try:
            return bool(await store.read_only_bookies())
        finally:
            await store.stop()

    return run_in_reactor(ask)


def test_it_serves_reads_and_writes_nothing(cluster: LocalCluster) -> None:
    bookie = cluster.bookies[0]
    expected: list[Any] = entries(30)
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        channel.add_entries(1, 0, expected[:10], KEY)
    cluster.restart(0)
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        channel.add_entries(1, 10, expected[10:], KEY)
    cluster.kill(0)
    mount("-o", "remount,ro", str(data_of(cluster)))
    before = files_of(cluster)
    cluster.restart(0)
    assert registered_read_only(cluster)
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        assert list(channel.read_range(1, 0, 29)) == expected
        with pytest.raises(ReadOnlyBookie):
            channel.add_entries(1, 30, entries(31)[30:], KEY)
        with pytest.raises(StorageFailed):
            channel.read_entry(1, 0, Flag.FENCING, KEY)
    assert "the file system is read-only" in bookie.log
    assert cluster.stop_bookie(0) == 0
    assert files_of(cluster) == before
    mount("-o", "remount,rw", str(data_of(cluster)))
    cluster.restart(0)
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        channel.add_entries(1, 30, entries(31)[30:], KEY)
        assert list(channel.read_range(1, 0, 30)) == entries(31)
