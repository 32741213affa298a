"""The writer's handle over simulated bookies."""

from typing import Any

import pytest

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.entry_run import ENTRY_METADATA
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    ClientClosed,
    InvalidArgument,
    LedgerClosed,
    LedgerFenced,
    NotEnoughBookies,
    ReadOnlyBookie,
    RequestTimedOut,
    StorageFailed,
    TooManyOutstandingAdds,
    TooManyRequests,
    Unauthorized,
)
from bookkeeper_tx.model import LedgerState
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster


def writer_of(
    cluster: Cluster, sizes: tuple[int, int, int] = (3, 3, 2), config: ClientConfig | None = None
) -> LedgerWriter:
    writer: LedgerWriter = cluster.result(cluster.client(config).create_ledger(*sizes))
    return writer


def test_appends_and_reads_back() -> None:
    cluster = Cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger(3, 3, 2))
    ids = [writer.append(b"entry %d" % index) for index in range(10)]
    assert [cluster.result(each) for each in ids] == list(range(10))
    assert cluster.result(writer.append_many([b"x", b"yy"])) == range(10, 12)
    assert writer.length == 73
    cluster.result(writer.close())
    reader = cluster.result(client.open_ledger(writer.ledger_id))
    assert reader.closed
    assert (reader.last_add_confirmed, reader.length) == (11, 73)
    assert cluster.result(reader.read(0, 11)).payloads[9:] == [b"entry 9", b"x", b"yy"]


def test_appends_complete_in_order_whatever_the_order_of_the_answers() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    order: list[int] = []
    for _ in range(3):
        writer.append(b"x").addCallback(order.append)
    network = cluster.network
    while network.messages:
        network.deliver(len(network.messages) - 1)
        assert order == list(range(len(order)))
        assert writer.last_add_confirmed == len(order) - 1
    assert order == [0, 1, 2]


def test_an_entry_carries_the_last_add_confirmed_of_the_time_it_is_sent() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    cluster.result(writer.append(b"a"))
    writer.append(b"b")
    cluster.result(writer.append(b"c"))
    entries = cluster.bookies["b1"].ledgers[writer.ledger_id].entries
    assert [ENTRY_METADATA.unpack_fixed(entries[each])[1:] for each in range(3)] == [(0, -1, 1), (1, 0, 2), (2, 0, 3)]


@pytest.mark.parametrize(
    "error", [BookieUnavailable(), RequestTimedOut(), ReadOnlyBookie(), StorageFailed(), TooManyRequests()]
)
def test_a_failing_bookie_is_replaced_and_gets_nothing_more(error: BookKeeperError) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, (3, 3, 3))
    cluster.result(writer.append_many([b"x"] * 5))
    cluster.network.run()
    failing = writer.metadata.last_fragment.ensemble[1]
    cluster.bookies[failing].fails = error
    assert cluster.result(writer.append_many([b"y"] * 5)) == range(5, 10)
    cluster.network.run()
    fragments = cluster.metadata(writer.ledger_id).fragments
    assert [each.first_entry_id for each in fragments] == [0, 5]
    assert fragments[1].ensemble[1] != failing
    assert [fragments[1].ensemble[index] for index in (0, 2)] == [fragments[0].ensemble[index] for index in (0, 2)]
    for entry_id in range(5, 10):
        assert cluster.holders(writer.ledger_id, entry_id) == set(fragments[1].ensemble)
    cluster.result(writer.close())


def test_the_new_fragment_replaces_one_that_starts_at_the_same_entry() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for bookie in writer.metadata.last_fragment.ensemble[:2]:
        cluster.bookies[bookie].down = True
        appended = writer.append(b"x")
        cluster.network.run(until=lambda deferred=appended: deferred.called)
    assert [each.first_entry_id for each in cluster.metadata(writer.ledger_id).fragments] in ([0], [0, 1])


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


def test_fenced_by_another_client() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    cluster.result(writer.append(b"x"))
    cluster.result(cluster.client().open_ledger(writer.ledger_id))
    failures: list[Any] = []
    for _ in range(3):
        writer.append(b"y").addErrback(failures.append)
    cluster.network.run()
    assert [each.check(LedgerFenced) for each in failures] == [LedgerFenced] * 3
    with pytest.raises(LedgerFenced, match=rf"ledger {writer.ledger_id}, bookie b\d: .*may exist or not"):
        cluster.result(writer.append(b"z"))
    cluster.result(writer.close())


