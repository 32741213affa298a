"""What the metadata store says of ledgers, if it is that of the bookie's cluster."""

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.cluster import AnotherCluster
from bookkeeper_tx.bookie.offline.ledger_facts import ledger_facts
from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.model import LedgerState
from tests.bookie.garbage.bookies import BOOKIE, INSTANCE, OPEN, Store


@pytest.fixture
def asked(result_of):
    return lambda store, *ids: result_of(Deferred.fromCoroutine(ledger_facts(store, BOOKIE, INSTANCE, ids)))


def test_keys_and_deleted_ledgers(asked):
    store = Store()
    store.ledgers = {
        1: OPEN,
        3: evolve(OPEN, state=LedgerState.CLOSED, last_entry_id=9, length=20),
        4: evolve(OPEN, password=None),
    }
    found = asked(store, 1, 2, 3, 4)
    assert found.gone == {2}
    assert found.keys == dict.fromkeys((1, 3), master_key(b"pw"))
    assert found.last_entry_ids == {3: 9}


@pytest.mark.parametrize(("name", "value"), [("instance", "another"), ("instance", None), ("cookie", None)])
def test_the_store_of_another_cluster_is_not_asked(asked, name, value):
    store = Store()
    setattr(store, name, value)
    with pytest.raises(AnotherCluster, match="no ledger is deleted, or left out"):
        asked(store, 1)
    assert store.calls == []
