"""A writer that goes on without a bookie says so, and takes another as soon as there is one."""

import gc

import pytest
from twisted.logger import LogEvent, globalLogPublisher

from bookkeeper_tx.errors import NotEnoughBookies
from bookkeeper_tx.model import LedgerState
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster
from tests.client.writers import writer_of

THREE = ("b1", "b2", "b3")


def join(cluster: Cluster, bookie_id: str) -> None:
    cluster.bookies[bookie_id] = PuppetBookie(bookie_id)
    cluster.bookies_changed()


def deliver_store(cluster: Cluster) -> None:
    while any("store" in each.text for each in cluster.network.messages):
        cluster.network.deliver(cluster.network.find("store"))


def test_the_writer_its_log_and_the_metadata_name_the_bookie() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    assert cluster.result(writer.append_many([b"x"] * 3)) == range(3)
    cluster.network.run()
    assert writer.under_replicated == frozenset()
    events: list[LogEvent] = []
    globalLogPublisher.addObserver(events.append)
    try:
        cluster.bookies["b2"].down = True
        for _ in range(5):
            cluster.result(writer.append(b"y"))
            cluster.network.run()
    finally:
        globalLogPublisher.removeObserver(events.append)
    assert writer.under_replicated == {"b2"}
    (text,) = [str(event.get("text")) for event in events]
    assert text.startswith("bookie b2 of ledger 0 has failed (")
    assert "from entry 3 on the ledger has a copy less" in text
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).custom_metadata == {"underReplicated": b"b2"}


def test_a_ledger_that_lacks_nothing_has_no_note() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster, (3, 3, 3))
    cluster.result(writer.append(b"x"))
    cluster.bookies["b2"].down = True
    with pytest.raises(NotEnoughBookies):
        cluster.result(writer.append(b"x"))
    assert writer.under_replicated == frozenset()
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).custom_metadata == {}


def test_a_bookie_that_joins_takes_the_place_of_the_one_that_failed() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    cluster.result(writer.append_many([b"x"] * 3))
    cluster.network.run()
    join(cluster, "b4")
    fragments = cluster.metadata(writer.ledger_id).fragments
    assert [each.first_entry_id for each in fragments] == [0, 3]
    assert set(fragments[1].ensemble) == {"b1", "b3", "b4"}
    cluster.result(writer.append_many([b"y"] * 3))
    cluster.network.run()
    assert cluster.holders(writer.ledger_id, 5) == {"b1", "b3", "b4"}
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).custom_metadata == {"underReplicated": b"b2"}


def test_one_that_joins_in_time_gets_every_entry() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    appended = writer.append_many([b"x"] * 3)
    while any(each.bookie_id == "b2" for each in cluster.network.messages):
        cluster.network.deliver(cluster.network.find("b2 add"))
    deliver_store(cluster)
    assert "b2" in writer._adds._lacking
    cluster.bookies["b4"] = PuppetBookie("b4")
    for changed in cluster.state.bookie_watchers:
        changed()
    deliver_store(cluster)
    assert not appended.called
    assert cluster.result(appended) == range(3)
    assert writer.under_replicated == frozenset()
    assert [each.first_entry_id for each in cluster.metadata(writer.ledger_id).fragments] == [0]
    assert cluster.holders(writer.ledger_id, 0) == {"b1", "b3", "b4"}


def test_the_bookie_itself_may_come_back() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    cluster.bookies_changed()
    cluster.result(writer.append(b"x"))
    cluster.network.run()
    cluster.bookies["b2"].down = False
    cluster.bookies_changed()
    cluster.result(writer.append(b"y"))
    cluster.network.run()
    assert cluster.holders(writer.ledger_id, 1) == set(THREE)
    assert writer.under_replicated == {"b2"}
    assert len(cluster.metadata(writer.ledger_id).fragments) == 1


def test_a_closed_writer_takes_no_other() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    cluster.result(writer.append(b"x"))
    cluster.network.run()
    cluster.result(writer.close())
    join(cluster, "b4")
    metadata = cluster.metadata(writer.ledger_id)
    assert (metadata.state, len(metadata.fragments)) == (LedgerState.CLOSED, 1)


def test_the_client_keeps_no_writer_that_was_dropped() -> None:
    cluster = Cluster(THREE)
    client = cluster.client()
    writer = cluster.result(client.create_ledger())
    cluster.bookies["b2"].down = True
    cluster.result(writer.append(b"x"))
    cluster.network.run()
    assert len(client._context.bookies.short) == 1
    del writer
    gc.collect()
    assert len(client._context.bookies.short) == 0
