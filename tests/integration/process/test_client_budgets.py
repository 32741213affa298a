"""Clients that ask for much and take nothing: the bookie stays small, and serves the others."""

import re
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.entry.digest import EntryDigest, master_key
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from tests.integration.support import raw_requests
from tests.integration.support.adding_channel import AddingChannel
from tests.integration.support.our_client import poll

MIB = 1024 * 1024
LEDGER = 1
PAYLOAD = bytes(1_000_000)
KEY = master_key(b"")
DIGEST = EntryDigest(DigestType.CRC32C, b"")
BATCH_LIMITS = bytes(8) + bytes(4) + (5 * MIB).to_bytes(8, "big")
"""Request id, count and size: as many entries as fit 5 MiB."""


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def batch_read(ledger_id: int, *, fencing: bool) -> bytes:
    flags, key = (1, KEY) if fencing else (0, b"")
    return framed(bytes([2, 7, 0, flags]) + ledger_id.to_bytes(8, "big") + bytes(8) + BATCH_LIMITS + key)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path, 1) as cluster:
        yield cluster


def memory_of(bookie: LocalBookie) -> int:
    assert bookie.pid is not None
    return usage(bookie.pid).resident_bytes_max


def connected(bookie: LocalBookie) -> socket.socket:
    return socket.create_connection(("127.0.0.1", bookie.port), timeout=60)


@pytest.mark.full
def test_fencing_batch_reads_cost_no_more_memory_than_others(cluster: LocalCluster) -> None:
    (bookie,) = cluster.bookies
    raw_requests.add(bookie.port, LEDGER, 0, [PAYLOAD] * 5)
    with connected(bookie) as greedy:
        greedy.sendall(batch_read(LEDGER, fencing=True) * 300)
        for ledger_id in (LEDGER, LEDGER + 1):
            raw_requests.fence(bookie.port, ledger_id)
        assert memory_of(bookie) < 250 * MIB


def test_replies_that_nobody_takes_have_a_bound_in_total(cluster: LocalCluster) -> None:
    """Reads of entries that are on the disk only wait beside each other, so each client could have many replies."""
    (bookie,) = cluster.bookies
    for ledger_id in range(1, 9):
        raw_requests.add(bookie.port, ledger_id, 0, [PAYLOAD] * 5)
    cluster.restart(0)
    with ExitStack() as clients:
        greedy = [clients.enter_context(connected(bookie)) for _ in range(20)]
        for each in greedy:
            each.sendall(b"".join(batch_read(1 + index % 8, fencing=False) for index in range(200)))
        for each in greedy:
            each.recv(1)
        raw_requests.add(bookie.port, LEDGER, 5, [b"of another client"])
        assert memory_of(bookie) < 500 * MIB


HALF_A_FRAME = (4 * MIB).to_bytes(4, "big") + bytes(1000)


def closed(connection: socket.socket) -> bool:
    """Wait until the bookie has closed the connection, whatever it sends before."""
    try:
        while connection.recv(MIB):
            pass
    except ConnectionError:
        pass
    return True


def serves(bookie: LocalBookie) -> bool:
    """Whether it has room for one more connection."""
    try:
        raw_requests.add(bookie.port, 1_000, 0, [b""])
    except BookieUnavailable:
        return False
    return True


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[LocalBookie]:
    settings = {"clientTimeoutMs": 1000, "maxConnections": 20, "maxFrameBytes": 8 * MIB}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        yield cluster.bookies[0]


@pytest.mark.full
def test_clients_that_stop_halfway_are_closed_and_make_room_for_others(impatient: LocalBookie) -> None:
    with ExitStack() as clients:
        stuck = [clients.enter_context(connected(impatient)) for _ in range(6)]
        for each in stuck:
            each.sendall(HALF_A_FRAME)
        raw_requests.add(impatient.port, LEDGER, 0, [bytes(3 * MIB)])
        assert all(closed(each) for each in stuck)


def test_a_client_that_takes_no_replies_is_closed(impatient: LocalBookie) -> None:
    raw_requests.add(impatient.port, LEDGER, 0, [PAYLOAD] * 5)
    with connected(impatient) as greedy:
        greedy.sendall(batch_read(LEDGER, fencing=False) * 100)
        while "it takes no replies" not in impatient.log:
            raw_requests.fence(impatient.port, LEDGER + 1)
        assert closed(greedy)


