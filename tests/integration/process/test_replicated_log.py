"""Replicated logs on real bookies, from all three worlds."""

import asyncio
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.defer import gatherResults

from bookkeeper_tx import BookKeeper as BookKeeperOnTwisted
from bookkeeper_tx import aio, blocking
from bookkeeper_tx.aio import replicated_log as aio_log
from bookkeeper_tx.blocking import replicated_log as blocking_log
from bookkeeper_tx.errors import AlreadyTruncated, LogFenced, NoSuchLedger
from bookkeeper_tx.replicated_log import DLSN, Namespace
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.disk_bytes import disk_bytes
from tests.integration.support.our_client import poll
from tests.reactor_thread import run_in_reactor

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "replicated-log.md"

SETTINGS = {
    "gcWaitTime": 200,
    "minorCompactionInterval": 1,
    "majorCompactionInterval": 2,
    "majorCompactionThreshold": 0.9,
    "flushInterval": 200,
    "logSizeLimit": 1_000_000,
    "journalMaxSizeMB": 1,
    "journalPreAllocSizeMB": 1,
}

WRITER = """
import sys
from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.blocking.replicated_log import Namespace

with BookKeeper(sys.argv[1]) as bk:
    writer = Namespace(bk).open_log_writer("orders", roll_size_bytes=20_000)
    number = 0
    while True:
        position = writer.write(b"%d " % number + bytes(500))
        print(position, flush=True)
        number += 1
"""


LEADER = """
import sys
from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.blocking.replicated_log import Namespace

with BookKeeper(sys.argv[1]) as bk, Namespace(bk).campaign("orders", "first", lease_s=2) as leadership:
    print(leadership.leads(), flush=True)
    leadership.until_lost()
"""

