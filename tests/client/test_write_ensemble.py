"""The bookies of a writer: which of them count, and how long it goes on with those that are left."""

import pytest

from bookkeeper_tx.errors import NotEnoughBookies, StorageFailed
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster
from tests.client.writers import writer_of


def test_an_acknowledgement_of_a_replaced_bookie_does_not_count() -> None:
    cluster = Cluster()
    writer = writer_of(cluster, (3, 3, 3))
    appended = writer.append(b"x")
    first, second, third = writer.metadata.last_fragment.ensemble
    network = cluster.network
    network.deliver(network.find(f"request {first} add"))
    late = network.messages.pop(network.find(f"reply {first} add"))
    network.lose(network.find(f"request {second} add"))
    network.run(until=lambda: writer.metadata.last_fragment.ensemble[1] != second)
    replacement = writer.metadata.last_fragment.ensemble[1]
    hung = network.messages.pop(network.find(f"request {replacement} add"))
    network.run()
    late.arrive()
    assert not appended.called
    hung.arrive()
    network.run()
    assert appended.result == 0
    assert third in cluster.holders(writer.ledger_id, 0)


def test_without_another_bookie_it_goes_on_while_the_ack_quorum_holds() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    assert cluster.result(writer.append_many([b"x"] * 100)) == range(100)
    cluster.bookies["b3"].down = True
    with pytest.raises(NotEnoughBookies, match="start more bookies"):
        cluster.result(writer.append(b"y"))
    with pytest.raises(NotEnoughBookies):
        cluster.result(writer.append(b"z"))
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).last_entry_id == 99


def test_a_bookie_that_comes_later_takes_the_place_of_the_one_that_failed() -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    cluster.bookies["b4"].down = True
    writer = writer_of(cluster)
    cluster.bookies["b2"].down = True
    cluster.result(writer.append(b"x"))
    cluster.network.run()
    cluster.bookies["b4"].down = False
    cluster.clock.advance(31)
    cluster.result(writer.append(b"y"))
    cluster.network.run()
    assert set(writer.metadata.last_fragment.ensemble) == {"b1", "b3", "b4"}


def test_a_bookie_that_could_not_be_replaced_may_fail_again_while_another_is() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (3, 3, 2))
    network = cluster.network
    first, second, third = writer.metadata.last_fragment.ensemble

    def lose(bookie_id: str, entry_id: int) -> None:
        network.lose(network.find(f"request {bookie_id} add {writer.ledger_id}/{entry_id}"))

    for entry_id, bookie_id in enumerate((first, second)):
        appended = writer.append(b"x")
        lose(bookie_id, entry_id)
        assert cluster.result(appended) == entry_id
        network.run()
    appended = writer.append(b"x")
    cluster.bookies["b4"] = PuppetBookie("b4")
    for bookie_id in (third, first, second):
        lose(bookie_id, 2)
    with pytest.raises(NotEnoughBookies, match="start more"):
        cluster.result(appended)


def test_two_failing_bookies_do_not_take_turns_for_ever() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (2, 2, 2))
    for bookie in cluster.bookies.values():
        bookie.fails = StorageFailed()
    with pytest.raises(NotEnoughBookies):
        cluster.result(writer.append(b"x"))
    assert len(cluster.state.history) < 5
