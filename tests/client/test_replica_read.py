"""A read that is slow at one replica is made at the next as well, and the first good answer counts."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.read_order import ASKED_LAST_S
from bookkeeper_tx.config import QUARANTINE_S, ClientConfig
from bookkeeper_tx.errors import NoSuchEntry, RequestTimedOut, StorageFailed
from protocol_specs.metadata.bookie import BATCH_READ_V3, LEDGER_SCOPE_ID
from tests.client.open_ledgers import tailed
from tests.client.puppets import Cluster

HOW: dict[str, Callable[[LedgerReader], Deferred[Any]]] = {
    "entry": lambda reader: reader.read_entry(0),
    "batch": lambda reader: reader.read(0, 0),
    "singles": lambda reader: reader.read(0, 0, batch=False),
    "one batch": lambda reader: reader.read_batch(0, 1),
}


def payload_of(found: Any) -> bytes:
    return bytes(found.payloads[0] if hasattr(found, "payloads") else found.payload)


@pytest.fixture
def opened() -> tuple[Cluster, LedgerReader, list[str]]:
    """A closed ledger whose bookies are known to serve batch read; its bookies in the order in which they are asked."""
    cluster, writer, _ = tailed((3, 3, 3))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    for first in range(3):
        cluster.result(reader.read_batch(first, 1))
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
    return cluster, reader, list(reader.metadata.last_fragment.ensemble)


def fired(deferred: Deferred[Any]) -> list[Any]:
    found: list[Any] = []
    deferred.addBoth(found.append)
    return found


def asked(cluster: Cluster) -> dict[str, int]:
    return {bookie.bookie_id: len(bookie.requests) for bookie in cluster.bookies.values() if bookie.requests}


@pytest.mark.parametrize("how", HOW)
def test_the_next_replica_answers_for_one_that_hangs(how: str, opened: Any) -> None:
    cluster, reader, (first, second, _) = opened
    found = fired(HOW[how](reader))
    cluster.network.slow(f"request {first}")
    cluster.network.deliver(cluster.network.find(f"request {second}"))
    cluster.network.deliver(cluster.network.find(f"reply {second}"))
    assert payload_of(found[0]) == b"entry 0"
    assert asked(cluster) == {first: 1, second: 1}
    cluster.network.run()
    assert len(found) == 1, "the answer that comes late changes nothing"


@pytest.mark.parametrize("how", HOW)
def test_the_answer_of_the_slow_one_counts_if_it_is_first(how: str, opened: Any) -> None:
    cluster, reader, (first, second, _) = opened
    found = fired(HOW[how](reader))
    cluster.network.slow(f"request {first}")
    cluster.network.run()
    assert payload_of(found[0]) == b"entry 0"
    assert asked(cluster) == {first: 1, second: 1}


@pytest.mark.parametrize("how", HOW)
def test_a_slow_replica_is_not_given_up_for_one_that_lacks_the_entry(how: str, opened: Any) -> None:
    cluster, reader, (first, second, third) = opened
    for lacking in (second, third):
        cluster.bookies[lacking].fails = NoSuchEntry()
    found = fired(HOW[how](reader))
    cluster.network.slow(f"request {first}")
    late = cluster.network.messages.pop(cluster.network.find(f"request {first}"))
    cluster.network.run()
    assert not found, "an entry is absent only if every replica says so"
    late.arrive()
    cluster.network.run()
    assert payload_of(found[0]) == b"entry 0"


def test_every_error_is_waited_for(opened: Any) -> None:
    cluster, reader, ensemble = opened
    for bookie_id in ensemble[1:]:
        cluster.bookies[bookie_id].fails = NoSuchEntry()
    found = fired(reader.read_entry(0))
    cluster.network.slow(f"request {ensemble[0]}")
    late = cluster.network.messages.pop(cluster.network.find(f"request {ensemble[0]}"))
    cluster.network.run()
    late.lost(RequestTimedOut())
    cluster.network.run()
    assert found[0].check(RequestTimedOut), "it says more than that others lack the entry"


def test_a_bookie_that_owes_an_answer_is_asked_last(opened: Any) -> None:
    cluster, reader, (first, *_) = opened
    found = fired(reader.read_entry(0))
    cluster.network.slow(f"request {first}")
    late = cluster.network.messages.pop(cluster.network.find(f"request {first}"))
    cluster.network.run()
    for _ in range(3):
        assert payload_of(cluster.result(reader.read_entry(0))) == b"entry 0"
        assert payload_of(cluster.result(reader.read(0, 0))) == b"entry 0"
    assert asked(cluster)[first] == 1
    late.arrive()
    cluster.network.run()
    cluster.result(reader.read_entry(0))
    assert asked(cluster)[first] == 2, "it has answered"
    assert len(found) == 1


def test_and_so_is_one_whose_answer_never_comes(opened: Any) -> None:
    cluster, reader, (first, *_) = opened
    cluster.network.messages.clear()
    fired(reader.read_entry(0))
    cluster.network.slow(f"request {first}")
    cluster.network.lose(cluster.network.find(f"request {first}"))
    cluster.network.run()
    cluster.result(reader.read_entry(0))
    assert asked(cluster)[first] == 1, "it is in quarantine now"


def test_no_read_goes_to_a_replica_that_is_slow_itself_at_once(opened: Any) -> None:
    cluster, reader, (first, second, third) = opened
    reads = [fired(reader.read_entry(entry_id)) for entry_id in (1, 2, 0)]
    for bookie_id in (second, third):
        cluster.network.slow(f"request {bookie_id}")
    requests = asked(cluster)
    cluster.network.slow(f"request {first} read {reader.ledger_id}/0")
    assert asked(cluster) == requests
    cluster.clock.advance(2.1)
    assert sum(asked(cluster).values()) == sum(requests.values()) + 1, "but after as much time again"
    cluster.network.run()
    assert [payload_of(each[0]) for each in reads] == [b"entry 1", b"entry 2", b"entry 0"]
    assert not cluster.clock.getDelayedCalls()


def test_all_reads_are_told_that_wait_to_know_whether_a_bookie_has_batch_read() -> None:
    cluster, writer, _ = tailed((3, 3, 3))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    first, second, _ = reader.metadata.last_fragment.ensemble
    found = [fired(reader.read_batch(0, 1)) for _ in range(3)]
    cluster.network.slow(f"request {first} batch")
    cluster.network.messages.pop(cluster.network.find(f"request {first} batch"))
    cluster.network.run()
    assert [payload_of(each[0]) for each in found] == [b"entry 0"] * 3
    assert asked(cluster)[second] >= 3


def test_a_bookie_owes_nothing_after_a_slow_probe_has_failed_while_a_read_came_to_wait_for_it() -> None:
    cluster, writer, _ = tailed((3, 3, 3))
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id, b"pw"))
    first, *others = reader.metadata.last_fragment.ensemble
    probe = fired(reader.read_batch(0, 1))
    for bookie_id in (first, *others):
        cluster.network.slow(f"request {bookie_id} batch")
    waiting = fired(reader.read_batch(0, 1))
    cluster.network.lose(cluster.network.find(f"request {first} batch"))
    for _ in range(3):
        cluster.network.run()
        cluster.clock.advance(0)
    assert [payload_of(each[0]) for each in (probe, waiting)] == [b"entry 0"] * 2
    cluster.clock.advance(QUARANTINE_S + ASKED_LAST_S)
    before = asked(cluster).get(first, 0)
    cluster.result(reader.read_entry(0))
    assert asked(cluster)[first] == before + 1


def test_a_slow_read_that_was_given_up_ends_once(opened: Any) -> None:
    cluster, reader, (first, *_) = opened
    reading = reader.read_entry(0)
    found = fired(reading)
    reading.cancel()
    cluster.network.slow(f"request {first}")
    cluster.network.run()
    assert len(found) == 1


@pytest.mark.parametrize("how", HOW)
def test_without_a_slow_replica_one_is_asked(how: str, opened: Any) -> None:
    cluster, reader, (first, *_) = opened
    assert payload_of(cluster.result(HOW[how](reader))) == b"entry 0"
    assert asked(cluster) == {first: 1}


def test_after_an_error_a_replica_that_owes_an_answer_is_asked_last(opened: Any) -> None:
    cluster, reader, (first, second, third) = opened
    late = fired(reader.read_entry(1))
    cluster.bookies[first].fails = StorageFailed()
    found = fired(reader.read_entry(0))
    cluster.network.slow(f"request {second}")
    cluster.network.deliver(cluster.network.find(f"request {first}"))
    cluster.network.deliver(cluster.network.find(f"reply {first}"))
    assert asked(cluster) == {second: 1, first: 1, third: 2}
    cluster.network.run()
    assert [payload_of(each[0]) for each in (late, found)] == [b"entry 1", b"entry 0"]


def test_reads_are_told_that_wait_to_know_whether_a_bookie_knows_scopes() -> None:
    cluster = Cluster()
    for bookie in cluster.bookies.values():
        bookie.extensions = frozenset({LEDGER_SCOPE_ID, BATCH_READ_V3})
    client = cluster.client(ClientConfig(protocol="v3"))
    writer = cluster.result(client.create_ledger(3, 3, 3, scope_id=1))
    cluster.result(writer.append(b"entry 0"))
    cluster.result(writer.close())
    first = writer.metadata.last_fragment.ensemble[0]
    for bookie in cluster.bookies.values():
        bookie.extensions = None
    other = cluster.client(ClientConfig(protocol="v3"))
    reader = cluster.result(other.open_ledger(writer.ledger_id))
    found = [fired(HOW[how](reader)) for how in ("entry", "singles", "batch")]
    while not any(f"request {first} lac" in each.text for each in cluster.network.messages):
        cluster.network.deliver()
    cluster.network.slow(f"request {first} lac")
    cluster.network.messages.pop(cluster.network.find(f"request {first} lac"))
    for _ in range(3):
        cluster.network.run()
        cluster.clock.advance(0)
    assert [payload_of(each[0]) for each in found] == [b"entry 0"] * 3
