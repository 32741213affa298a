"""One ZooKeeper metadata tree, shared with Java: a cluster that we made, ledgers and bookies seen from both sides."""

import re
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from kazoo.client import KazooClient
from twisted.internet import reactor

from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.targets import JavaTargets
from compat_tests.targets.zookeeper import ZooKeeper
from tests.reactor_thread import run_in_reactor

pytestmark = pytest.mark.java

CUSTOM = {"application": b"app", "bin": bytes(range(256)), "\u00fc": b""}
EVERY_BYTE = {"every byte": bytes(range(256))}
LONG_ID = 2**31 + 5


def on_store(root_uri: str, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    """Run ``work`` on a store that is open for so long."""

    async def run() -> Any:
        store = open_metadata_store(root_uri, reactor)
        await store.start()
        try:
            return await work(store)
        finally:
            await store.stop()

    return run_in_reactor(run, timeout_s=60)


def test_java_and_we_share_one_tree(
    java_release: str, zookeeper: ZooKeeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "POSIX")  # as in a container: what it writes in is no matter of the locale
    cluster = Cluster(zookeeper.hosts, f"/{uuid.uuid4()}/ledgers")
    assert on_store(cluster.uri, lambda store: store.initialize()) is True
    with JavaTargets(cluster, tmp_path) as targets:
        bookie = targets.bookie(java_release)
        client = targets.client(java_release)
        on_store(cluster.uri, lambda store: sees_the_bookie(store, bookie))
        written = client.create_ledger(digest="MAC", password=b"pw", custom=CUSTOM)
        written.append_many(3, 100)
        open_metadata = on_store(cluster.uri, lambda store: store.read_ledger(written.ledger_id)).metadata
        written.close()
        closed_metadata = on_store(cluster.uri, lambda store: store.read_ledger(written.ledger_id)).metadata
        assert (open_metadata.state, open_metadata.last_entry_id) == (LedgerState.OPEN, -1)
        assert (closed_metadata.state, closed_metadata.last_entry_id, closed_metadata.length) == (
            LedgerState.CLOSED,
            2,
            300,
        )
        for metadata in (open_metadata, closed_metadata):
            assert metadata.fragments == (Fragment(0, (bookie.bookie_id,)),)
            assert (metadata.digest_type, metadata.password) == (DigestType.MAC, b"pw")
            assert metadata.custom_metadata == CUSTOM

        ours = on_store(cluster.uri, lambda store: creates_ledgers(store, bookie.bookie_id))
        assert written.ledger_id not in ours
        everything = sorted([written.ledger_id, *ours])
        assert sorted(client.ledgers()) == everything
        assert on_store(cluster.uri, lambda store: store.list_ledgers()) == everything
        for form, ledger_id in zip((3, 2, 3), ours, strict=True):
            seen = client.metadata(ledger_id)
            assert (seen.state, seen.last_entry, seen.length) == ("CLOSED", 4, 50)
            assert (seen.ensemble, seen.write, seen.ack, seen.digest) == (1, 1, 1, "CRC32C")
            assert seen.fragments == {0: [bookie.bookie_id]}
            assert seen.custom == CUSTOM
            assert seen.format_version == form
        next_of_java = client.create_ledger(custom=EVERY_BYTE)
        as_text = targets.client(java_release, settings={"ledgerMetadataVersion": 2}).create_ledger(custom=EVERY_BYTE)
        assert not {next_of_java.ledger_id, as_text.ledger_id} & set(everything)
        client.delete_ledger(ours[0])
        assert ours[0] not in on_store(cluster.uri, lambda store: store.list_ledgers())
        for ledger in (next_of_java, as_text):
            update_keeps_javas_bytes(zookeeper, cluster, ledger.ledger_id)


async def sees_the_bookie(store: Any, bookie: Any) -> None:
    assert await store.writable_bookies() == {bookie.bookie_id}
    info = await store.bookie_info(bookie.bookie_id)
    assert f"{info.host}:{info.port}" == bookie.address
    cookie, version = await store.read_cookie(bookie.bookie_id)
    assert b"bookieHost:" in cookie
    assert version == 0
    assert (await store.instance_id()).encode() in cookie


async def creates_ledgers(store: Any, bookie_id: str) -> list[int]:
    """Closed ledgers: one in the binary form, one in text, one with a long id."""
    metadata = LedgerMetadata(1, 1, 1, [Fragment(0, (bookie_id,))], DigestType.CRC32C, b"pw", custom_metadata=CUSTOM)
    ids = [await store.new_ledger_id(), await store.new_ledger_id(), LONG_ID]
    for ledger_id, form in zip(ids, (3, 2, 3), strict=True):
        created = await store.create_ledger(ledger_id, evolve(metadata, format_version=form))
        await store.write_ledger(ledger_id, created.metadata.with_close(4, 50), created.version)
    return ids


def update_keeps_javas_bytes(zookeeper: ZooKeeper, cluster: Cluster, ledger_id: int) -> None:
    """An update of ours that changes the state only changes the bytes of the state and of the token only."""
    client = KazooClient(zookeeper.hosts)
    client.start(10)
    try:
        path = LedgerTree(cluster.root).path(ledger_id)
        before = client.get(path)[0]

        async def recover(store: Any) -> None:
            stored = await store.read_ledger(ledger_id)
            await store.write_ledger(ledger_id, stored.metadata.with_state(LedgerState.IN_RECOVERY), stored.version)

        on_store(cluster.uri, recover)
        after = client.get(path)[0]
    finally:
        client.stop()
        client.close()
    if before.startswith(b"BookieMetadataFormatVersion\t2\n"):
        for octal, letter in ((rb"\007", rb"\a"), (rb"\013", rb"\v")):  # 4.18 has no letters for these two
            before = before.replace(octal, letter)
        assert after == before.replace(b"state: OPEN", b"state: IN_RECOVERY")
    else:
        body = before[before.index(b"\x08") : start_of_token(before)].replace(b"\x28\x01\x32", b"\x28\x02\x32")
        assert after.endswith(body + b"\x60\x00")


def start_of_token(stored: bytes) -> int:
    """Where the create token begins, the last field: its tag, and a number whose last byte may look like that tag."""
    found = re.search(rb"\x60[\x80-\xff]*[\x00-\x7f]\Z", stored)
    assert found
    return found.start()


@pytest.mark.parametrize("number", [b"\x00", b"\x60", b"\xe0\x60", b"\x80\xe0\xff\x7f"])
def test_a_token_is_found_whatever_its_number(number: bytes) -> None:
    assert start_of_token(b"\x08\x60\x5a\x60\x01" + b"\x60" + number) == 5
