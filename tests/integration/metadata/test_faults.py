"""Metadata stores when processes are killed, ZooKeeper stops answering, sessions expire, or nobody is there."""

import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper.zookeeper import ZooKeeperMetadataStore
from compat_tests.targets.ports import choose_port
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.metadata.fault_scenarios import (
    check_that_a_killed_bookie_is_waited_for,
    check_that_changes_are_told,
    registered,
    registered_and_watched,
    registered_process,
    sleep,
    until,
)
from tests.metadata.contract import INFO, METADATA
from tests.reactor_thread import run_in_reactor

MAKE_LEDGERS = """
import sys
from twisted.internet.task import react
from bookkeeper_tx.errors import MetadataConflict
from bookkeeper_tx.metadata.sqlite import tables
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
tables.BUSY_TIMEOUT_S = 120.0  # waiting processes have no order, and the disk may be slow
async def main(reactor, uri):
    store = open_metadata_store(uri, reactor)
    await store.start()
    made = await store.initialize()
    ids = [await store.new_ledger_id() for _ in range(20)]
    metadata = LedgerMetadata(1, 1, 1, [Fragment(0, ("a:1",))], DigestType.CRC32C, b"")
    for ledger_id in ids:
        await store.create_ledger(ledger_id, metadata)
    while 0 not in await store.list_ledgers():  # the process that got that id has yet to create it
        pass
    wins = 0
    for version in range(20):
        try:
            await store.write_ledger(0, metadata, version)
            wins += 1
        except MetadataConflict:
            pass
    print(int(made), wins, *ids)
    await store.stop()
react(lambda reactor: __import__("twisted").internet.defer.Deferred.fromCoroutine(main(reactor, sys.argv[1])))
"""


def short_lived(hosts: str, root: str, **timeouts: float) -> Any:
    defaults = {"session_timeout_s": 1.5, "operation_timeout_s": 10.0}
    return ZooKeeperMetadataStore(ZooKeeperUri((hosts,), root, "hierarchical"), reactor, **{**defaults, **timeouts})


def test_sqlite_notices_a_killed_bookie(tmp_path: Path) -> None:
    uri = f"sqlite://{tmp_path}/meta.sqlite"
    store = open_metadata_store(uri, reactor)
    changes: list[float] = []

    async def prepare() -> None:
        await store.start()
        await store.initialize()

    async def watch() -> None:
        assert await store.writable_bookies() == {"a:1"}
        store.watch_bookies(lambda: changes.append(time.monotonic()))
        await store.read_only_bookies()

    async def after_the_kill() -> None:
        async def changed() -> bool:
            return bool(changes)

        assert await store.writable_bookies() == frozenset()
        await until(changed)
        await store.register_bookie("a:1", INFO)
        assert await store.bookie_info("a:1") == INFO
        await store.stop()

    run_in_reactor(prepare)
    process = registered_process(uri)
    run_in_reactor(watch)
    process.kill()
    process.wait()
    run_in_reactor(after_the_kill)


def test_sqlite_is_made_and_used_by_many_processes_at_once(tmp_path: Path) -> None:
    uri = f"sqlite://{tmp_path}/meta.sqlite"
    command = [sys.executable, "-c", MAKE_LEDGERS, uri]
    folder = Path(__file__).parents[3]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) for _ in range(6)]
    lines = [list(map(int, process.communicate(timeout=240)[0].split())) for process in processes]
    assert sum(made for made, *_ in lines) == 1
    assert sorted(ledger_id for _, _, *ids in lines for ledger_id in ids) == list(range(120))
    assert sum(wins for _, wins, *_ in lines) == 20


@pytest.mark.java
def test_zookeeper_waits_for_the_node_of_a_killed_bookie(zookeeper: ZooKeeper) -> None:
    root = f"/{uuid.uuid4()}"
    store = short_lived(zookeeper.hosts, root, session_timeout_s=12.0)
    check_that_a_killed_bookie_is_waited_for(store, f"zk://{zookeeper.hosts}{root}")


