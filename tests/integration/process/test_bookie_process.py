"""``twistd bookie`` as a process: it serves, survives kills and stops, and refuses to start where it must."""

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor

from bookkeeper_tx.entry.digest import EntryDigest, master_key
from bookkeeper_tx.errors import (
    BadRequest,
    BookieUnavailable,
    LedgerFenced,
    NoSuchEntry,
    ReadOnlyBookie,
    Unauthorized,
)
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie, LocalCluster
from compat_tests.targets.zookeeper import ZooKeeper
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.operations import Flag
from tests.integration.support.adding_channel import AddingChannel
from tests.reactor_thread import run_in_reactor
from tests.sampling import only

KEY = master_key(b"secret")
OTHER_KEY = master_key(b"other")
DIGEST = EntryDigest(DigestType.CRC32C, b"secret")


def entry(ledger_id: int, entry_id: int, size: int = 100) -> bytes:
    payload = entry_id.to_bytes(8, "big") * (size // 8)
    return DIGEST.seal(ledger_id, entry_id, entry_id - 1, size * (entry_id + 1), payload)


def add(channel: AddingChannel, ledger_id: int, first: int, count: int, size: int = 100, flags: int = 0) -> None:
    channel.add_entries(ledger_id, first, [entry(ledger_id, first + i, size) for i in range(count)], KEY, flags)


def assert_stored(channel: AddingChannel, ledger_id: int, count: int, size: int = 100) -> None:
    for first in range(0, count, 500):
        last = min(first + 500, count) - 1
        expected: list[Any] = [entry(ledger_id, i, size) for i in range(first, last + 1)]
        assert list(channel.read_range(ledger_id, first, last)) == expected
        run = channel.batch_read(ledger_id, first, 500, 4_000_000)
        assert list(run) == expected[: run.count]


def fence(channel: AddingChannel, ledger_id: int, key: bytes = KEY) -> bytes | None:
    try:
        return channel.read_entry(ledger_id, LAST_ENTRY, Flag.FENCING, key)
    except NoSuchEntry:
        return None


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path, 1) as cluster:
        yield cluster


@pytest.fixture
def connect(cluster: LocalCluster) -> Callable[[], AddingChannel]:
    return lambda: AddingChannel("127.0.0.1", cluster.bookies[0].port)


Connect = Callable[[], AddingChannel]


@pytest.mark.parametrize("kill", only(True, [True, False]), ids=["killed", "stopped"])
def test_what_was_acknowledged_is_there_after_a_restart(cluster: LocalCluster, connect: Connect, kill: bool) -> None:
    channel = connect()
    add(channel, 1, 0, 3000)
    add(channel, 2, 0, 10)
    assert_stored(channel, 1, 3000)
    for _ in range(2):
        cluster.kill(0) if kill else cluster.stop_bookie(0)
        cluster.restart(0)
        channel = connect()
        assert_stored(channel, 1, 3000)
        assert_stored(channel, 2, 10)
        assert channel.read_entry(2, LAST_ENTRY) == entry(2, 9)
        with pytest.raises(NoSuchEntry):
            channel.read_entry(2, 10)


@pytest.mark.parametrize("kill", only(True, [True, False]), ids=["killed", "stopped"])
def test_a_fence_outlives_every_end_for_known_and_unknown_ledgers(
    cluster: LocalCluster, connect: Connect, kill: bool
) -> None:
    channel = connect()
    add(channel, 1, 0, 3)
    cluster.stop_bookie(0)
    cluster.restart(0)
    channel = connect()
    assert fence(channel, 1) == entry(1, 2), "flushed by the stop, and fenced with no add after it"
    assert fence(channel, 9) is None, "unknown to this bookie until now"
    for _ in range(2):
        cluster.kill(0) if kill else cluster.stop_bookie(0)
        cluster.restart(0)
        channel = connect()
        for ledger_id, next_id in ((1, 3), (9, 0)):
            with pytest.raises(LedgerFenced):
                add(channel, ledger_id, next_id, 1)
    add(channel, 9, 0, 1, flags=Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY)
    assert channel.read_entry(9, LAST_ENTRY) == entry(9, 0)


@pytest.mark.full
def test_the_key_is_checked_against_the_stored_one_after_a_restart(cluster: LocalCluster, connect: Connect) -> None:
    add(connect(), 1, 0, 3)
    for _ in range(2):
        cluster.stop_bookie(0)
        cluster.restart(0)
        channel = connect()
        with pytest.raises(Unauthorized):
            channel.add_entries(1, 3, [entry(1, 3)], OTHER_KEY)
        with pytest.raises(Unauthorized):
            fence(channel, 1, OTHER_KEY)
        add(channel, 1, 3, 1)


