"""Deferred sync: only a force confirms acknowledged entries; and force in other ledgers."""

from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BookieUnavailable,
    ClientClosed,
    IllegalOperation,
    LedgerFenced,
    ReadOnlyBookie,
    RequestTimedOut,
)
from bookkeeper_tx.model import DigestType, LedgerState
from tests.client.deferring import V3, append, deferring
from tests.client.puppet_bookie import lac_of
from tests.client.puppets import Cluster


def test_only_a_force_moves_the_last_add_confirmed() -> None:
    cluster, writer = deferring()
    append(cluster, writer, 3)
    assert (writer.last_add_confirmed, writer.length) == (-1, 0)
    cluster.result(writer.force())
    assert (writer.last_add_confirmed, writer.length) == (2, 21)
    append(cluster, writer)
    assert writer.last_add_confirmed == 2
    bookie = cluster.bookies[writer.metadata.last_fragment.ensemble[0]]
    assert [lac_of(entry) for entry in bookie.ledgers[writer.ledger_id].entries.values()] == [-1, -1, -1, 2]
    assert all("deferred" in each for each in bookie.requests if " add " in each)


def test_a_force_confirms_what_was_acknowledged_before_it_and_no_more() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    forcing = writer.force()
    appended = writer.append(b"later")
    cluster.result(appended)
    cluster.result(forcing)
    assert writer.last_add_confirmed == 0


def test_closing_forces_first() -> None:
    cluster, writer = deferring()
    append(cluster, writer, 2)
    cluster.result(writer.close())
    metadata = cluster.metadata(writer.ledger_id)
    assert (metadata.state, metadata.last_entry_id, metadata.length) == (LedgerState.CLOSED, 1, 14)


@pytest.mark.parametrize("error", [RequestTimedOut(), BookieUnavailable(), ReadOnlyBookie()])
def test_the_ensemble_cannot_change(error: Any) -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    cluster.result(writer.force())
    append(cluster, writer)
    failing = writer.append(b"more")
    bookie = writer.metadata.last_fragment.ensemble[1]
    cluster.network.lose(cluster.network.find(f"request {bookie} add"), error)
    with pytest.raises(type(error), match=rf"bookie {bookie} .* entry 2 of ledger 0: .*sync is deferred"):
        cluster.result(failing)
    cluster.network.run()
    assert len(writer.metadata.fragments) == 1
    with pytest.raises(type(error)):
        cluster.result(writer.force())
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).last_entry_id == 0, "what was forced is kept"


def test_a_force_confirms_nothing_that_a_close_has_left_out_meanwhile() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    forcing, failing = writer.force(), writer.append(b"more")
    cluster.network.lose(cluster.network.find("add"))
    closing = writer.close()
    cluster.network.run()
    for each in (forcing, failing):
        with pytest.raises(RequestTimedOut):
            cluster.result(each)
    cluster.result(closing)
    assert cluster.metadata(writer.ledger_id).last_entry_id == writer.last_add_confirmed == -1


def test_what_was_forced_is_published_to_readers() -> None:
    cluster, writer = deferring()
    append(cluster, writer, 2)
    assert cluster.result(writer.write_last_add_confirmed()) == -1, "nothing is confirmed yet"
    cluster.result(writer.force())
    assert cluster.result(writer.write_last_add_confirmed()) == 1
    assert cluster.result(cluster.client(V3).open_ledger_no_recovery(writer.ledger_id)).last_add_confirmed == 1


def test_what_was_forced_is_published_by_itself() -> None:
    cluster, writer = deferring(config=evolve(V3, explicit_lac_interval_s=1))
    append(cluster, writer, 2)
    cluster.clock.advance(1)
    assert not any("write-lac" in each for bookie in cluster.bookies.values() for each in bookie.requests)
    cluster.result(writer.force())
    cluster.clock.advance(1)
    cluster.network.run()
    assert cluster.result(cluster.client(V3).open_ledger_no_recovery(writer.ledger_id)).last_add_confirmed == 1


def reconnect(cluster: Cluster, bookie_id: str) -> None:
    """Lose the connection to a bookie; the next request makes it again."""
    cluster.bookies[bookie_id].interruptions += 1


def test_what_was_acknowledged_on_another_connection_is_not_forced_on_this_one() -> None:
    """The bookie may have been killed in between, and have lost the entry."""
    cluster, writer = deferring()
    append(cluster, writer)
    cluster.result(writer.force())
    append(cluster, writer)
    reconnect(cluster, writer.metadata.last_fragment.ensemble[1])
    with pytest.raises(BookieUnavailable, match="connection was lost after adds that were not forced"):
        cluster.result(writer.force())
    assert writer.last_add_confirmed == 0
    for again in (writer.force, lambda: writer.append(b"more")):
        with pytest.raises(BookieUnavailable):
            cluster.result(again())
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id).last_entry_id == 0, "what was forced is kept"


def test_that_goes_for_an_acknowledgement_that_is_delivered_after_the_loss_was_counted() -> None:
    """So it is with one that came in front of bytes that break the protocol."""
    cluster, writer = deferring()
    bookie_id = writer.metadata.last_fragment.ensemble[1]
    appended = writer.append(b"payload")
    cluster.network.deliver(cluster.network.find(f"request {bookie_id} add"))
    reconnect(cluster, bookie_id)
    cluster.network.run()
    assert appended.result == 0
    with pytest.raises(BookieUnavailable, match="connection was lost after adds that were not forced"):
        cluster.result(writer.force())
    assert writer.last_add_confirmed == -1


def test_that_goes_for_adds_acknowledged_while_a_force_was_under_way() -> None:
    cluster, writer = deferring((1, 1, 1))
    append(cluster, writer)
    forcing = writer.force()
    cluster.network.run(until=lambda: cluster.network.messages[0].text.startswith("reply"))
    held = cluster.network.messages.pop(0)
    append(cluster, writer)
    held.arrive()
    cluster.result(forcing)
    reconnect(cluster, writer.metadata.last_fragment.ensemble[0])
    with pytest.raises(BookieUnavailable):
        cluster.result(writer.force())
    assert writer.last_add_confirmed == 0


def test_a_connection_lost_after_a_force_does_no_harm() -> None:
    cluster, writer = deferring()
    for _ in range(2):
        append(cluster, writer)
        cluster.result(writer.force())
        for bookie_id in writer.metadata.last_fragment.ensemble:
            reconnect(cluster, bookie_id)
    assert writer.last_add_confirmed == 1


def test_a_fenced_writer_says_so() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    cluster.result(cluster.client(V3).open_ledger(writer.ledger_id))
    with pytest.raises(LedgerFenced, match=r"ledger 0, bookie b\d"):
        cluster.result(writer.append(b"late"))


def test_v2_has_no_deferred_sync() -> None:
    cluster = Cluster()
    client = cluster.client()
    plain = cluster.result(client.create_ledger())
    versioned = cluster.state.ledgers[plain.ledger_id]
    with pytest.raises(IllegalOperation, match="v3"):
        LedgerWriter(client._context, plain.ledger_id, versioned, EntryDigest(DigestType.CRC32C, b""), True)


def test_a_closed_client_ends_the_writer() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    appended = writer.append(b"late")
    cluster.network.lose(cluster.network.find("request b"), ClientClosed())
    with pytest.raises(ClientClosed):
        cluster.result(appended)
