"""Adding entries: their order, their bounds, and the errors that end a writer."""

from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.entry_run import ENTRY_METADATA
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    InvalidArgument,
    LedgerFenced,
    NotEnoughBookies,
    StorageFailed,
    TooManyOutstandingAdds,
    Unauthorized,
)
from tests.client.puppets import Cluster
from tests.client.writers import writer_of


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
