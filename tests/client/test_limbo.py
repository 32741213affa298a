"""A client and a bookie that may have lost entries: it is asked, and believed in nothing that it does not have."""

from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, NoSuchEntry, NoSuchLedger, StorageFailed, UnknownLedgerState
from bookkeeper_tx.model import LedgerState
from tests.client.puppets import Cluster

COUNT = 9
PAYLOADS = [b"entry %d" % index for index in range(COUNT)]

told = pytest.mark.parametrize("answer", [UnknownLedgerState(), StorageFailed()], ids=["V3", "V2"])
"""How a bookie tells it: in V2 by an I/O error."""


class Site:
    """A ledger on two bookies, one of which has lost it."""

    def __init__(self, answer: BookKeeperError, closed: bool, acks: int = 2) -> None:
        self.cluster = Cluster(["lost", "kept"])
        self.protocol = WireProtocol.V3 if isinstance(answer, UnknownLedgerState) else WireProtocol.V2
        writer = self.cluster.result(self.client().create_ledger(2, 2, acks))
        self.cluster.result(writer.append_many(PAYLOADS))
        self.cluster.result(writer.append(b"which says that those before are confirmed"))
        self.cluster.network.run()
        if closed:
            self.cluster.result(writer.close())
        self.ledger_id = int(writer.ledger_id)
        self.lost = self.cluster.bookies["lost"]
        self.lost.fails = answer

    def client(self) -> Any:
        return self.cluster.client(ClientConfig(protocol=self.protocol))

    def open(self) -> Any:
        return self.cluster.result(self.client().open_ledger(self.ledger_id))


@told
@pytest.mark.parametrize("batch", [True, False])
def test_reads_go_on_to_the_next_replica(answer: BookKeeperError, batch: bool) -> None:
    site = Site(answer, closed=True)
    reader = site.open()
    read = site.cluster.result(reader.read(0, COUNT - 1, batch))
    assert list(read.payloads) == PAYLOADS
    assert [site.cluster.result(reader.read_entry(each)).payload for each in range(COUNT)] == PAYLOADS
    assert any("read" in each for each in site.lost.requests), "it was asked"


@told
def test_of_two_errors_the_missing_entry_is_not_the_one_that_is_told(answer: BookKeeperError) -> None:
    site = Site(answer, closed=True)
    reader = site.open()
    del site.cluster.bookies["kept"].ledgers[site.ledger_id].entries[4]
    with pytest.raises(type(answer)):
        site.cluster.result(reader.read_entry(4))


@told
def test_the_last_add_confirmed_is_that_of_the_others_if_they_suffice(answer: BookKeeperError) -> None:
    site = Site(answer, closed=False)
    reader = site.cluster.result(site.client().open_ledger_no_recovery(site.ledger_id))
    assert reader.last_add_confirmed == COUNT - 1
    alone = Site(answer, closed=False, acks=1)
    with pytest.raises(BookKeeperError):
        alone.cluster.result(alone.client().open_ledger_no_recovery(alone.ledger_id))


@told
@pytest.mark.parametrize("other", [NoSuchEntry(), NoSuchLedger()])
def test_recovery_closes_nothing_when_the_other_bookie_has_nothing_either(
    answer: BookKeeperError, other: BookKeeperError
) -> None:
    """One acknowledgement sufficed, so that the entries may all have been on the bookie that has lost them."""
    site = Site(answer, closed=False, acks=1)
    site.cluster.bookies["kept"].fails = other
    with pytest.raises(BookKeeperError):
        site.open()
    assert site.cluster.metadata(site.ledger_id).state is LedgerState.IN_RECOVERY
