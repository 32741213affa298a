"""The last add confirmed that a writer publishes between appends."""

import gc
from typing import Any
from weakref import ref

import pytest

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, RequestTimedOut
from bookkeeper_tx.model import DigestType
from tests.client.puppets import Cluster


def writing(
    sizes: tuple[int, int, int] = (3, 3, 2), interval_s: float = 0, protocol: str = "v2"
) -> tuple[Cluster, LedgerWriter]:
    cluster = Cluster()
    config = ClientConfig(explicit_lac_interval_s=interval_s, protocol=protocol)
    return cluster, cluster.result(cluster.client(config).create_ledger(*sizes))


def append(cluster: Cluster, writer: LedgerWriter, count: int) -> None:
    for _ in range(count):
        cluster.result(writer.append(b"payload"))
    cluster.network.run()


def published(cluster: Cluster) -> list[int]:
    """The numbers sent, in order, each once a round."""
    sent = [each for bookie in cluster.bookies.values() for each in bookie.requests if "write-lac" in each]
    return sorted({int(each.rpartition("/")[2]) for each in sent})


def advance(cluster: Cluster, seconds: float) -> None:
    cluster.clock.advance(seconds)
    cluster.network.run()


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_readers_see_what_was_written(protocol: str) -> None:
    cluster, writer = writing(protocol=protocol)
    append(cluster, writer, 3)
    assert cluster.result(writer.write_last_add_confirmed()) == 2
    cluster.network.run()
    body = EntryDigest(DigestType.CRC32C, b"").seal_last_add_confirmed(0, 2)
    assert all(cluster.bookies[each].ledgers[0].explicit_lac == body for each in writer.metadata.last_fragment.ensemble)
    reader = cluster.result(cluster.client(ClientConfig(protocol="v3")).open_ledger_no_recovery(0))
    assert reader.last_add_confirmed == 2


def test_before_the_first_entry_there_is_nothing_to_write() -> None:
    cluster, writer = writing()
    assert cluster.result(writer.write_last_add_confirmed()) == -1
    assert published(cluster) == []


def test_an_ack_quorum_of_the_write_set_is_enough() -> None:
    cluster, writer = writing((4, 3, 2))
    append(cluster, writer, 2)
    ensemble = writer.metadata.last_fragment.ensemble
    writing_it = writer.write_last_add_confirmed()
    for bookie in (ensemble[0], ensemble[3]):
        cluster.network.lose(cluster.network.find(f"request {bookie} write-lac"))
    assert cluster.result(writing_it) == 1
    writing_it = writer.write_last_add_confirmed()
    for bookie in (ensemble[1], ensemble[2]):
        cluster.network.lose(cluster.network.find(f"request {bookie} write-lac"))
    with pytest.raises(RequestTimedOut, match="too few bookies stored the last add confirmed 1 of ledger 0"):
        cluster.result(writing_it)


def test_by_itself_it_writes_only_what_no_append_has_told() -> None:
    cluster, writer = writing(interval_s=1)
    advance(cluster, 1)
    assert published(cluster) == []
    append(cluster, writer, 3)
    advance(cluster, 1)
    assert published(cluster) == [2]
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
    advance(cluster, 1)
    assert published(cluster) == [], "it has not advanced"
    # Entry 4 is on its way and carries 3 as its last add confirmed.
    cluster.result(writer.append(b"3"))
    cluster.network.run()
    writer.append(b"4").addErrback(lambda _: None)
    cluster.clock.advance(1)
    assert published(cluster) == []
    cluster.network.run()
    advance(cluster, 1)
    assert published(cluster) == [4]


def test_what_failed_is_tried_again_the_next_time() -> None:
    cluster, writer = writing(interval_s=1)
    append(cluster, writer, 1)
    cluster.clock.advance(1)
    for _ in range(3):
        cluster.network.lose(cluster.network.find("write-lac"), BookieUnavailable())
    assert cluster.bookies["b1"].ledgers[0].explicit_lac is None
    advance(cluster, 1)
    assert any(bookie.ledgers[0].explicit_lac for bookie in cluster.bookies.values() if bookie.ledgers)


@pytest.mark.parametrize(("entries", "told"), [(1, [0, 1]), (3, [0, 1, 2, 3]), (4, [0, 1, 2, 3, 4])])
def test_only_bookies_that_store_entries_are_told(entries: int, told: list[int]) -> None:
    cluster, writer = writing((5, 2, 2))
    append(cluster, writer, entries)
    cluster.result(writer.write_last_add_confirmed())
    cluster.network.run()
    ensemble = writer.metadata.last_fragment.ensemble
    asked = [at for at, each in enumerate(ensemble) if "write-lac" in "".join(cluster.bookies[each].requests)]
    assert asked == told


def test_after_a_change_of_the_ensemble_it_goes_to_the_write_set_at_least() -> None:
    cluster, writer = writing((3, 2, 2))
    append(cluster, writer, 4)
    victim = writer.metadata.last_fragment.ensemble[1]
    cluster.bookies[victim].down = True
    append(cluster, writer, 1)
    assert len(writer.metadata.fragments) == 2
    assert cluster.result(writer.write_last_add_confirmed()) == 4
    cluster.network.run()
    ensemble = writer.metadata.last_fragment.ensemble
    asked = [at for at, each in enumerate(ensemble) if "write-lac" in "".join(cluster.bookies[each].requests)]
    assert asked == [1, 2]


def test_a_bookie_that_was_told_and_has_no_entry_answers_too() -> None:
    cluster, writer = writing((4, 2, 2))
    append(cluster, writer, 1)
    body = EntryDigest(DigestType.CRC32C, b"").seal_last_add_confirmed(0, 0)
    for bookie in writer.metadata.last_fragment.ensemble[2:]:
        cluster.bookies[bookie].write_lac(0, writer._digest.master_key, body)
    reader = cluster.result(cluster.client(ClientConfig(protocol="v3")).open_ledger_no_recovery(0))
    assert reader.last_add_confirmed == 0


@pytest.mark.parametrize("end", ["close", "failure", "client", "client at rest"])
def test_it_ends_with_the_writer(end: str) -> None:
    cluster = Cluster()
    client = cluster.client(ClientConfig(explicit_lac_interval_s=1))
    writer = cluster.result(client.create_ledger())
    append(cluster, writer, 1)
    if end == "close":
        cluster.result(writer.close())
    elif end == "failure":
        writer._adds.fail(BookieUnavailable())
    elif end == "client at rest":
        cluster.result(client.close())
    else:
        cluster.clock.advance(1)
        cluster.result(client.close())
    advance(cluster, 1)
    pending: list[Any] = cluster.clock.getDelayedCalls()
    assert pending == []


def test_a_writer_that_was_dropped_is_not_kept_by_its_clock() -> None:
    cluster, writer = writing(interval_s=1.0)
    append(cluster, writer, 2)
    dropped = ref(writer)
    del writer
    gc.collect()
    assert dropped() is None
    advance(cluster, 1.0)
    assert cluster.clock.getDelayedCalls() == []
