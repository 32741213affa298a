"""Appends made in one turn of the reactor are sent together, and each of them has its own id and its own end."""

from typing import Any

import pytest
from twisted.python.failure import Failure

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, LedgerClosed, LedgerFenced, NotEnoughBookies, StorageFailed
from tests.client.puppet_bookie import PuppetChannel
from tests.client.puppets import Cluster
from tests.client.writers import writer_of


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each request to add has, over all bookies."""
    counts: list[int] = []
    add_entries, add_entry = PuppetChannel.add_entries, PuppetChannel.add_entry

    def added_many(self: Any, ledger_id: int, first: int, entries: Any, *others: Any) -> None:
        counts.append(len(entries))
        before = len(counts)
        add_entries(self, ledger_id, first, entries, *others)
        del counts[before:]  # the puppet sends them one by one

    def added(self: Any, *arguments: Any, **named: Any) -> None:
        counts.append(1)
        add_entry(self, *arguments, **named)

    monkeypatch.setattr(PuppetChannel, "add_entries", added_many)
    monkeypatch.setattr(PuppetChannel, "add_entry", added)
    return counts


def appended(writer: Any, count: int, size: int = 10) -> list[Any]:
    return [writer.append(b"%d" % number * size) for number in range(count)]


def outcomes(deferreds: list[Any]) -> list[Any]:
    """Return the ids, and the types of the errors, of appends that have ended."""
    found: list[Any] = []
    for each in deferreds:
        each.addErrback(lambda failure: type(failure.value))
        each.addCallback(found.append)
    assert len(found) == len(deferreds)
    return found


def deliver_add(cluster: Cluster, ledger_id: int, entry_id: int, bookie_id: str = "") -> None:
    """Deliver the next request to add this entry, and the reply to it."""
    network = cluster.network
    network.deliver(network.find(f"{bookie_id} add {ledger_id}/{entry_id} flags"))
    network.deliver(len(network.messages) - 1)


def test_the_appends_of_a_turn_are_one_request_to_each_bookie(sent: list[int]) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, (3, 3, 2))
    appends = appended(writer, 5)
    assert sent == []
    cluster.network.run()
    assert sent == [5, 5, 5]
    assert outcomes(appends) == [0, 1, 2, 3, 4]
    assert (writer.last_add_confirmed, writer.length) == (4, 50)


@pytest.mark.parametrize(
    ("sizes", "config"), [((3, 2, 2), ClientConfig()), ((3, 3, 2), ClientConfig(protocol=WireProtocol.V3))]
)
def test_striped_ledgers_and_v3_send_each_entry_by_itself(
    sent: list[int], sizes: tuple[int, int, int], config: ClientConfig
) -> None:
    cluster = Cluster()
    appends = appended(writer_of(cluster, sizes, config), 3)
    assert sent == [1] * 3 * sizes[1]
    cluster.network.run()
    assert outcomes(appends) == [0, 1, 2]


def test_requests_are_bounded_in_number_and_bytes(sent: list[int]) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    small = appended(writer, 600)
    cluster.network.run()
    assert sent == [256, 256, 88]
    sent.clear()
    large = appended(writer, 3, 200_000) + appended(writer, 2, 100_000)
    cluster.network.run()
    assert sent == [1, 1, 1, 2]
    assert outcomes(small + large) == list(range(605))


def test_after_one_that_is_alone_some_are_sent_at_once(sent: list[int]) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    assert cluster.result(writer.append(b"alone")) == 0
    for count in range(2, 17):
        writer.append(b"x")
        assert sent == [1] * count
    appends = appended(writer, 3)
    assert sent == [1] * 16
    cluster.network.run()
    assert sent == [*[1] * 16, 3]
    assert outcomes(appends) == [16, 17, 18]


def test_many_after_one_come_after_it(sent: list[int]) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    before, many, after = appended(writer, 2), writer.append_many([b"x", b"y"]), appended(writer, 2)
    cluster.network.run()
    assert (outcomes(before), many.result, outcomes(after)) == ([0, 1], range(2, 4), [4, 5])


def test_closing_sends_what_waits_for_the_end_of_the_turn() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    appends = appended(writer, 3)
    closing, late = writer.close(), writer.append(b"late")
    cluster.network.run()
    assert closing.called
    assert outcomes([*appends, late]) == [0, 1, 2, LedgerClosed]
    assert cluster.metadata(writer.ledger_id).last_entry_id == 2


@pytest.mark.parametrize(("sizes", "quorum"), [((1, 1, 1), 1), ((3, 3, 2), 2)])
def test_an_append_does_not_wait_for_a_later_one_of_its_turn(sizes: tuple[int, int, int], quorum: int) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, sizes)
    appends = appended(writer, 4)
    for _ in range(quorum):
        for entry_id in (0, 1, 3):
            deliver_add(cluster, writer.ledger_id, entry_id)
    assert [each.result for each in appends if each.called] == [0, 1]
    assert (writer.last_add_confirmed, writer.length) == (1, 20)
    cluster.network.run()
    assert outcomes(appends) == [0, 1, 2, 3]


@pytest.mark.parametrize("held", range(4))
def test_what_is_confirmed_of_a_turn_stays_when_the_rest_of_it_fails(held: int) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, (2, 2, 2))
    appends = appended(writer, 4)
    for entry_id in [*range(held)] * 2:
        deliver_add(cluster, writer.ledger_id, entry_id)
    for bookie in cluster.bookies.values():
        bookie.fails = LedgerFenced()
    cluster.network.run()
    assert outcomes(appends) == [*range(held), *[LedgerFenced] * (4 - held)]
    assert writer.last_add_confirmed == held - 1


def test_too_many_for_the_limit_are_held_back_in_their_order() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=4))
    appends = appended(writer, 8)
    assert len(cluster.network.messages) == 4
    cluster.network.run()
    assert outcomes(appends) == list(range(8))


def test_what_is_held_back_is_sent_as_soon_as_there_is_room() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=4))
    appends = appended(writer, 8)
    for entry_id in range(3):
        deliver_add(cluster, writer.ledger_id, entry_id)
    texts = [message.text for message in cluster.network.messages]
    assert texts == [f"request b1 add {writer.ledger_id}/{entry_id} flags 0" for entry_id in range(3, 7)]
    cluster.network.run()
    assert outcomes(appends) == list(range(8))


def test_a_bookie_that_fails_an_entry_is_replaced_though_others_have_confirmed_it() -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = writer_of(cluster, (3, 3, 2))
    failing, *others = writer.metadata.last_fragment.ensemble
    appends = appended(writer, 4)
    for bookie_id, entry_ids in ((others[0], (0, 1)), (others[1], (0, 1)), (failing, (0, 2, 3))):
        for entry_id in entry_ids:
            deliver_add(cluster, writer.ledger_id, entry_id, bookie_id)
    cluster.network.lose(cluster.network.find(f"{failing} add {writer.ledger_id}/1 flags"))
    cluster.network.run()
    assert outcomes(appends) == [0, 1, 2, 3]
    assert failing not in writer.metadata.last_fragment.ensemble


def refuse_add(cluster: Cluster, ledger_id: int, entry_id: int, bookie_id: str) -> None:
    """Deliver a request to add this entry, which the bookie refuses, and the reply to it."""
    bookie = cluster.bookies[bookie_id]
    bookie.fails = StorageFailed()
    deliver_add(cluster, ledger_id, entry_id, bookie_id)
    bookie.fails = None


@pytest.mark.parametrize("acknowledged_first", [True, False])
def test_what_a_bookie_refuses_of_a_turn_says_nothing_of_the_rest(acknowledged_first: bool) -> None:
    """There is no other bookie, each entry has its ack quorum, and each bookie has refused one."""
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (3, 3, 2))
    appends = appended(writer, 4)
    if acknowledged_first:
        for bookie_id in cluster.bookies:
            deliver_add(cluster, writer.ledger_id, 3, bookie_id)
    for entry_id, bookie_id in enumerate(cluster.bookies):
        refuse_add(cluster, writer.ledger_id, entry_id, bookie_id)
    cluster.network.run()
    assert outcomes(appends) == [0, 1, 2, 3]


def test_a_bookie_that_has_refused_an_entry_counts_for_those_after_it() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (3, 3, 2))
    appends = appended(writer, 4)
    refuse_add(cluster, writer.ledger_id, 1, "b1")
    cluster.network.deliver(cluster.network.find("request store bookies"))
    cluster.network.deliver(cluster.network.find("reply store bookies"))
    for entry_id in (0, 2, 3):
        deliver_add(cluster, writer.ledger_id, entry_id, "b1")
    for entry_id in range(4):
        deliver_add(cluster, writer.ledger_id, entry_id, "b2")
    assert [each.result for each in appends if each.called] == [0]
    for entry_id in range(2):
        deliver_add(cluster, writer.ledger_id, entry_id, "b3")
    assert outcomes(appends) == [0, 1, 2, 3]


def test_entries_that_too_many_bookies_refuse_end_the_writer() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (3, 3, 2))
    appends = appended(writer, 4)
    for bookie_id in ("b1", "b3"):
        refuse_add(cluster, writer.ledger_id, 2, bookie_id)
    cluster.network.run()
    assert outcomes(appends)[2:] == [NotEnoughBookies] * 2


def test_appends_made_by_the_ends_of_others_have_the_next_ids() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    ids: list[int] = []

    def again(entry_id: int) -> None:
        ids.append(entry_id)
        if entry_id < 6:
            writer.append(b"more").addCallback(again)

    for each in appended(writer, 3):
        each.addCallback(again)
    cluster.network.run()
    assert ids == list(range(9))


@pytest.mark.parametrize("error", [StorageFailed(), BookKeeperError()])
@pytest.mark.parametrize("after", [0, 1, 5, 12, 40])
def test_each_append_has_its_id_though_a_bookie_fails_amid_them(error: BookKeeperError, after: int) -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = writer_of(cluster, (3, 3, 2))
    appends = appended(writer, 8) if after % 2 else []
    cluster.network.deliver(0) if appends else None
    appends += appended(writer, 8)
    for _ in range(min(after, len(cluster.network.messages))):
        cluster.network.deliver(0)
    cluster.bookies[writer.metadata.last_fragment.ensemble[1]].fails = error
    cluster.network.run()
    assert outcomes(appends) == list(range(len(appends)))


def test_all_fail_when_another_client_has_fenced_the_ledger() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    assert cluster.result(writer.append(b"x")) == 0
    cluster.result(cluster.client().open_ledger(writer.ledger_id))
    appends = appended(writer, 20)
    cluster.network.run()
    assert outcomes(appends) == [LedgerFenced] * 20
    late = writer.append(b"late")
    assert isinstance(late.result, Failure)
    assert outcomes([late]) == [LedgerFenced]


def test_who_wants_to_know_of_a_length_is_told_once_before_the_append_behind_it(sent: list[int]) -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1))
    told: list[int] = []
    writer.tell_at(25, lambda: told.append(sum(sent)))
    for number in range(3):
        assert cluster.result(writer.append(bytes(10))) == number
    assert told == []
    for number in range(3, 6):
        assert cluster.result(writer.append(bytes(10))) == number
    assert told == [3]


def test_many_appends_and_a_length_that_is_there_already_are_told_as_well() -> None:
    cluster = Cluster(["b1"])
    writer = writer_of(cluster, (1, 1, 1), ClientConfig(outstanding_adds_max=4))
    told: list[str] = []
    writer.tell_at(90, lambda: told.append("first"))
    cluster.result(writer.append_many([bytes(10)] * 9))
    assert told == []
    cluster.result(writer.append_many([bytes(10)] * 9))
    assert told == ["first"]
    writer.tell_at(180, lambda: told.append("at once"))
    assert told == ["first", "at once"]
    writer.tell_at(200, lambda: told.append("not counted"))
    writer.tell_at(300, lambda: told.append("last"))
    for count in (9, 4, 1):
        assert told == ["first", "at once"]
        cluster.result(writer.append_many([bytes(10)] * count))
    assert told == ["first", "at once", "last"]
