"""Asking one bookie for the list of its entries of a ledger."""

import pytest
from twisted.internet.defer import CancelledError

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import ClientClosed, IllegalOperation, InvalidArgument, NoSuchLedger, RequestTimedOut
from tests.client.puppets import Cluster


def written(protocol: str = "v2") -> tuple[Cluster, BookKeeper, tuple[str, ...]]:
    """A cluster, a client and the ensemble of ledger 0: six entries, two copies each on three bookies."""
    cluster = Cluster()
    client = cluster.client(ClientConfig(protocol=protocol))
    writer = cluster.result(client.create_ledger(3, 2, 2))
    cluster.result(writer.append_many([b"payload"] * 6))
    cluster.network.run()
    return cluster, client, writer.metadata.last_fragment.ensemble


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_bookie_lists_what_it_stores(protocol: str) -> None:
    cluster, client, ensemble = written(protocol)
    entries = cluster.result(client.entries_of(0, ensemble[0]))
    assert list(entries) == [0, 2, 3, 5]
    assert entries.missing([0, 2, 3, 5]) == []
    del cluster.bookies[ensemble[0]].ledgers[0].entries[3]
    assert cluster.result(client.entries_of(0, ensemble[0])).missing([0, 2, 3, 5]) == [3]


def test_a_bookie_without_the_ledger_says_so() -> None:
    cluster, client, ensemble = written()
    (other, *_) = set(cluster.bookies) - set(ensemble)
    with pytest.raises(NoSuchLedger, match=f"ledger 0 on bookie {other}"):
        cluster.result(client.entries_of(0, other))


def test_a_bookie_that_never_answers_is_named() -> None:
    cluster, client, ensemble = written()
    listing = client.entries_of(0, ensemble[1])
    cluster.network.lose(cluster.network.find("list"))
    with pytest.raises(RequestTimedOut, match=ensemble[1]):
        cluster.result(listing)


def test_it_can_be_cancelled() -> None:
    cluster, client, ensemble = written()
    listing = client.entries_of(0, ensemble[1])
    listing.cancel()
    cluster.network.run()
    with pytest.raises(CancelledError):
        cluster.result(listing)


def test_what_is_asked_is_checked() -> None:
    cluster, client, ensemble = written()
    with pytest.raises(IllegalOperation):
        cluster.result(client.entries_of(7, ensemble[0], scope_id=3))
    with pytest.raises(InvalidArgument):
        cluster.result(client.entries_of(-1, ensemble[0]))
    cluster.result(client.close())
    with pytest.raises(ClientClosed):
        cluster.result(client.entries_of(0, ensemble[0]))
