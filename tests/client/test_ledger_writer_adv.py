"""A writer whose application gives the ids of the entries, over simulated bookies."""

from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_writer_adv import LedgerWriterAdv
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookieUnavailable,
    DuplicateEntryId,
    InvalidArgument,
    LedgerClosed,
    LedgerExists,
    LedgerFenced,
    NotEnoughBookies,
    RequestTimedOut,
    StorageFailed,
    TooManyOutstandingAdds,
)
from bookkeeper_tx.model import DigestType, LedgerId, LedgerState
from protocol_specs.fields import ENTRY_ID_MAX
from tests.client.puppet_bookie import lac_of
from tests.client.puppets import Cluster

V3 = ClientConfig(protocol="v3")


def writer_of(
    cluster: Cluster, sizes: tuple[int, int, int] = (3, 3, 2), config: ClientConfig | None = None, **options: Any
) -> LedgerWriterAdv:
    writer: LedgerWriterAdv = cluster.result(cluster.client(config).create_ledger_adv(*sizes, **options))
    return writer


def outcome(appended: "Deferred[int]") -> Any:
    """The id, the class of the error, or None if it has neither."""
    found: list[Any] = []

    def failed(failure: Any) -> Any:
        found.append(failure.type)
        return failure

    appended.addCallbacks(lambda entry_id: found.append(entry_id) or entry_id, failed)
    return found[0] if found else None


def lengths(cluster: Cluster, ledger_id: int, entry_id: int) -> set[int]:
    """What the stored copies of an entry say of the length of the ledger."""
    digest = EntryDigest(DigestType.CRC32C, b"")
    holders = cluster.holders(ledger_id, entry_id)
    entries = [cluster.bookies[each].ledgers[ledger_id].entries[entry_id] for each in holders]
    return {digest.verify(ledger_id, entry_id, each)[2] for each in entries}


@pytest.mark.parametrize("config", [None, V3])
@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2), (1, 1, 1)])
def test_ids_come_in_any_order_and_complete_in_theirs(sizes: tuple[int, int, int], config: ClientConfig | None) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, sizes, config)
    order: list[int] = []
    for entry_id in (2, 4, 1, 0, 3):
        writer.append(entry_id, b"entry %d" % entry_id).addCallback(order.append)
        cluster.network.run()
        assert len(order) == {2: 0, 4: 0, 1: 0, 0: 3, 3: 5}[entry_id]
        assert (writer.last_add_confirmed, writer.length) == (len(order) - 1, 7 * len(order))
    assert order == [0, 1, 2, 3, 4]
    cluster.result(writer.close())
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id))
    assert cluster.result(reader.read(0, 4)).payloads == [b"entry %d" % number for number in range(5)]


def test_an_entry_says_what_was_given_and_what_was_confirmed_when_it_was_appended() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for entry_id, payload in [(0, b"1"), (3, b"333"), (1, b"22")]:
        writer.append(entry_id, payload)
        cluster.network.run()
    bookie = cluster.bookies[writer.metadata.last_fragment.ensemble[0]]
    stored = bookie.ledgers[writer.ledger_id].entries
    assert [(each, lac_of(stored[each])) for each in stored] == [(0, -1), (3, 0), (1, 0)]
    assert [lengths(cluster, writer.ledger_id, each) for each in stored] == [{1}, {4}, {6}]
    assert (writer.last_add_confirmed, writer.length) == (1, 3)


def test_an_id_that_was_given_is_refused_and_nothing_else_is() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    ahead, first = writer.append(2, b"ahead"), writer.append(0, b"first")
    refused = [writer.append(2, b"again"), writer.append(0, b"again")]
    cluster.network.run()
    refused.append(writer.append(0, b"acknowledged already"))
    assert [outcome(each) for each in refused] == [DuplicateEntryId] * 3
    assert (outcome(first), ahead.called) == (0, False)
    assert outcome(writer.append(1, b"fills the gap")) is None
    cluster.network.run()
    assert (outcome(ahead), writer.length) == (2, 23)


