"""Custom metadata changes in any state of a ledger, and nobody's change is lost."""

from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import gatherResults

from bookkeeper_tx.errors import InvalidArgument, NoSuchLedger
from bookkeeper_tx.model import LedgerState, Versioned
from tests.client.puppets import Cluster


def test_keys_are_set_and_removed_and_others_stay() -> None:
    cluster = Cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger(custom_metadata={"a": b"1", "b": b"2"}))
    changed = cluster.result(client.update_custom_metadata(writer.ledger_id, {"b": None, "c": b"3", "absent": None}))
    assert changed == cluster.metadata(writer.ledger_id)
    assert changed.custom_metadata == {"a": b"1", "c": b"3"}
    writes = len(cluster.state.history)
    assert cluster.result(client.update_custom_metadata(writer.ledger_id, {"a": b"1"})) == changed
    assert len(cluster.state.history) == writes, "what is there already is not written"


def test_two_clients_lose_no_change_of_each_other() -> None:
    cluster = Cluster()
    one, other = cluster.client(), cluster.client()
    ledger_id = cluster.result(one.create_ledger()).ledger_id
    updates = [client.update_custom_metadata(ledger_id, {name: b"x"}) for client, name in ((one, "1"), (other, "2"))]
    cluster.result(gatherResults(updates))
    assert cluster.metadata(ledger_id).custom_metadata == {"1": b"x", "2": b"x"}


def test_a_writer_goes_on_and_closes_with_the_change() -> None:
    cluster = Cluster()
    client, other = cluster.client(), cluster.client()
    writer = cluster.result(client.create_ledger(3, 3, 2))
    cluster.result(other.update_custom_metadata(writer.ledger_id, {"owner": b"me"}))
    cluster.result(writer.append(b"x"))
    cluster.result(writer.close())
    metadata = cluster.metadata(writer.ledger_id)
    assert (metadata.state, metadata.custom_metadata) == (LedgerState.CLOSED, {"owner": b"me"})


def test_a_recovery_keeps_what_is_changed_before_it_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    client, recovering = cluster.client(), cluster.client()
    writer = cluster.result(client.create_ledger(3, 3, 2))
    cluster.result(writer.append(b"x"))
    store: Any = recovering.metadata
    write = store.write_ledger

    def changed_before(ledger_id: int, metadata: Any, version: int) -> Any:
        if metadata.closed:
            monkeypatch.undo()
            present = cluster.state.ledgers[ledger_id]
            changed = evolve(present.metadata, custom_metadata={"owner": b"me"})
            cluster.state.ledgers[ledger_id] = Versioned(changed, present.version + 1)
        return write(ledger_id, metadata, version)

    monkeypatch.setattr(store, "write_ledger", changed_before)
    reader = cluster.result(recovering.open_ledger(writer.ledger_id))
    assert reader.metadata == cluster.metadata(writer.ledger_id)
    assert (reader.closed, reader.last_add_confirmed) == (True, 0)
    assert reader.metadata.custom_metadata == {"owner": b"me"}


@pytest.mark.parametrize("changes", [{"key": "text"}, {1: b"value"}, {2: None}, {"key": 3}])
def test_what_is_no_text_or_no_bytes_is_refused(changes: Any) -> None:
    cluster = Cluster()
    client = cluster.client()
    ledger_id = cluster.result(client.create_ledger()).ledger_id
    with pytest.raises(InvalidArgument, match="custom_metadata must map text to bytes"):
        cluster.result(client.update_custom_metadata(ledger_id, changes))


def test_an_unknown_ledger_has_none() -> None:
    cluster = Cluster()
    with pytest.raises(NoSuchLedger):
        cluster.result(cluster.client().update_custom_metadata(7, {"key": b"value"}))