EVERY_STORE = pytest.mark.parametrize(
    "cluster",
    [
        "sqlite",
        pytest.param("zk+hierarchical", marks=[pytest.mark.java, pytest.mark.full]),
        pytest.param("zk+flat", marks=pytest.mark.java),
        pytest.param("etcd", marks=pytest.mark.etcd),
    ],
    indirect=True,
)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster in an SQLite file, or in the server of the scheme that a test asks for."""
    uri, scheme = None, getattr(request, "param", "sqlite")
    if scheme != "sqlite":
        hosts = request.getfixturevalue("etcd" if scheme == "etcd" else "zookeeper").hosts
        uri = f"{scheme}://{hosts}/logs-{uuid.uuid4()}"
    with LocalCluster(tmp_path, bookie_count=2, metadata_uri=uri, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def logs(cluster: LocalCluster) -> Iterator[blocking_log.Namespace]:
    with blocking.BookKeeper(cluster.metadata_uri) as bk:
        logs = blocking_log.Namespace(bk)
        logs.create_log("orders", 2, 2, 2)
        yield logs


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def guide() -> dict[str, Any]:
    """Run the programs of the guide; return the names that they define."""
    names: dict[str, Any] = {"__name__": "guide"}
    for program in programs():
        exec(compile(program, str(GUIDE), "exec"), names)
    return names


def payloads(logs: blocking_log.Namespace, start: DLSN | None = None) -> list[bytes]:
    return [record.payload for record in logs.read("orders", start)]


def test_writes_on_asyncio_complete_in_the_order_of_the_calls(cluster: LocalCluster) -> None:
    async def scenario() -> list[str]:
        async with aio.BookKeeper(cluster.metadata_uri) as bk:
            logs = aio_log.Namespace(bk)
            await logs.create_log("orders", 1, 1, 1)
            async with await logs.open_log_writer("orders") as writer:
                found: list[str] = []
                for _ in range(20):
                    writes = {"bulk": writer.write_bulk([b"a"] * 3), "one": writer.write(b"b")}
                    for name, write in writes.items():
                        write.add_done_callback(lambda _, name=name: found.append(name))  # type: ignore[misc]
                    await asyncio.gather(*writes.values())
                return found

    assert asyncio.run(scenario()) == ["bulk", "one"] * 20


def test_the_program_of_the_guide(cluster: LocalCluster) -> None:
    assert asyncio.run(guide()["main"](cluster.metadata_uri)) == 1005
    assert len(programs()[0].splitlines()) <= 50


def test_the_elected_service_of_the_guide(cluster: LocalCluster) -> None:
    names = guide()

    async def scenario() -> list[int]:
        async with aio.BookKeeper(cluster.metadata_uri) as here, aio.BookKeeper(cluster.metadata_uri) as there:
            logs = aio_log.Namespace(here)
            await logs.create_log("accounts", 2, 2, 2)
            services = [names["Elected"](bk) for bk in (here, there)]
            serving = [asyncio.create_task(service.serve()) for service in services]
            balances = []
            for service, task in zip(services, serving, strict=True):
                while not service.ready:
                    await asyncio.sleep(0.01)
                balances.append(await service.deposit("ann", 1))
                task.cancel()
                await asyncio.wait([task])
            assert await logs.leader("accounts") is None
            return balances

    assert asyncio.run(scenario()) == [1, 2]


@EVERY_STORE
def test_one_log_is_written_by_all_three_worlds(cluster: LocalCluster, logs: blocking_log.Namespace) -> None:
    async def on_twisted() -> None:
        bk = BookKeeperOnTwisted(cluster.metadata_uri, None, reactor)
        await bk.start()
        try:
            async with await Namespace(bk).open_log_writer("orders") as writer:
                positions = await gatherResults([writer.write(b"twisted %d" % number) for number in range(3)])
                await writer.roll()
                positions.append(await writer.write(b"twisted 3"))
            assert [str(each) for each in positions] == ["0:0", "0:1", "0:2", "1:0"]
        finally:
            await bk.close()

    async def on_asyncio() -> list[bytes]:
        async with aio.BookKeeper(cluster.metadata_uri) as bk:
            there = aio_log.Namespace(bk)
            async with await there.open_log_writer("orders") as writer:
                positions = await asyncio.gather(*[writer.write(b"asyncio %d" % number) for number in range(3)])
                positions += await writer.write_bulk([b"asyncio 3", b"asyncio 4"])
                assert [each.log_segment_sequence_no for each in positions] == [2] * 5
                await writer.roll()
            return [record.payload async for record in there.read("orders")]

    run_in_reactor(on_twisted)
    expected = [b"twisted %d" % number for number in range(4)] + [b"asyncio %d" % number for number in range(5)]
    assert asyncio.run(on_asyncio()) == expected
    with logs.open_log_writer("orders") as writer:
        later = [writer.write_later(b"blocking %d" % number) for number in range(3)]
        assert [each.result().entry_id for each in later] == [0, 1, 2]
        assert writer.write(bytearray(b"blocking 3")).entry_id == 3
    assert payloads(logs) == expected + [b"blocking %d" % number for number in range(4)]
    assert logs.last_dlsn("orders") == DLSN(4, 3)
    assert logs.list_logs() == ["orders"]


def test_a_killed_writer_loses_nothing_that_was_acknowledged(
    cluster: LocalCluster, logs: blocking_log.Namespace
) -> None:
    acknowledged: list[str] = []
    for _ in range(3):
        program = [sys.executable, "-c", WRITER, cluster.metadata_uri]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged += [line.strip() for line in islice(process.stdout, 150)]
            process.kill()
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
    with logs.open_log_writer("orders") as writer:
        writer.write(b"end")
    found = [str(record.dlsn) for record in logs.read("orders")]
    assert set(acknowledged) <= set(found)
    assert [each for each in found if each in set(acknowledged)] == acknowledged
    assert logs.log_state("orders").segment_count > 9


def test_a_campaign_that_is_cancelled_as_it_is_won_leads_nobody(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with aio.BookKeeper(cluster.metadata_uri) as bk:
            logs = aio_log.Namespace(bk)
            for turns in range(40):
                campaign = asyncio.ensure_future(logs.campaign(f"turns {turns}", lease_s=1))
                for _ in range(turns):
                    await asyncio.sleep(0.0002)
                campaign.cancel()
                await asyncio.wait([campaign])
                if not campaign.cancelled():
                    await campaign.result().resign()
                del campaign
            others = [logs.campaign(f"turns {turns}") for turns in range(40)]
            await asyncio.wait_for(asyncio.gather(*others), 60)

    asyncio.run(scenario())


@EVERY_STORE
def test_a_killed_leader_is_followed(cluster: LocalCluster, logs: blocking_log.Namespace) -> None:
    program = [sys.executable, "-c", LEADER, cluster.metadata_uri]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert logs.leader("orders") == "first"
        process.kill()
    with logs.campaign("orders", "second", lease_s=2) as leadership:
        assert leadership.leads()
        assert logs.leader("orders") == "second"
    assert not leadership.leads()
    assert logs.leader("orders") is None


@pytest.mark.full
def test_of_two_writers_the_first_is_told(cluster: LocalCluster, logs: blocking_log.Namespace) -> None:
    old = logs.open_log_writer("orders")
    old.write(b"a")
    with blocking.BookKeeper(cluster.metadata_uri) as other:
        new = blocking_log.Namespace(other).open_log_writer("orders")
        new.write(b"b")
        with pytest.raises(LogFenced):
            old.write(b"lost")
        new.close()
    assert payloads(logs) == [b"a", b"b"]


@pytest.mark.full
def test_a_writer_that_sleeps_until_its_ledger_is_collected_is_refused(
    cluster: LocalCluster, logs: blocking_log.Namespace
) -> None:
    old = logs.open_log_writer("orders")
    old.write(b"a")
    with blocking.BookKeeper(cluster.metadata_uri) as other:

        def is_collected(bookie_id: str) -> bool:
            try:
                other.entries_of(old.ledger_id, bookie_id)
            except NoSuchLedger:
                return True
            return False

        with blocking_log.Namespace(other).open_log_writer("orders") as new:
            new.write(b"b")
            logs.truncate("orders", DLSN(1, 0))
            assert poll(lambda: all(map(is_collected, cluster.bookie_ids)), timeout_s=60)
            with pytest.raises(LogFenced):
                old.write(b"lost")
    assert payloads(logs) == [b"b"]


def test_a_follower_sees_what_is_written_across_ledgers(cluster: LocalCluster, logs: blocking_log.Namespace) -> None:
    with blocking.BookKeeper(cluster.metadata_uri) as bk:
        writer = blocking_log.Namespace(bk).open_log_writer("orders", roll_size_bytes=3000)
        following = logs.read("orders", follow=True)
        for start in range(0, 40, 8):
            for number in range(start, start + 8):
                writer.write(b"%d" % number + bytes(500))
            seen: list[Any] = list(islice(following, 8))
            assert [int(each.payload.rstrip(b"\0")) for each in seen] == list(range(start, start + 8))
        following.close()  # type: ignore[attr-defined]
        assert writer.log_segment_sequence_no > 3
        writer.close()


@pytest.mark.full
def test_truncation_gives_the_disk_back(cluster: LocalCluster, logs: blocking_log.Namespace) -> None:
    def log_bytes() -> int:
        return disk_bytes(cluster.bookies[0].directory / "data", "*.log")

    with logs.open_log_writer("orders", roll_size_bytes=500_000) as writer:
        for number in range(12):
            writer.write_bulk([bytes([number]) * 1000] * 500)
            writer.roll()
    assert poll(lambda: log_bytes() > 5_000_000, timeout_s=30), log_bytes()
    end = DLSN(logs.log_state("orders").segment_count - 2, 0)
    assert logs.truncate("orders", end) == end
    assert poll(lambda: log_bytes() < 3_000_000, timeout_s=60), log_bytes()
    with pytest.raises(AlreadyTruncated):
        payloads(logs, DLSN(0, 0))
    assert set(payloads(logs)) <= {bytes([number]) * 1000 for number in range(12)}
    logs.delete_log("orders")
    assert logs.list_logs() == []
