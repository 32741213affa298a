"""The writer's handle over simulated bookies."""

import pytest
from attrs import evolve

from bookkeeper_tx.errors import (
    LedgerClosed,
    LedgerFenced,
)
from bookkeeper_tx.model import LedgerState
from tests.client.puppets import Cluster
from tests.client.writers import writer_of


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


def test_a_close_is_tried_again_if_the_ledger_was_written_meanwhile_and_is_still_open() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    cluster.result(writer.append(b"x"))
    found = cluster.state.ledgers[writer.ledger_id]
    noted = evolve(found.metadata, custom_metadata={"owner": b"somebody"})
    cluster.state.ledgers[writer.ledger_id] = type(found)(noted, found.version + 1)
    cluster.result(writer.close())
    assert cluster.metadata(writer.ledger_id) == evolve(noted.with_close(0, 1), create_token=0)


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