@pytest.mark.java
def test_an_expired_session_is_replaced_registrations_and_watches_go_on(own_zookeeper: ZooKeeper) -> None:
    async def scenario() -> None:
        store, other = (short_lived(own_zookeeper.hosts, "/ledgers") for _ in range(2))
        changes = await registered_and_watched(store, other)
        first_session = store._session.session_id

        async def expired() -> bool:
            return bool(store._session.session_id != first_session)

        for _ in range(5):
            own_zookeeper.pause()
            await sleep(4)
            own_zookeeper.resume()
            with suppress(AssertionError):  # ZooKeeper may hear of it before it checks the time
                await until(expired, 8)
                break

        await until(expired)
        await until(lambda: registered(other))
        await check_that_changes_are_told(store, other, changes)

    run_in_reactor(scenario, timeout_s=150)


@pytest.mark.java
def test_a_server_that_does_not_answer_is_unavailable_and_nothing_of_it_happens_later(own_zookeeper: ZooKeeper) -> None:
    async def scenario() -> None:
        store = short_lived(own_zookeeper.hosts, "/ledgers", operation_timeout_s=3.0)
        await store.start()
        await store.initialize()
        await store.create_ledger(1, METADATA)
        own_zookeeper.pause()
        await sleep(2.5)  # the connection is given up, requests wait for a new one
        started = time.monotonic()
        with pytest.raises(MetadataUnavailable, match=own_zookeeper.hosts):
            await store.create_ledger(2, METADATA)
        assert time.monotonic() - started > 2.9
        own_zookeeper.resume()

        async def back() -> bool:
            try:
                return await store.list_ledgers() == [1]
            except MetadataUnavailable:
                return False

        await until(back)
        await store.stop()

    run_in_reactor(scenario, timeout_s=60)


@pytest.mark.java
def test_a_restarted_server_is_found_again(own_zookeeper: ZooKeeper) -> None:
    store = short_lived(own_zookeeper.hosts, "/ledgers", session_timeout_s=6.0)

    async def prepare() -> None:
        await store.start()
        await store.initialize()
        await store.register_bookie("a:1", INFO)

    async def goes_on() -> None:
        created = await store.create_ledger(3, METADATA)
        assert await store.read_ledger(3) == created

        async def registered() -> bool:
            return bool(await store.writable_bookies() == {"a:1"})

        await until(registered)
        await store.stop()

    run_in_reactor(prepare)
    own_zookeeper.stop()
    own_zookeeper.start()
    run_in_reactor(goes_on, timeout_s=30)


def test_nobody_there_at_start() -> None:
    port = choose_port()

    async def scenario() -> None:
        store = short_lived(f"127.0.0.1:{port}", "/ledgers", operation_timeout_s=1.0)
        with pytest.raises(MetadataUnavailable, match=f"no ZooKeeper at 127.0.0.1:{port}"):
            await store.start()
        with pytest.raises(MetadataUnavailable, match="stopped"):
            await store.read_ledger(1)
        await store.stop()

    run_in_reactor(scenario)


@pytest.mark.java
def test_no_thread_is_left_after_stop(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    async def scenario() -> None:
        stores = [
            short_lived(zookeeper.hosts, f"/{uuid.uuid4()}"),
            open_metadata_store(f"sqlite://{tmp_path}/meta.sqlite", reactor),
        ]
        for store in stores:
            await store.start()
            await store.initialize()
            store.watch_bookies(lambda: None)
            await store.register_bookie("a:1", INFO)
        for store in stores:
            await store.stop()

    before = set(threading.enumerate())
    run_in_reactor(scenario)
    deadline = time.monotonic() + 60
    while extra := set(threading.enumerate()) - before - {threading.current_thread()}:
        assert time.monotonic() < deadline, extra
        time.sleep(0.02)  # threads that are about to end
