"""What every metadata store must do: scenarios on an IMetadataStore, run on each store by tests/integration.

A scenario is a coroutine function; it gets a :class:`Cluster` of a kind of store and opens the stores it needs.
``cluster.open()`` is another process's view as far as the store can tell.
"""

import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.errors import (
    BookieIdInUse,
    BookieUnavailable,
    InvalidArgument,
    LedgerExists,
    MetadataConflict,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.metadata import ledger_serialization
from bookkeeper_tx.model import BookieServiceInfo, DigestType, Fragment, LedgerId, LedgerMetadata, LedgerState
from protocol_specs.metadata import bookie

INFO = BookieServiceInfo("127.0.0.1", 3181)
OTHER_INFO = BookieServiceInfo("127.0.0.1", 4181, extensions=frozenset({bookie.LEDGER_SCOPE_ID, bookie.TLS}))
METADATA = LedgerMetadata(
    2, 2, 1, [Fragment(0, ("a:1", "b:2"))], DigestType.CRC32C, b"pw", custom_metadata={"app": b"\x00x"}
)


class Cluster:
    """One metadata cluster under test; a kind of store subclasses it."""

    async def open(self) -> Any:
        """Return another started store of the cluster."""
        raise NotImplementedError

    async def raw_ledger(self, ledger_id: int) -> bytes:
        """Return the stored bytes of a ledger's metadata."""
        raise NotImplementedError

    async def put_raw_ledger(self, ledger_id: int, record: bytes) -> None:
        """Store bytes as a ledger's metadata, as somebody else does."""
        raise NotImplementedError

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], timeout_s: float = 10) -> None:
        """Wait until ``condition()`` holds."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop all stores that were opened."""
        raise NotImplementedError


Scenario = Callable[[Cluster], Coroutine[Any, Any, None]]
LedgerScenario = Callable[[Cluster, Callable[[int], int]], Coroutine[Any, Any, None]]
SCENARIOS: list[Any] = []

SCOPE_ID = -7_000_000_000_000_000_001
"""Some scope with the upper bit set, as half of all UUIDs have it."""


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


def ledger_scenario(function: LedgerScenario) -> LedgerScenario:
    """A scenario that is run in scope 0 and in another one; it is given what turns a number into an id there."""
    for where, id_of in (("", int), ("_in_a_scope", lambda number: LedgerId(number, SCOPE_ID))):
        SCENARIOS.append(pytest.param(partial(function, at=id_of), id=function.__name__ + where))
    return function


# The cluster ---------------------------------------------------------------------------------------------------------


@scenario
async def a_new_cluster_has_an_instance_id_and_keeps_it(cluster: Cluster) -> None:
    first, second = await cluster.open(), await cluster.open()
    assert await first.initialize() is True
    assert await second.initialize() is False
    instance_id = await first.instance_id()
    assert len(instance_id) == 36
    assert await second.instance_id() == instance_id


@scenario
async def before_it_is_initialized_a_cluster_says_what_to_do(cluster: Cluster) -> None:
    store = await cluster.open()
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        await store.new_ledger_id()
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        await store.create_ledger(1, METADATA)
    await store.initialize()
    assert await store.new_ledger_id() == 0


