"""A writer that publishes what is confirmed as soon as it pauses."""

import gc
from weakref import ref

import pytest

from bookkeeper_tx.client.idle_publishing import AGAIN_S
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.errors import BookieUnavailable
from tests.client.puppets import Cluster
from tests.client.test_explicit_last_add_confirmed import advance, append, published

DELAY_S = 0.25


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def writer(cluster: Cluster) -> LedgerWriter:
    writer: LedgerWriter = cluster.result(cluster.client().create_ledger(3, 3, 2))
    writer.publish_when_idle(DELAY_S)
    return writer


def test_readers_hear_at_once_of_an_entry_alone(cluster: Cluster, writer: LedgerWriter) -> None:
    advance(cluster, 9)
    assert published(cluster) == []
    for entry_id in range(3):
        append(cluster, writer, 1)
        advance(cluster, 0)
        assert published(cluster) == list(range(entry_id + 1))
        advance(cluster, 9)
    assert cluster.clock.getDelayedCalls() == []


def followed(cluster: Cluster, writer: LedgerWriter, count: int) -> None:
    """Append entries, each as soon as the one before is acknowledged."""
    for _ in range(count):
        appending = writer.append(b"")
        cluster.clock.advance(0)
        cluster.result(appending)
    cluster.network.run()


def test_behind_entries_that_follow_each_other_it_waits_a_while(cluster: Cluster, writer: LedgerWriter) -> None:
    followed(cluster, writer, 3)
    advance(cluster, DELAY_S / 2)
    assert published(cluster) == []
    advance(cluster, DELAY_S / 2)
    assert published(cluster) == [2]
    append(cluster, writer, 1)
    advance(cluster, 0)
    assert published(cluster) == [2, 3], "there was a pause"


def test_who_appends_a_little_later_publishes_once(cluster: Cluster, writer: LedgerWriter) -> None:
    """As a thread does that waits for each entry: the next comes when that was published already."""
    for _ in range(5):
        appending = writer.append(b"")
        cluster.result(appending)
        cluster.clock.advance(0)
    assert published(cluster) == [0]
    advance(cluster, DELAY_S)
    assert published(cluster) == [0, 4]


def test_nothing_is_published_while_an_entry_is_on_its_way(cluster: Cluster, writer: LedgerWriter) -> None:
    append(cluster, writer, 1)
    writer.append(b"1").addErrback(lambda _: None)
    cluster.clock.advance(DELAY_S)
    assert published(cluster) == []
    cluster.network.run()
    advance(cluster, DELAY_S)
    assert published(cluster) == [1]


def test_one_is_on_its_way_at_a_time_and_what_came_meanwhile_follows(cluster: Cluster, writer: LedgerWriter) -> None:
    append(cluster, writer, 1)
    cluster.clock.advance(0)
    on_its_way = writer.append(b"1")
    while others := [at for at, each in enumerate(cluster.network.messages) if "write-lac" not in each.text]:
        cluster.network.deliver(others[0])
    assert len(cluster.network.messages) == 3
    assert cluster.result(on_its_way) == 1
    cluster.clock.advance(DELAY_S)
    cluster.network.run()
    assert published(cluster) == [0]
    advance(cluster, DELAY_S)
    assert published(cluster) == [0, 1]


def test_it_is_tried_again_when_too_few_bookies_have_taken_it(cluster: Cluster, writer: LedgerWriter) -> None:
    append(cluster, writer, 1)
    cluster.clock.advance(DELAY_S)
    for _ in range(3):
        cluster.network.lose(cluster.network.find("write-lac"), BookieUnavailable())
    cluster.network.run()
    stored = [bookie.ledgers[0] for bookie in cluster.bookies.values() if bookie.ledgers]
    assert [each.explicit_lac for each in stored] == [None] * 3
    advance(cluster, DELAY_S)
    assert [each.explicit_lac for each in stored] == [None] * 3
    advance(cluster, AGAIN_S)
    assert all(each.explicit_lac for each in stored)


def test_what_cannot_be_published_holds_up_nothing_that_comes_later(
    cluster: Cluster, writer: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(writer._driver, "warn", warned.append)

    def refuse() -> None:
        for _ in range(3):
            cluster.network.lose(cluster.network.find("write-lac"), BookieUnavailable())
        cluster.network.run()

    append(cluster, writer, 1)
    cluster.clock.advance(0)
    refuse()
    for _ in range(5):
        cluster.clock.advance(AGAIN_S)
        refuse()
    assert len(warned) == 1
    append(cluster, writer, 1)
    advance(cluster, DELAY_S)
    assert 1 in published(cluster)


@pytest.mark.parametrize("end", ["close", "failure", "client"])
def test_it_ends_with_the_writer(end: str) -> None:
    cluster = Cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger())
    writer.publish_when_idle(DELAY_S)
    append(cluster, writer, 1)
    if end == "close":
        cluster.result(writer.close())
    elif end == "failure":
        writer._adds.fail(BookieUnavailable())
    else:
        cluster.result(client.close())
    advance(cluster, DELAY_S)
    assert published(cluster) == []
    assert cluster.clock.getDelayedCalls() == []


def test_a_writer_that_was_dropped_is_not_kept_by_its_clock(cluster: Cluster) -> None:
    writer = cluster.result(cluster.client().create_ledger())
    writer.publish_when_idle(DELAY_S)
    append(cluster, writer, 2)
    dropped = ref(writer)
    del writer
    gc.collect()
    assert dropped() is None
    advance(cluster, DELAY_S)
    assert (published(cluster), cluster.clock.getDelayedCalls()) == ([], [])
