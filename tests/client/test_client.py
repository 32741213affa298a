"""The client as a whole."""

from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import ClientClosed, InvalidArgument, NoSuchLedger
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient
from tests.client.puppets import Cluster


def test_lists_shows_and_deletes_ledgers() -> None:
    cluster = Cluster()
    client = cluster.client()
    writers = [cluster.result(client.create_ledger(custom_metadata={"name": b"%d" % each})) for each in range(3)]
    assert cluster.result(client.list_ledgers()) == [0, 1, 2]
    metadata = cluster.result(client.ledger_metadata(writers[1].ledger_id))
    assert metadata.custom_metadata == {"name": b"1"}
    assert metadata.digest_type is DigestType.CRC32C
    cluster.result(client.delete_ledger(1))
    assert cluster.result(client.list_ledgers()) == [0, 2]
    for operation in (client.delete_ledger, client.ledger_metadata, client.open_ledger, client.open_ledger_no_recovery):
        with pytest.raises(NoSuchLedger):
            cluster.result(operation(1))


@pytest.mark.parametrize("ledger_id", [-1, 2**63, "7", None])
def test_ledger_ids_are_checked(ledger_id: Any) -> None:
    cluster = Cluster()
    client = cluster.client()
    for operation in (client.delete_ledger, client.ledger_metadata, client.open_ledger, client.open_ledger_no_recovery):
        with pytest.raises(InvalidArgument, match="ledger_id"):
            cluster.result(operation(ledger_id))


def test_other_arguments_are_checked() -> None:
    cluster = Cluster()
    client = cluster.client()
    with pytest.raises(InvalidArgument, match="password must be bytes, not str"):
        cluster.result(client.create_ledger(password="secret"))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="digest_type"):
        cluster.result(client.create_ledger(digest_type="CRC32"))  # type: ignore[arg-type]
    for open_ledger in (client.open_ledger, client.open_ledger_no_recovery):
        with pytest.raises(InvalidArgument, match="digest_type 'CRC32C' must be one of"):
            cluster.result(open_ledger(0, digest_type="CRC32C"))  # type: ignore[arg-type]
    for custom_metadata in ({"key": "text"}, {1: b"value"}, [("key", b"value")]):
        with pytest.raises(InvalidArgument, match="custom_metadata must map text to bytes"):
            cluster.result(client.create_ledger(custom_metadata=custom_metadata))  # type: ignore[arg-type]
    for size in ("3", 3.0):
        with pytest.raises(InvalidArgument, match="must be integers"):
            cluster.result(client.create_ledger(size))  # type: ignore[arg-type]


def test_the_metadata_store_gets_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    def open_store(*arguments: Any) -> Any:
        opened.append(arguments)
        return Cluster().client().metadata

    monkeypatch.setattr("bookkeeper_tx.metadata.store.open_metadata_store", open_store)
    clock = Clock()
    security = MetadataSecurity(login=SaslClient("bk", "secret"))
    BookKeeper("zk://h/ledgers", ClientConfig(metadata_timeout_s=3, metadata_security=security), clock)
    assert opened == [("zk://h/ledgers", clock, 3, security)]


def test_a_closed_client_says_so() -> None:
    cluster = Cluster()
    client = cluster.client()
    cluster.result(client.close())
    cluster.result(client.close())
    for deferred in (client.create_ledger(), client.open_ledger(0), client.list_ledgers()):
        with pytest.raises(ClientClosed):
            cluster.result(deferred)