@pytest.mark.full
def test_connections_have_a_maximum(impatient: LocalBookie) -> None:
    with ExitStack() as clients:
        several = [clients.enter_context(connected(impatient)) for _ in range(21)]
        assert closed(several[-1])
        several[0].close()
        while "refusing" in impatient.log:
            try:
                raw_requests.fence(impatient.port, LEDGER)
            except BookKeeperError:
                continue
            break


@pytest.mark.full
def test_a_bookie_with_few_descriptors_keeps_enough_for_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle connections must not keep it from a new journal file and from a flush of many ledgers."""
    command = LocalBookie.command
    limited = ["/bin/sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]
    monkeypatch.setattr(LocalBookie, "command", lambda *given: limited + command(*given))
    settings = {"journalMaxSizeMB": 1, "flushInterval": 100}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster, ExitStack() as clients:
        (bookie,) = cluster.bookies
        idle = [clients.enter_context(connected(bookie)) for _ in range(90)]
        for ledger_id in range(100):
            raw_requests.add(bookie.port, ledger_id, 0, [bytes(50_000)])
        journals = list(bookie.directory.rglob("*.txn"))
        assert len(journals) > 2
        refused = [clients.enter_context(connected(bookie)) for _ in range(310)]
        assert all(closed(each) for each in refused[10:])
        for each in idle:
            each.close()
        assert poll(lambda: serves(bookie)), "the bookie has not noticed that connections ended"
        with AddingChannel("127.0.0.1", bookie.port, raw_requests.PATIENT) as channel:
            for ledger_id in range(100):
                assert channel.read_entry(ledger_id, 0).endswith(bytes(50_000))
        assert "Too many open files" not in bookie.log
        assert "256 file descriptors are enough for" in bookie.log


@pytest.mark.full
def test_the_budgets_are_among_the_metrics(tmp_path: Path) -> None:
    settings = {"httpServerEnabled": "true", "httpServerPort": 0, "maxConnections": 33}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster, connected(cluster.bookies[0]) as client:
        client.sendall(batch_read(LEDGER, fencing=False))
        assert client.recv(100)
        found = re.search(r"http://\S+/metrics", cluster.bookies[0].log)
        assert found is not None
        with urlopen(found[0], timeout=60) as page:
            metrics = page.read().decode().splitlines()
        assert "bookie_connections 1.0" in metrics
        assert "bookie_connections_max 33.0" in metrics
        assert 'bookie_memory_bytes{budget="reads"} 0.0' in metrics


def leave_no_descriptors(pid: int) -> tuple[int, int]:
    """Let a process open nothing more; returns the limits that it had."""
    taken = {int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()}
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    lowest_free = next(number for number in range(len(taken) + 1) if number not in taken)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    return limits


def test_a_bookie_without_descriptors_goes_on_and_is_as_before_when_it_has_some(tmp_path: Path) -> None:
    settings = {"journalMaxSizeMB": 1, "flushInterval": 100}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        (bookie,) = cluster.bookies
        pid = bookie.pid
        assert pid is not None
        entries = [DIGEST.seal(LEDGER, number, -1, 100_000, bytes(100_000)) for number in range(60)]
        with AddingChannel("127.0.0.1", bookie.port, raw_requests.PATIENT) as channel:
            channel.add_entries(LEDGER, 0, entries[:1], KEY)
            limits = leave_no_descriptors(pid)
            for number in range(1, 30):
                channel.add_entries(LEDGER, number, entries[number : number + 1], KEY)
            while "flush of the ledger storage failed" not in bookie.log:
                assert channel.read_entry(LEDGER, 29) == entries[29]
            assert "the journal goes on in a file that is full" in bookie.log
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            for number in range(30, 60):
                channel.add_entries(LEDGER, number, entries[number : number + 1], KEY)
        assert len(list(bookie.directory.rglob("*.txn"))) > 2
        cluster.kill(0)
        cluster.restart(0)
        with AddingChannel("127.0.0.1", bookie.port, raw_requests.PATIENT) as channel:
            assert list(channel.read_range(LEDGER, 0, 59)) == entries