@pytest.mark.parametrize("entry_id", [-1, ENTRY_ID_MAX + 1, None, "0", b"payload"])
def test_ids_are_checked(entry_id: Any) -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    with pytest.raises(InvalidArgument, match=r"entry_id .* must be an integer from 0"):
        cluster.result(writer.append(entry_id, b"payload"))
    with pytest.raises(InvalidArgument, match="payload must be bytes"):
        cluster.result(writer.append(0, "text"))  # type: ignore[arg-type]
    assert cluster.result(writer.append(0, bytearray(b"bytes-like"))) == 0


def test_a_close_ends_the_ledger_before_the_gap() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    appended = {each: writer.append(each, b"x") for each in (0, 1, 5, 3)}
    closing = writer.close()
    after = writer.append(2, b"too late")
    cluster.result(closing)
    assert [outcome(appended[each]) for each in (0, 1)] == [0, 1]
    for each in (appended[3], appended[5]):
        with pytest.raises(LedgerClosed, match="before its entry 2 was appended, and ends before that one"):
            cluster.result(each)
    assert outcome(after) is LedgerClosed
    metadata = cluster.metadata(writer.ledger_id)
    assert (metadata.state, metadata.last_entry_id, metadata.length) == (LedgerState.CLOSED, 1, 2)
    cluster.result(writer.close())


def test_what_nobody_waits_for_any_more_cannot_end_the_writer() -> None:
    """Entries 2 and 3 fail while the ledger is closed before them: no bookies are needed for these."""
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster, (3, 3, 3))
    first, *behind = [writer.append(each, b"x") for each in (0, 2, 3)]
    closing = writer.close()
    cluster.network.lose(cluster.network.find("request b1 add 0/2"))
    while ahead := [at for at, each in enumerate(cluster.network.messages) if each.bookie_id is None]:
        cluster.network.deliver(ahead[0])
    cluster.network.lose(cluster.network.find("request b1 add 0/3"))
    cluster.result(closing)
    assert [outcome(each) for each in (first, *behind)] == [0, LedgerClosed, LedgerClosed]
    assert cluster.metadata(writer.ledger_id).last_entry_id == 0


def test_a_recovery_ends_before_the_gap() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for entry_id in (4, 0, 1, 2):
        writer.append(entry_id, b"x")
    cluster.network.run()
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id))
    assert (reader.last_add_confirmed, reader.length) == (2, 4), "the length that entry 2 says"
    fenced = writer.append(3, b"too late")
    cluster.network.run()
    assert outcome(fenced) is LedgerFenced


def test_all_fail_with_the_writer_those_behind_the_gap_too() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    writer = writer_of(cluster)
    appended = [writer.append(each, b"x") for each in (5, 0, 1, 3)]
    for bookie in cluster.bookies.values():
        bookie.fails = StorageFailed()
    cluster.network.run()
    assert [outcome(each) for each in appended] == [NotEnoughBookies] * 4
    assert outcome(writer.append(2, b"x")) is NotEnoughBookies
    cluster.result(writer.close())


@pytest.mark.parametrize("error", [RequestTimedOut(), BookieUnavailable(), StorageFailed()])
@pytest.mark.parametrize("failing", [0, 3])
def test_entries_behind_the_gap_go_to_the_bookies_that_replace_others(failing: int, error: Any) -> None:
    """Entry 3 was acknowledged by a bookie that is replaced before the gap is filled."""
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = writer_of(cluster)
    behind = writer.append(3, b"behind")
    cluster.network.run(until=lambda: "reply" in cluster.network.messages[0].text)
    if failing == 0:
        cluster.network.run()
        writer.append(0, b"x")
    former = writer.metadata.last_fragment.ensemble[1]
    cluster.network.lose(cluster.network.find(f" {former} add 0/{failing}"), error)
    cluster.network.run()
    assert outcome(behind) is None
    for entry_id in {0, 1, 2} - {failing}:
        writer.append(entry_id, b"x")
    cluster.network.run()
    if failing == 3:
        assert writer.last_add_confirmed == 3
    ensemble = writer.metadata.last_fragment.ensemble
    assert former not in ensemble
    assert set(ensemble) <= cluster.holders(writer.ledger_id, 3)
    assert outcome(behind) == 3


