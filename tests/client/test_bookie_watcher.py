"""The set of writable bookies, also while the metadata store is away."""

import pytest
from twisted.internet.defer import fail

from bookkeeper_tx.client.bookie_watcher import REFRESH_RETRY_S
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import MetadataUnavailable, NotEnoughBookies, StorageFailed
from tests.client.puppet_bookie import PuppetBookie, PuppetChannels
from tests.client.puppet_store import PuppetStore
from tests.client.puppets import Cluster
from tests.client.writers import writer_of

THREE = ("b1", "b2", "b3")


def test_a_shortage_is_told_while_the_store_is_away() -> None:
    cluster = Cluster(THREE)
    client = cluster.client()
    cluster.state.away = True
    with pytest.raises(NotEnoughBookies, match=r"4 bookies are needed, 3 of 3 .* the puppet store is away"):
        cluster.result(client.create_ledger(4, 4, 2))


def test_a_writer_goes_on_without_a_bookie_and_without_the_store() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    cluster.bookies[writer.metadata.last_fragment.ensemble[0]].down = True
    cluster.state.away = True
    assert cluster.result(writer.append_many([b"x"] * 10)) == range(10)
    cluster.state.away = False
    cluster.result(writer.close())


def test_what_changes_metadata_fails_without_the_store() -> None:
    cluster = Cluster(THREE)
    writer = writer_of(cluster)
    client = cluster.client()
    ledger_id = writer.ledger_id
    cluster.result(writer.append(b"x"))
    cluster.state.away = True
    for change in (client.create_ledger, writer.close, lambda: client.open_ledger(ledger_id, b"pw")):
        with pytest.raises(MetadataUnavailable):
            cluster.result(change())


def test_a_writer_that_has_to_write_down_another_bookie_fails_without_the_store() -> None:
    cluster = Cluster((*THREE, "b4"))
    writer = writer_of(cluster)
    cluster.bookies[writer.metadata.last_fragment.ensemble[0]].down = True
    cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        cluster.result(writer.append_many([b"x"] * 10))


def test_new_ledgers_avoid_a_bookie_that_cannot_store_what_is_added() -> None:
    cluster = Cluster(("b1", "b2", "b3", "b4"))
    client = cluster.client()
    writer = cluster.result(client.create_ledger())
    bad = writer.metadata.last_fragment.ensemble[0]
    cluster.bookies[bad].fails = StorageFailed()
    cluster.result(writer.append(b"x"))
    cluster.network.run()
    ensembles = [cluster.result(client.create_ledger()).metadata.last_fragment.ensemble for _ in range(10)]
    assert not any(bad in each for each in ensembles)
    assert cluster.result(client.create_ledger(4, 4, 2)), "it is better than none"


def test_a_change_that_the_store_did_not_tell_is_asked_for_again() -> None:
    cluster = Cluster(THREE)
    client = cluster.client()
    cluster.bookies["b4"] = PuppetBookie("b4")
    cluster.state.away = True
    cluster.bookies_changed()
    cluster.clock.advance(REFRESH_RETRY_S)
    cluster.network.run()
    cluster.state.away = False
    cluster.clock.advance(REFRESH_RETRY_S)
    cluster.network.run()
    assert client._context.bookies.writable == {"b1", "b2", "b3", "b4"}
    assert cluster.clock.getDelayedCalls() == []


def test_a_closed_client_asks_no_more() -> None:
    cluster = Cluster(THREE)
    client = cluster.client()
    cluster.state.away = True
    cluster.bookies_changed()
    cluster.state.away = False
    cluster.result(client.close())
    assert cluster.clock.getDelayedCalls() == []


def test_a_client_that_could_not_start_does_not_say_that_it_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(THREE)
    ledger_id = writer_of(cluster).ledger_id
    monkeypatch.setattr(PuppetStore, "start", lambda self: fail(MetadataUnavailable("away")))
    client = BookKeeper(
        PuppetStore(cluster.network, cluster.state, cluster.bookies),
        reactor=cluster.clock,
        channels=PuppetChannels(cluster.network, cluster.bookies),
    )
    with pytest.raises(MetadataUnavailable):
        cluster.result(client.start())
    reader = cluster.result(client.open_ledger_no_recovery(ledger_id))
    for changed in cluster.state.watchers:
        changed()
    cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        cluster.result(reader.read_last_add_confirmed())
