"""DbLedgerStorage in several ledger directories: Java finds each ledger where ours has it, and ours where Java has.

Both look for a ledger in the directory of its id modulo their number, with entry logs and databases of its own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.errors import LedgerFenced
from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.ports import choose_port
from tests.integration.java.test_java_on_our_directories import start
from tests.integration.java.test_java_on_several_directories import PAYLOADS, check, eventually, listed, used, write
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, read, wait_for

pytest.importorskip("rocksdict")
pytestmark = [pytest.mark.java, pytest.mark.full, pytest.mark.releases(since="4.14")]

NAMES = ("data1", "data2", "data3")
INDEX_NAMES = ("index1", "index2", "index3")
NO_INDEX_DIRECTORIES = ("4.14.7",)
"""Releases whose DbLedgerStorage ignores ``indexDirectories``."""

LOSES_ENTRIES = ("4.14.7",)
"""Releases that move the mark when one directory is flushed: a kill loses what others have not (BK#3329)."""

SETTINGS: dict[str, object] = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": 3,
    "logSizeLimit": 1 << 20,
    "journalMaxSizeMB": 1,
    "flushInterval": 3_600_000,
    "gcWaitTime": 300,
    "minorCompactionInterval": 1,
    "majorCompactionInterval": 2,
    "majorCompactionThreshold": 0.99,
    "compactionRateByEntries": 1_000_000,
}


def indexes_of(java_release: str) -> tuple[str, ...]:
    return () if java_release in NO_INDEX_DIRECTORIES else INDEX_NAMES


@pytest.fixture
def our_bookie() -> Iterator[Callable[..., LocalBookie]]:
    bookies = []

    def make(
        directory: Path,
        uri: str,
        index_names: tuple[str, ...],
        port: int = 0,
        names: tuple[str, ...] = NAMES,
        **more: object,
    ) -> LocalBookie:
        options = ["--journal-dir", str(directory / "journal"), "--data", listed(directory, names)]
        if index_names:
            options += ["--index-dir", listed(directory, index_names)]
        bookie = LocalBookie(directory, uri, SETTINGS | more, options)
        bookie.port = port or choose_port()
        bookies.append(bookie)
        return bookie

    yield make
    for bookie in bookies:
        bookie.kill()


def java_options(directory: Path, index_names: tuple[str, ...]) -> dict[str, object]:
    """Those of a Java bookie in the same place."""
    indexes = {"indexDirectories": listed(directory, index_names)} if index_names else {}
    settings = SETTINGS | {"ledgerDirectories": listed(directory, NAMES)} | indexes
    return {
        "storage": "db",
        "settings": settings,
        "journal_dir": directory / "journal",
        "ledger_dir": directory / NAMES[0],
    }


def require_all_used(directory: Path, index_names: tuple[str, ...]) -> None:
    assert used(directory, NAMES, "*.log") == set(NAMES)
    assert used(directory, index_names or NAMES, "locations/CURRENT") == set(index_names or NAMES)


def refused(port: int, ledger_id: int) -> None:
    with pytest.raises(LedgerFenced):
        raw_requests.add(port, ledger_id, 10_000, [b"too late"])


def shortened(ours: OurClient, ledger_id: int) -> bool:
    """Return whether a ledger has lost its last entries, and no others."""
    reader = ours.open_ledger(ledger_id)
    count = reader.last_add_confirmed + 1
    assert count == 0 or read(reader, 0, count - 1) == PAYLOADS[:count]
    return bool(count < len(PAYLOADS))


def test_java_serves_what_ours_acknowledged_and_ours_again(java_release, cluster, java_bookie, our_bookie, tmp_path):
    indexes = indexes_of(java_release)
    bookie = our_bookie(tmp_path, cluster.uri, indexes)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored, fenced = write(ours), write(ours, len(NAMES))
        for ledger_id in fenced:
            assert raw_requests.fence(bookie.port, ledger_id) is None
        require_all_used(tmp_path, indexes)
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java = java_bookie(java_release, port=bookie.port, **java_options(tmp_path, indexes))
        for ledger_id in fenced:
            refused(bookie.port, ledger_id)
        check(ours, stored + fenced)
        more = write(ours)
        if java_release in LOSES_ENTRIES:
            java.stop()
        else:
            java.kill(expire=True)
        start(bookie)
        check(ours, stored + fenced + more)
        for ledger_id in fenced:
            refused(bookie.port, ledger_id)
        for ledger_id in stored[1:]:
            wait_for(ours.bookkeeper.delete_ledger, ledger_id)
        eventually(lambda: bookie.log.count("compacted ") >= len(NAMES))
        assert bookie.stop() == 0

        java.start()
        check(ours, [stored[0], *fenced, *more])
        java.stop()
        start(bookie)
        check(ours, [stored[0], *fenced, *more])
    assert bookie.stop() == 0


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_ours_serves_what_java_acknowledged(java_release, cluster, java_bookie, our_bookie, tmp_path, how):
    indexes = indexes_of(java_release)
    java = java_bookie(java_release, **java_options(tmp_path, indexes))
    bookie = our_bookie(tmp_path, cluster.uri, indexes, java.port)
    with OurClient(cluster.uri) as ours:
        fenced = write(ours, len(NAMES))
        for ledger_id in fenced:
            assert raw_requests.fence(java.port, ledger_id) is None
        stored = write(ours)  # behind the fences, which an orderly stop of Java would lose
        if how == "killed":
            java.kill(expire=True)
        else:
            java.stop()
        require_all_used(tmp_path, indexes)
        for names, index_names in ((NAMES[:2], indexes[:2]), (NAMES[::-1], indexes), ((*NAMES, "data4"), ())):
            other = our_bookie(tmp_path, cluster.uri, index_names, java.port, names, allowStorageExpansion="true")
            with pytest.raises(BookieFailed, match="finds a ledger by the number and the order of ledgerDirectories"):
                start(other)
        start(bookie)
        for ledger_id in fenced:
            refused(bookie.port, ledger_id)
        if how == "killed" and java_release in LOSES_ENTRIES:
            assert any(shortened(ours, ledger_id) for ledger_id in stored + fenced)
        else:
            check(ours, stored + fenced)
        more = write(ours)
        check(ours, more)
    assert bookie.stop() == 0
