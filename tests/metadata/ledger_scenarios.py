"""The contract of every metadata store for ledgers: scenarios as contract.py describes them."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_tx.errors import InvalidArgument, LedgerExists, MetadataConflict, NoSuchLedger
from bookkeeper_tx.metadata.ledger_record import serialization
from bookkeeper_tx.model import LedgerId, LedgerState
from tests.metadata.contract import METADATA, SCOPE_ID, Cluster, ledger_scenario, scenario


@scenario
async def ledger_ids_are_given_once(cluster: Cluster) -> None:
    stores = [await cluster.open() for _ in range(3)]
    await stores[0].initialize()
    pending = [store.new_ledger_id() for _ in range(10) for store in stores]
    ids = [await each for each in pending]
    assert len(set(ids)) == 30
    assert all(0 <= ledger_id < 2**31 - 1 for ledger_id in ids)


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
async def ledgers_come_and_go_in_one_range_under_two_clients(cluster: Cluster, at: Callable[[int], int]) -> None:
    first, second = await cluster.open(), await cluster.open()
    await first.initialize()

    async def come_and_go(store: Any, number: int) -> None:
        for _ in range(15):
            await store.create_ledger(at(number), METADATA)
            await store.delete_ledger(at(number))

    clients = [Deferred.fromCoroutine(come_and_go(store, n)) for n, store in enumerate((first, second, first, second))]
    await gatherResults(clients)
    assert await first.list_ledgers(None) == []


@ledger_scenario
async def stored_bytes_are_the_binary_form(cluster: Cluster, at: Callable[[int], int]) -> None:
    store = await cluster.open()
    await store.initialize()
    created = await store.create_ledger(at(3), METADATA)
    record = await cluster.raw_ledger(at(3))
    assert record == serialization.serialize(created.metadata)
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
        await cluster.put_raw_ledger(at(form), serialization.serialize(old))
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