@scenario
async def after_stop_everything_fails_at_once(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    await store.stop()
    await store.stop()
    with pytest.raises(MetadataUnavailable, match="stopped"):
        await store.list_ledgers()
    with pytest.raises(MetadataUnavailable, match="stopped"):
        await store.register_bookie("a:1", INFO)


# Ledgers -------------------------------------------------------------------------------------------------------------


@scenario
async def ledger_ids_are_given_once(cluster: Cluster) -> None:
    stores = [await cluster.open() for _ in range(3)]
    await stores[0].initialize()
    pending = [store.new_ledger_id() for _ in range(10) for store in stores]
    ids = [await each for each in pending]
    assert sorted(ids) == list(range(30))


@ledger_scenario
async def a_ledger_is_created_read_changed_and_deleted(cluster: Cluster, at: Callable[[int], int]) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    created = await store.create_ledger(at(7), METADATA)
    assert created.version == 0
    assert evolve(created.metadata, create_token=None) == METADATA
    assert await other.read_ledger(at(7)) == created
    closed = await other.write_ledger(at(7), created.metadata.with_close(41, 1000), created.version)
    assert (closed.version, closed.metadata.create_token) == (1, 0)
    assert await store.read_ledger(at(7)) == closed
    assert closed.metadata.state is LedgerState.CLOSED
    await store.delete_ledger(at(7))
    for missing in (other.read_ledger(at(7)), other.delete_ledger(at(7)), other.write_ledger(at(7), METADATA, 1)):
        with pytest.raises(NoSuchLedger, match="7"):
            await missing
    assert (await store.create_ledger(at(7), METADATA)).version == 0


@ledger_scenario
async def stored_bytes_are_the_binary_form(cluster: Cluster, at: Callable[[int], int]) -> None:
    store = await cluster.open()
    await store.initialize()
    created = await store.create_ledger(at(3), METADATA)
    record = await cluster.raw_ledger(at(3))
    assert record == ledger_serialization.serialize(created.metadata)
    assert record.startswith(b"BookieMetadataFormatVersion\t3\n")
    assert 0 <= created.metadata.create_token < 2**63
    await store.write_ledger(at(3), created.metadata, 0)
    assert (await cluster.raw_ledger(at(3))).endswith(b"\x60\x00")


@ledger_scenario
async def an_update_keeps_the_stored_form(cluster: Cluster, at: Callable[[int], int]) -> None:
    store = await cluster.open()
    await store.initialize()
    await store.create_ledger(at(0), METADATA)
    for form, metadata in enumerate(
        (evolve(METADATA, digest_type=None, password=None, ack_quorum_size=2), METADATA), 1
    ):
        custom = {} if form == 1 else METADATA.custom_metadata
        old = evolve(metadata, format_version=form, custom_metadata=custom)
        await cluster.put_raw_ledger(at(form), ledger_serialization.serialize(old))
        stored = await store.read_ledger(at(form))
        await store.write_ledger(at(form), stored.metadata.with_state(LedgerState.IN_RECOVERY), stored.version)
        assert (await cluster.raw_ledger(at(form))).startswith(b"BookieMetadataFormatVersion\t%d\n" % form)
        assert (await store.read_ledger(at(form))).metadata == old.with_state(LedgerState.IN_RECOVERY)


@ledger_scenario
async def an_existing_ledger_is_not_created_again(cluster: Cluster, at: Callable[[int], int]) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    created = await store.create_ledger(at(1), METADATA)
    with pytest.raises(LedgerExists, match="1"):
        await other.create_ledger(at(1), METADATA)
    with pytest.raises(LedgerExists):
        await store.create_ledger(at(1), METADATA)
    assert await store.read_ledger(at(1)) == created


@ledger_scenario
async def of_two_writers_one_wins(cluster: Cluster, at: Callable[[int], int]) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    created = await store.create_ledger(at(1), METADATA)
    results = []
    for write in [each.write_ledger(at(1), METADATA.with_close(n, n), 0) for n in range(5) for each in (store, other)]:
        try:
            results.append(await write)
        except MetadataConflict:
            pass
    assert len(results) == 1
    assert await store.read_ledger(at(1)) == results[0]
    assert created.version == 0


@scenario
async def ledgers_are_listed_ascending(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    assert await store.list_ledgers() == []
    ids = [0, 1, 9999, 10000, 2**31 - 2, 2**31 - 1, 2**31, 2**32 + 5, 10**18, 2**63 - 1]
    for ledger_id in random.Random(5).sample(ids, len(ids)):
        await store.create_ledger(ledger_id, METADATA)
    assert await store.list_ledgers() == ids
    for ledger_id in ids[::2]:
        await store.delete_ledger(ledger_id)
    assert await store.list_ledgers() == ids[1::2]


@scenario
async def ledgers_are_listed_by_scope_or_all(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    for scope_id in (0, 1, None):
        assert await other.list_ledgers(scope_id) == []
    halves = (0, 1, 2**16, 2**31 - 1, 2**63 - 1)
    scopes = {
        scope_id: [LedgerId(half, scope_id) for half in (*halves, *(() if scope_id == 0 else (-(2**63), -1)))]
        for scope_id in (0, 1, 2**63 - 1, -(2**63), -1)
    }
    everything = [each for ids in scopes.values() for each in ids]
    for ledger_id in random.Random(7).sample(everything, len(everything)):
        await store.create_ledger(ledger_id, METADATA)
    assert await other.list_ledgers() == scopes[0]
    for scope_id, ids in scopes.items():
        assert await other.list_ledgers(scope_id) == ids
    assert await other.list_ledgers(2) == []
    assert await other.list_ledgers(None) == everything == sorted(everything)
    for ledger_id in everything:
        if ledger_id != scopes[0][0]:
            await store.delete_ledger(ledger_id)
    assert await other.list_ledgers(None) == scopes[0][:1]


@scenario
async def equal_halves_in_two_scopes_are_two_ledgers(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    pair = (5, LedgerId(5, SCOPE_ID))
    for length, ledger_id in enumerate(pair):
        created = await store.create_ledger(ledger_id, METADATA)
        await store.write_ledger(ledger_id, created.metadata.with_close(0, length), 0)
    assert [(await store.read_ledger(each)).metadata.length for each in pair] == [0, 1]
    await store.delete_ledger(pair[0])
    assert (await store.read_ledger(pair[1])).metadata.length == 1
    with pytest.raises(NoSuchLedger, match=r"there is no ledger 5$"):
        await store.read_ledger(pair[0])
    await store.delete_ledger(pair[1])
    with pytest.raises(NoSuchLedger, match=pair[1].qualified_name):
        await store.read_ledger(pair[1])


@scenario
async def impossible_ledger_ids_are_refused(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    for ledger_id in (-1, 2**63, 2**64 - 1, 2**128, True, "7"):
        with pytest.raises(InvalidArgument, match="no ledger id"):
            await store.create_ledger(ledger_id, METADATA)


@ledger_scenario
async def a_ledger_is_watched(cluster: Cluster, at: Callable[[int], int]) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    await store.create_ledger(at(1), METADATA)
    await store.create_ledger(at(2), METADATA)
    own: list[int] = []
    far: list[int] = []
    store.watch_ledger(at(1), lambda: own.append(1))
    end = other.watch_ledger(at(1), lambda: far.append(1))
    await other.read_ledger(at(1))
    await store.write_ledger(at(2), METADATA, 0)
    await store.write_ledger(at(1), METADATA, 0)
    await cluster.until(lambda: len(own) == 1 and len(far) == 1)
    await other.write_ledger(at(1), METADATA, 1)
    await cluster.until(lambda: len(own) == 2 and len(far) == 2)
    end()
    await store.delete_ledger(at(1))
    await cluster.until(lambda: len(own) == 3)
    assert len(far) == 2


# Bookies -------------------------------------------------------------------------------------------------------------


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
    other.watch_bookies(lambda: calls.append(1))
    end = other.watch_bookies(lambda: other.writable_bookies().addCallback(seen.append))
    await store.register_bookie("a:1", INFO)
    await cluster.until(lambda: seen[-1:] == [frozenset({"a:1"})])
    await store.register_bookie("b:1", INFO)
    await cluster.until(lambda: seen[-1:] == [frozenset({"a:1", "b:1"})])
    await store.register_bookie("a:1", INFO, read_only=True)
    await cluster.until(lambda: seen[-1:] == [frozenset({"b:1"})])
    end()
    calls.clear()
    await store.stop()
    await cluster.until(lambda: bool(calls))
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
