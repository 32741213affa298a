"""Ledgers in limbo beside Java: a Java bookie goes on with the check that ours has begun, and ours with Java's."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, NoSuchEntry, UnknownLedgerState
from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.ports import choose_port
from tests.integration.java.test_java_on_our_directories import directories_of, start
from tests.integration.support.adding_channel import AddingChannel
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, read

pytest.importorskip("rocksdict")
pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.16")]

KEYS = {"dataIntegrityChecking": "true", "dataIntegrityStampMissingCookies": "true", "flushInterval": 500}
DB = {"ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"}
COUNT = 50
PAYLOADS = [bytes([index]) * 100 for index in range(COUNT)]


@pytest.fixture
def our_bookie(cluster: Any, tmp_path: Path) -> Iterator[Callable[..., LocalBookie]]:
    bookies: list[LocalBookie] = []

    def make(name: str, **settings: object) -> LocalBookie:
        directory = tmp_path / name
        journal = ["--journal-dir", str(directory / "journal")]
        bookies.append(LocalBookie(directory, cluster.uri, settings, journal))
        bookies[-1].port = choose_port()
        start(bookies[-1])
        return bookies[-1]

    yield make
    for bookie in bookies:
        bookie.kill()


def wipe(bookie: LocalBookie) -> None:
    for directory in directories_of(bookie).values():
        shutil.rmtree(directory)


def answers(port: int, ledger_id: int, protocol: WireProtocol = WireProtocol.V2) -> list[bytes | type[BookKeeperError]]:
    found: list[bytes | type[BookKeeperError]] = []
    with AddingChannel("127.0.0.1", port, ClientConfig(protocol=protocol, read_timeout_s=20.0)) as channel:
        for entry_id in range(COUNT):
            try:
                found.append(channel.read_entry(ledger_id, entry_id)[-100:])
            except BookKeeperError as error:
                found.append(type(error))
    return found


@pytest.mark.full
def test_java_goes_on_with_what_ours_has_begun_and_ours_with_what_java_has(
    java_release, cluster, java_bookie, our_bookie
):
    bookie, other = our_bookie("wiped", **KEYS, **DB), our_bookie("other")
    with OurClient(cluster.uri) as ours:
        closed = append_and_close(ours.create_ledger(2, 2, 2), PAYLOADS)
        abandoned = ours.create_ledger(2, 2, 2)
        append(abandoned, PAYLOADS)
        open_id = int(abandoned.ledger_id)

        bookie.kill()
        wipe(bookie)
        other.kill()
        cluster.unregister(bookie.bookie_id)
        cluster.unregister(other.bookie_id)
        start(bookie)
        assert set(answers(bookie.port, open_id, WireProtocol.V3)) == {UnknownLedgerState}
        assert bookie.stop() == 0

        java = java_bookie(java_release, port=bookie.port, storage="db", settings=KEYS | DB, **directories_of(bookie))
        for protocol in WireProtocol:
            assert set(answers(java.port, open_id, protocol)) == {UnknownLedgerState}
        start(other)
        assert poll(lambda: answers(java.port, closed) == answers(java.port, open_id) == PAYLOADS, timeout_s=120)
        java.stop()
        start(bookie)
        assert answers(bookie.port, closed) == answers(bookie.port, open_id) == PAYLOADS
        assert "checking the entries" not in bookie.log
        assert bookie.stop() == 0

        # The other way round: Java marks, and is killed; ours copies.
        wipe(bookie)
        other.kill()
        cluster.unregister(other.bookie_id)
        java.start()
        assert set(answers(java.port, closed)) == {NoSuchEntry}, "Java's lie, which ours does not tell"
        java.kill(expire=True)
        bookie.launch()
        bookie.wait_until_ready()
        start(other)
        assert poll(lambda: "all entries that this bookie should have are here" in bookie.log), bookie.log_end()
        assert answers(bookie.port, closed) == answers(bookie.port, open_id) == PAYLOADS
        reader = ours.open_ledger(open_id)
        assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS
    assert bookie.stop() == 0