@pytest.mark.parametrize("state", [LedgerState.IN_RECOVERY, LedgerState.CLOSED])
def test_a_writer_that_finds_its_ledger_taken_over_at_close(state: LedgerState) -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    cluster.result(writer.append(b"x"))
    found = cluster.state.ledgers[writer.ledger_id]
    taken = found.metadata.with_state(state) if state is LedgerState.IN_RECOVERY else found.metadata.with_close(7, 70)
    cluster.state.ledgers[writer.ledger_id] = type(found)(taken, found.version + 1)
    closings = [writer.close(), writer.close()]
    for closing in closings:
        with pytest.raises((LedgerFenced, LedgerClosed), match="may exist or not"):
            cluster.result(closing)
    assert cluster.metadata(writer.ledger_id) == taken


def test_closed_by_itself_it_takes_nothing_more() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    appended = writer.append(b"x")
    closings = [writer.close(), writer.close()]
    with pytest.raises(LedgerClosed, match="this writer has closed it"):
        cluster.result(writer.append(b"y"))
    for closing in closings:
        cluster.result(closing)
    cluster.result(writer.close())
    assert appended.result == 0
    assert len(cluster.state.history) == 2


def test_a_wrong_key_ends_the_writer() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for bookie in cluster.bookies.values():
        bookie.fails = Unauthorized()
    with pytest.raises(Unauthorized):
        cluster.result(writer.append(b"x"))
    assert len(cluster.state.history) == 1


def test_appends_beyond_the_bound_are_held_back_then_refused() -> None:
    cluster = Cluster()
    writer = writer_of(cluster, config=ClientConfig(outstanding_adds_max=4))
    appended = [writer.append(b"x") for _ in range(8)]
    assert sum("add" in each.text for each in cluster.network.messages) == 12
    with pytest.raises(TooManyOutstandingAdds, match="outstanding_adds_max"):
        cluster.result(writer.append(b"x"))
    many = writer_of(cluster, config=ClientConfig(outstanding_adds_max=4)).append_many([b"y"] * 50)
    cluster.network.run()
    assert [each.result for each in appended] == list(range(8))
    assert many.result == range(50)


@pytest.mark.parametrize("error", [None, StorageFailed()])
def test_closing_in_a_callback_waits_for_what_is_held_back(error: BookKeeperError | None) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=1))
    cluster.bookies["b1"].fails = error
    closed: list[Any] = []
    writer.append(b"a").addBoth(lambda _: closed.append(writer.close()))
    held = writer.append(b"b")
    held.addErrback(lambda failure: failure.type)
    cluster.network.run()
    assert held.result == (NotEnoughBookies if error else 1)
    assert closed[0].called
    assert cluster.metadata(writer.ledger_id).last_entry_id == (-1 if error else 1)


def test_what_was_held_back_fails_with_the_rest() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=2))
    failures: list[Any] = []
    for _ in range(4):
        writer.append(b"x").addErrback(failures.append)
    cluster.bookies["b1"].fails = ClientClosed()
    cluster.network.run()
    assert [each.check(ClientClosed) for each in failures] == [ClientClosed] * 4


@pytest.mark.parametrize(
    ("payload", "text"), [("text", "not str"), (7, "not int"), (None, "not NoneType"), (bytes(6 * 2**20), "at most")]
)
def test_payloads_are_checked(payload: Any, text: str) -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    with pytest.raises(InvalidArgument, match=text):
        cluster.result(writer.append(payload))
    with pytest.raises(InvalidArgument, match=text):
        cluster.result(writer.append_many([b"fine", payload]))
    assert cluster.result(writer.append(bytearray(b"bytes-like"))) == 0
    assert cluster.result(writer.append_many([])) == range(1, 1)


@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 3, 0), (2, 3, 1), (3, 2, 3)])
def test_quorum_sizes_are_checked(sizes: tuple[int, int, int]) -> None:
    cluster = Cluster()
    with pytest.raises(InvalidArgument, match="does not hold"):
        cluster.result(cluster.client().create_ledger(*sizes))


def test_too_few_bookies_for_a_ledger() -> None:
    cluster = Cluster(["b1", "b2"])
    with pytest.raises(NotEnoughBookies, match="3 bookies are needed"):
        cluster.result(cluster.client().create_ledger())