def test_nothing_behind_the_gap_counts_that_a_replaced_bookie_acknowledged() -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = writer_of(cluster, (3, 3, 3))
    behind = writer.append(1, b"behind")
    cluster.network.run()
    first = writer.append(0, b"first")
    former = writer.metadata.last_fragment.ensemble[0]
    cluster.network.lose(cluster.network.find(f"request {former} add 0/0"))
    new = ({"b1", "b2", "b3", "b4"} - set(writer.metadata.last_fragment.ensemble)).pop()
    messages = cluster.network.messages
    while ahead := [at for at, each in enumerate(messages) if f"{new} add 0/1" not in each.text]:
        cluster.network.deliver(ahead[0])
    assert (outcome(first), outcome(behind), writer.last_add_confirmed) == (0, None, 0)
    cluster.network.run()
    assert outcome(behind) == 1


@pytest.mark.parametrize(
    ("config", "size"),
    [(ClientConfig(outstanding_adds_max=4), 1), (ClientConfig(outstanding_bytes_max=4000), 1000)],
)
def test_what_waits_for_the_gap_is_bounded_and_the_gap_can_always_be_filled(config: ClientConfig, size: int) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, config=config)
    for start in (0, 5, 10):
        behind = [writer.append(start + each, bytes(size)) for each in (1, 2, 3, 4)]
        with pytest.raises(TooManyOutstandingAdds, match=rf"4 appends of \d+ bytes .* entry {start} was not given"):
            cluster.result(writer.append(start + 5, b"x"))
        cluster.network.run()
        first = writer.append(start, bytes(size))
        assert outcome(writer.append(start + 5, b"x")) is TooManyOutstandingAdds
        cluster.network.run()
        assert [outcome(each) for each in (first, *behind)] == list(range(start, start + 5))


def test_ids_in_order_are_bounded_too() -> None:
    cluster = Cluster()
    writer = writer_of(cluster, config=ClientConfig(outstanding_adds_max=4))
    appended = [writer.append(each, b"x") for each in range(6)]
    cluster.network.run()
    assert [outcome(each) for each in appended] == [0, 1, 2, 3, TooManyOutstandingAdds, TooManyOutstandingAdds]
    assert cluster.result(writer.append(4, b"refused before")) == 4


def test_a_force_confirms_up_to_the_gap() -> None:
    cluster = Cluster()
    writer = writer_of(cluster, config=V3, deferred_sync=True)
    behind = writer.append(2, b"behind")
    assert cluster.result(writer.append(0, b"0")) == 0
    assert (writer.last_add_confirmed, outcome(writer.append(0, b"again"))) == (-1, DuplicateEntryId)
    cluster.result(writer.force())
    assert (writer.last_add_confirmed, writer.length, behind.called) == (0, 1, False)
    assert cluster.result(writer.append(1, b"1")) == 1
    cluster.network.run()
    assert outcome(behind) == 2
    cluster.result(writer.close())
    metadata = cluster.metadata(writer.ledger_id)
    assert (metadata.last_entry_id, metadata.length) == (2, 8)


def test_the_last_add_confirmed_is_published_though_an_entry_behind_the_gap_carries_an_older_one() -> None:
    cluster = Cluster()
    writer = writer_of(cluster, config=evolve(V3, explicit_lac_interval_s=1))
    for entry_id in (9, 0, 1):
        writer.append(entry_id, b"x")
        cluster.network.run()
    writer.append(2, b"is on its way, and carries 1")
    cluster.clock.advance(1)
    assert any("write-lac 0/1" in each.text for each in cluster.network.messages)
    cluster.network.run()
    reader = cluster.result(cluster.client(V3).open_ledger_no_recovery(writer.ledger_id))
    assert reader.last_add_confirmed == 1, "what the last entry of the bookies says is -1"


@pytest.mark.parametrize("ledger_id", [7, LedgerId(7, 5)])
def test_the_id_of_the_ledger_can_be_given_as_well(ledger_id: int) -> None:
    cluster = Cluster()
    for bookie in cluster.bookies.values():
        bookie.extensions = None
    writer = writer_of(cluster, config=V3, ledger_id=ledger_id)
    assert writer.ledger_id == ledger_id
    second, first = writer.append(1, b"second"), writer.append(0, b"first")
    cluster.network.run()
    assert (outcome(first), outcome(second)) == (0, 1)
    with pytest.raises(LedgerExists):
        writer_of(cluster, config=V3, ledger_id=ledger_id)
