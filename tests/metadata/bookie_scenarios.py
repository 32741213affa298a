"""The contract of every metadata store for bookies and cookies: scenarios as contract.py describes them."""

from typing import Any

import pytest

from bookkeeper_tx.errors import BookieIdInUse, BookieUnavailable, InvalidArgument, MetadataConflict, NoSuchLedger
from bookkeeper_tx.model import Replication
from tests.metadata.contract import INFO, METADATA, OTHER_INFO, Cluster, scenario


@scenario
async def a_bookie_is_registered_changed_and_unregistered(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    assert await other.writable_bookies() == frozenset()
    await store.register_bookie("a:1", INFO)
    assert await other.writable_bookies() == {"a:1"}
    assert await other.read_only_bookies() == frozenset()
    assert await other.bookie_info("a:1") == INFO
    await store.register_bookie("a:1", OTHER_INFO, read_only=True)
    assert await other.writable_bookies() == frozenset()
    assert await other.read_only_bookies() == {"a:1"}
    assert await other.bookie_info("a:1") == OTHER_INFO
    await store.register_bookie("a:1", OTHER_INFO)
    await store.register_bookie("a:1", INFO)
    assert await other.writable_bookies() == {"a:1"}
    assert await other.bookie_info("a:1") == INFO
    await store.unregister_bookie("a:1")
    await store.unregister_bookie("a:1")
    assert await other.writable_bookies() == frozenset()
    with pytest.raises(BookieUnavailable, match="a:1"):
        await other.bookie_info("a:1")


@scenario
async def a_second_bookie_of_an_id_is_refused_while_the_first_lives(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    await store.register_bookie("a:1", INFO)
    for read_only in (False, True):
        with pytest.raises(BookieIdInUse, match="a:1"):
            await other.register_bookie("a:1", OTHER_INFO, read_only=read_only)
    await other.unregister_bookie("a:1")
    assert await other.bookie_info("a:1") == INFO
    await store.stop()
    await other.register_bookie("a:1", OTHER_INFO)
    assert await other.bookie_info("a:1") == OTHER_INFO


@scenario
async def bookies_are_watched(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    seen: list[frozenset[str]] = []
    calls: list[int] = []
    looks: list[Any] = []
    other.watch_bookies(lambda: calls.append(1))
    end = other.watch_bookies(lambda: looks.append(other.writable_bookies().addCallback(seen.append)))
    # The first stamp of a watch is at least as new as a read after it, so every later registration is a change.
    assert await other.writable_bookies() == frozenset()
    await store.register_bookie("a:1", INFO)
    await cluster.until(lambda: seen[-1:] == [frozenset({"a:1"})])
    await store.register_bookie("b:1", INFO)
    await cluster.until(lambda: seen[-1:] == [frozenset({"a:1", "b:1"})])
    await store.register_bookie("a:1", INFO, read_only=True)
    await cluster.until(lambda: seen[-1:] == [frozenset({"b:1"})])
    end()
    await cluster.until(lambda: len(seen) == len(looks))  # a look that began before the end may come back after it
    looked = len(looks)
    calls.clear()
    await store.stop()
    await cluster.until(lambda: bool(calls))
    assert len(looks) == looked
    assert seen[-1] == frozenset({"b:1"})


@scenario
async def bookie_ids_are_checked(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    for bookie_id in ("readonly", "", "a/b"):
        with pytest.raises(InvalidArgument, match="no bookie id"):
            await store.register_bookie(bookie_id, INFO)


@scenario
async def cookies_are_compared_and_set(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    assert await store.read_cookie("a:1") is None
    assert await store.write_cookie("a:1", b"5\none", None) == 0
    assert await other.read_cookie("a:1") == (b"5\none", 0)
    with pytest.raises(MetadataConflict, match="a:1"):
        await other.write_cookie("a:1", b"5\ntwo", None)
    assert await other.write_cookie("a:1", b"5\ntwo", 0) == 1
    for wrong in (store.write_cookie("a:1", b"x", 0), store.delete_cookie("a:1", 0)):
        with pytest.raises(MetadataConflict, match="a:1"):
            await wrong
    await store.delete_cookie("a:1", 1)
    assert await other.read_cookie("a:1") is None
    for gone in (store.write_cookie("a:1", b"x", 1), store.delete_cookie("a:1", 1)):
        with pytest.raises(MetadataConflict, match="a:1"):
            await gone


@scenario
async def those_with_a_cookie_are_listed(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    assert await store.cookie_bookies() == frozenset()
    await store.write_cookie("a:1", b"5\none", None)
    await store.write_cookie("b:1", b"5\none", None)
    assert await store.cookie_bookies() == {"a:1", "b:1"}


@scenario
async def the_latest_metadata_of_a_ledger_is_read(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    created = await other.create_ledger(7, METADATA)
    assert await store.read_latest_ledger(7) == created
    closed = await other.write_ledger(7, created.metadata.with_close(41, 1000), created.version)
    assert await store.read_latest_ledger(7) == closed
    await other.delete_ledger(7)
    with pytest.raises(NoSuchLedger, match="7"):
        await store.read_latest_ledger(7)


@scenario
async def nothing_is_re_replicated_in_a_new_cluster(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    assert await store.replication() == Replication()


@scenario
async def replication_can_be_locked_and_unlocked(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    assert await store.lock_replication(7, "a:1") is True
    await store.unlock_replication(7)
    await store.unlock_replication(7)
    assert await store.lock_replication(7, "a:1") is True