@pytest.mark.full
@pytest.mark.parametrize("entry_id", only(-0x1000, [-1, -0x1000, -0x2000, -0x8000]))
def test_a_negative_entry_id_is_refused_and_the_bookie_starts_again(
    cluster: LocalCluster, connect: Connect, entry_id: int
) -> None:
    channel = connect()
    bad = (1).to_bytes(8, "big") + entry_id.to_bytes(8, "big", signed=True) + bytes(40)
    with pytest.raises(BadRequest):
        channel.add_entries(1, entry_id, [bad], KEY)
    add(channel, 1, 0, 1)
    cluster.kill(0)
    cluster.restart(0)
    assert_stored(connect(), 1, 1)


@pytest.mark.full
def test_more_than_the_caches_hold_over_log_rolls_and_journal_files(tmp_path: Path) -> None:
    settings = {"skipListSizeLimit": 400_000, "logSizeLimit": 1_500_000, "journalMaxSizeMB": 1, "journalMaxBackups": 0}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        channel = AddingChannel("127.0.0.1", cluster.bookies[0].port)
        for first in range(0, 6000, 500):
            add(channel, 1, first, 500, 1000)
            add(channel, 2, first, 100, 1000)
        assert_stored(channel, 1, 6000, 1000)
        current = cluster.bookies[0].directory / "data" / "current"
        assert len(list(current.glob("*.log"))) >= 4
        assert len(list(current.glob("*.txn"))) <= 3
        cluster.kill(0)
        cluster.restart(0)
        assert_stored(AddingChannel("127.0.0.1", cluster.bookies[0].port), 1, 6000, 1000)


def test_a_bookie_that_imitates_4_16_closes_on_batch_read_and_serves_the_rest(
    cluster: LocalCluster, connect: Connect
) -> None:
    cluster.restart(0, wire_compat="4.16")
    channel = connect()
    add(channel, 1, 0, 3)
    assert channel.read_entry(1, 2) == entry(1, 2)
    with pytest.raises(BookieUnavailable):
        channel.batch_read(1, 0, 3, 1000)
    assert connect().read_entry(1, 2) == entry(1, 2)


def test_a_read_only_bookie_takes_recovery_adds_only(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1, settings={"forceReadOnlyBookie": "true"}) as cluster:
        channel = AddingChannel("127.0.0.1", cluster.bookies[0].port)
        with pytest.raises(ReadOnlyBookie):
            add(channel, 1, 0, 1)
        add(channel, 1, 0, 1, flags=Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY)
        assert registered(cluster) == (frozenset(), frozenset(cluster.bookie_ids))


