"""A Java bookie with DbLedgerStorage takes over the directories of ours, and ours those of Java's: RocksDB and all.

What RocksDB of Java's is older or newer than that of ours opens the files of the other.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.errors import LedgerFenced
from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.payloads import hash_of
from compat_tests.targets.ports import choose_port
from tests.integration.java.test_java_on_our_directories import (
    FLUSHED,
    JOURNALLED,
    check,
    check_ours_takes_over,
    current_files,
    directories_of,
    start,
    write,
)
from tests.integration.java.test_java_on_scoped_directories import check_scoped, write_scoped
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, read
from tests.sampling import only

pytest.importorskip("rocksdict")
pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.14")]

#: Flushed by size only, as there: half of the write cache is flushed when it is full.
SETTINGS = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": 2,
    "logSizeLimit": 1 << 20,
    "journalMaxSizeMB": 1,
    "flushInterval": 3_600_000,
}


@pytest.fixture
def our_bookie() -> Iterator[Callable[..., LocalBookie]]:
    """Makes bookies of ours with DbLedgerStorage, not started, with their journals apart from the rest."""
    bookies = []

    def make(directory: Path, uri: str, port: int = 0, **settings: object) -> LocalBookie:
        bookie = LocalBookie(directory, uri, {**SETTINGS, **settings}, ["--journal-dir", str(directory / "journal")])
        bookie.port = port or choose_port()
        bookies.append(bookie)
        return bookie

    yield make
    for bookie in bookies:
        bookie.kill()


@pytest.mark.full
def test_java_serves_what_ours_acknowledged(java_release, cluster, java_bookie, our_bookie, java_client, tmp_path):
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored = write(ours, bookie)
        for ledger_id, password in ((stored.both, b"secret"), (stored.flushed, b"")):
            assert raw_requests.fence(bookie.port, ledger_id, password=password) is None
        assert current_files(bookie, ".idx") == []
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java = java_bookie(java_release, port=bookie.port, storage="db", settings=SETTINGS, **directories_of(bookie))
        for ledger_id, password in ((stored.both, b"secret"), (stored.flushed, b"")):
            with pytest.raises(LedgerFenced):
                raw_requests.add(bookie.port, ledger_id, 10_000, [b"too late"], password=password)
        check(ours, stored)
        reader = java_client(java_release).open_ledger(stored.both, password=b"secret")
        assert reader.read_hash(0, reader.opened_at) == (2150, hash_of(FLUSHED + JOURNALLED))

        # It goes on there; after its own kill, ours serves all its entries again; and Java after a stop of ours.
        more = ours.create_ledger()
        append(more, FLUSHED)
        java.kill(expire=True)
        start(bookie)
        check(ours, stored)
        assert read(ours.open_ledger(more.ledger_id), 0, len(FLUSHED) - 1) == FLUSHED
        assert bookie.stop() == 0
        java.start()
        check(ours, stored)
        assert read(ours.open_ledger(more.ledger_id), 0, len(FLUSHED) - 1) == FLUSHED


@pytest.mark.parametrize("how", only("killed", ["killed", "stopped"]))
def test_ours_serves_what_java_acknowledged(java_release, cluster, java_bookie, our_bookie, tmp_path, how):
    java = java_bookie(
        java_release,
        journal_dir=tmp_path / "journal",
        ledger_dir=tmp_path / "data",
        storage="db",
        settings=SETTINGS,
    )
    check_ours_takes_over(java, how, our_bookie(tmp_path, cluster.uri, java.port), cluster.uri)


@pytest.mark.full
def test_java_does_not_touch_the_ledgers_of_other_scopes(java_release, cluster, java_bookie, our_bookie, tmp_path):
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        kept = ours.create_ledger()
        append(kept, JOURNALLED)
        assert bookie.stop() == 0
        write_scoped(bookie, "DbLedgerStorage")
        start(bookie)  # flushes them, and begins a journal that Java reads
        assert bookie.stop() == 0
        check_scoped(bookie, "DbLedgerStorage")

        java = java_bookie(java_release, port=bookie.port, storage="db", settings=SETTINGS, **directories_of(bookie))
        assert read(ours.open_ledger(kept.ledger_id), 0, len(JOURNALLED) - 1) == JOURNALLED
        append(ours.create_ledger(), FLUSHED)
        java.stop()
        check_scoped(bookie, "DbLedgerStorage")
        start(bookie)
        assert read(ours.open_ledger(kept.ledger_id), 0, len(JOURNALLED) - 1) == JOURNALLED
    assert bookie.stop() == 0


def test_ours_opens_no_databases_under_another_class(java_release, cluster, java_bookie, our_bookie, tmp_path):
    java = java_bookie(java_release, journal_dir=tmp_path / "journal", ledger_dir=tmp_path / "data", storage="db")
    java.kill(expire=True)
    with pytest.raises(BookieFailed, match="was written by DbLedgerStorage: set ledgerStorageClass to it"):
        start(our_bookie(tmp_path, cluster.uri, java.port, ledgerStorageClass="SortedLedgerStorage"))