def registered(cluster: LocalCluster) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the writable and of the read-only bookies."""

    async def ask() -> tuple[frozenset[str], frozenset[str]]:
        store = open_metadata_store(cluster.metadata_uri, reactor)
        await store.start()
        try:
            return await store.writable_bookies(), await store.read_only_bookies()
        finally:
            await store.stop()

    return run_in_reactor(ask)


@pytest.mark.full
def test_the_port_that_was_free_is_registered_and_kept(cluster: LocalCluster) -> None:
    bookie = cluster.bookies[0]
    assert registered(cluster) == (frozenset({f"127.0.0.1:{bookie.port}"}), frozenset())
    cluster.kill(0)
    assert registered(cluster) == (frozenset(), frozenset())
    port, bookie.port = bookie.port, 0
    cluster.restart(0)
    assert bookie.port == port


def test_a_clean_stop_leaves_nothing_to_replay(cluster: LocalCluster, connect: Connect) -> None:
    add(connect(), 1, 0, 100)
    assert cluster.stop_bookie(0) == 0
    assert registered(cluster) == (frozenset(), frozenset())
    cluster.restart(0)
    assert "replayed" not in cluster.bookies[0].log
    cluster.kill(0)


@pytest.mark.full
def test_a_clean_stop_with_zookeeper_takes_the_registration_back(tmp_path: Path, zookeeper: ZooKeeper) -> None:
    uri = f"zk+hierarchical://{zookeeper.hosts}/{uuid.uuid4().hex}/ledgers"
    with LocalCluster(tmp_path, 1, metadata_uri=uri) as cluster:
        assert registered(cluster) == (frozenset(cluster.bookie_ids), frozenset())
        assert cluster.stop_bookie(0) == 0
        assert "while stopping" not in cluster.bookies[0].log
        assert registered(cluster) == (frozenset(), frozenset())


@pytest.mark.full
def test_a_stop_that_fails_has_the_exit_code_of_a_failure(tmp_path: Path) -> None:
    with ZooKeeper(tmp_path / "zookeeper") as server:
        uri = f"zk+hierarchical://{server.hosts}/ledgers"
        with LocalCluster(tmp_path, 1, metadata_uri=uri) as cluster:
            server.stop()
            assert cluster.stop_bookie(0) == 1
            assert "while stopping" in cluster.bookies[0].log


# Refusals: one line, exit code 1 -------------------------------------------------------------------------------------


def refusal(bookie: LocalBookie) -> str:
    """Return the line in which a bookie that must not start says why."""
    bookie.launch()
    assert bookie.wait(30) == 1, bookie.log_end()
    assert "Traceback" not in bookie.log
    lines = [line for line in bookie.log.splitlines() if line.startswith("bookie: ")]
    assert len(lines) == 1, bookie.log
    return lines[0]


@pytest.fixture
def bookie(tmp_path: Path) -> LocalBookie:
    return LocalBookie(tmp_path / "b", f"sqlite://{tmp_path}/m.db", {}, [])


def test_a_second_bookie_on_the_directory_is_refused(cluster: LocalCluster) -> None:
    running = cluster.bookies[0]
    second = LocalBookie(running.directory, cluster.metadata_uri, {}, [])
    second.log_path = running.directory / "second.log"
    assert "already running" in refusal(second)
    assert running.running


@pytest.mark.full
def test_a_second_bookie_of_the_same_name_is_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    other = LocalBookie(tmp_path / "other", cluster.metadata_uri, {}, ["--bookie-id", cluster.bookies[0].bookie_id])
    assert "journalDir" in refusal(other)


@pytest.mark.full
def test_a_port_that_is_taken_is_named(bookie: LocalBookie) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bookie.port = taken.getsockname()[1]
        assert f"127.0.0.1:{bookie.port}" in refusal(bookie)


@pytest.mark.full
def test_the_directory_of_another_bookie_is_refused_and_the_field_named(cluster: LocalCluster) -> None:
    running = cluster.bookies[0]
    cluster.stop_bookie(0)
    text = refusal(LocalBookie(running.directory, cluster.metadata_uri, {}, ["--bookie-id", "somebody-else"]))
    assert "bookieHost" in text
    assert "somebody-else" in text


@pytest.mark.full
def test_empty_directories_of_a_known_bookie_are_refused(cluster: LocalCluster) -> None:
    cluster.stop_bookie(0)
    data = cluster.bookies[0].directory / "data"
    data.rename(data.with_name("lost"))
    assert "no cookie" in refusal(cluster.bookies[0])


@pytest.mark.full
def test_directories_of_another_cluster_are_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    cluster.stop_bookie(0)
    moved = LocalBookie(cluster.bookies[0].directory, f"sqlite://{tmp_path}/other.db", {}, [])
    moved.port = cluster.bookies[0].port
    refusal(moved)


@pytest.mark.full
def test_a_mark_that_names_a_missing_journal_is_refused(cluster: LocalCluster, connect: Connect) -> None:
    add(connect(), 1, 0, 10)
    cluster.stop_bookie(0)
    for path in (cluster.bookies[0].directory / "data" / "current").glob("*.txn"):
        path.unlink()
    assert ".txn" in refusal(cluster.bookies[0])


@pytest.mark.full
def test_an_address_that_clients_cannot_use_is_refused(bookie: LocalBookie) -> None:
    bookie._options = ["--listen", "0.0.0.0"]
    assert "--advertise" in refusal(bookie)
    bookie._options = ["--listen", "203.0.113.77"]
    assert "203.0.113.77" in refusal(bookie)


@pytest.mark.full
def test_a_name_that_cannot_be_leaves_the_directory_to_another(bookie: LocalBookie) -> None:
    misnamed = LocalBookie(bookie.directory, bookie._metadata_uri, {}, ["--bookie-id", "a/b"])
    assert "'a/b' is no bookie id" in refusal(misnamed)
    bookie.launch()
    bookie.wait_until_ready()
    bookie.stop()


@pytest.mark.full
def test_clients_are_told_the_advertised_host(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1, options=["--advertise", "localhost"]) as cluster:
        bookie = cluster.bookies[0]
        assert bookie.bookie_id == f"localhost:{bookie.port}"


@pytest.mark.full
def test_rocksdb_directories_are_refused(bookie: LocalBookie) -> None:
    (bookie.directory / "data" / "current" / "ledgers").mkdir(parents=True)
    assert "DbLedgerStorage" in refusal(bookie)


@pytest.mark.full
def test_metadata_that_cannot_be_reached_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    bookie = LocalBookie(tmp_path / "b", f"zk://127.0.0.1:{port}/ledgers", {"zkTimeout": 1000}, [])
    assert str(port) in refusal(bookie)
    assert "/proc/no/meta.db" in refusal(LocalBookie(tmp_path / "c", "sqlite:///proc/no/meta.db", {}, []))


def test_wrong_options_end_with_1_and_one_line(bookie: LocalBookie) -> None:
    bookie._options = ["--wire-compat", "4.9"]
    assert "only 4.16 can be imitated" in refusal(bookie)


@pytest.mark.full
def test_a_bookie_that_is_not_ready_says_why(bookie: LocalBookie) -> None:
    bookie._settings = {"entryLogPerLedgerEnabled": "true"}
    bookie.launch()
    with pytest.raises(BookieFailed, match=r"line 1: entryLogPerLedgerEnabled = true: one entry log"):
        bookie.wait_until_ready()


@pytest.mark.full
def test_a_store_that_is_damaged_while_it_runs_leaves_it_serving(cluster: LocalCluster, connect: Connect) -> None:
    channel = connect()
    add(channel, 1, 0, 10)
    os.truncate(cluster.directory / "metadata.db", 100)
    add(channel, 1, 10, 10)
    assert_stored(channel, 1, 20)
