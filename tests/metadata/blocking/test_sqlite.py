"""The blocking store on SQLite files, beside the store of the reactor."""

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.errors import (
    BookieUnavailable,
    InvalidArgument,
    InvalidConfig,
    LedgerExists,
    MetadataConflict,
    MetadataCorrupt,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.model import LedgerId
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of
from tests.metadata.contract import INFO, METADATA, OTHER_INFO, SCOPE_ID


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "meta.sqlite")
    Tables(path).create()
    return path


@pytest.fixture
def store(path: str) -> Iterator[BlockingStore]:
    with open_blocking_store(f"sqlite://{path}") as store:
        yield store


@pytest.fixture
def twisted(path: str) -> Iterator[Any]:
    store = SqliteMetadataStore(path, Clock(), lambda reactor, name: InlineWorker())
    result_of(store.start())
    yield store
    result_of(store.stop())


@pytest.fixture(params=[7, LedgerId(7, SCOPE_ID)], ids=["scope 0", "scoped"])
def ledger_id(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_both_kinds_of_store_see_the_same_ledgers(store: BlockingStore, twisted: Any, ledger_id: int) -> None:
    created = store.create_ledger(ledger_id, METADATA)
    assert created.metadata.create_token is not None
    assert result_of(twisted.read_ledger(ledger_id)) == created
    written = result_of(twisted.write_ledger(ledger_id, created.metadata.with_close(5, 10), 0))
    assert store.read_ledger(ledger_id) == written
    with pytest.raises(MetadataConflict):
        store.write_ledger(ledger_id, METADATA, 0)
    assert store.write_ledger(ledger_id, METADATA, 1).version == 2
    with pytest.raises(LedgerExists):
        store.create_ledger(ledger_id, METADATA)
    assert store.list_ledgers(None) == [ledger_id]
    store.delete_ledger(ledger_id)
    assert result_of(twisted.list_ledgers(None)) == []
    with pytest.raises(NoSuchLedger):
        store.read_ledger(ledger_id)
    assert [store.new_ledger_id(), result_of(twisted.new_ledger_id()), store.new_ledger_id()] == [0, 1, 2]
    assert store.instance_id() == result_of(twisted.instance_id())


def test_an_id_that_no_ledger_has(store: BlockingStore) -> None:
    with pytest.raises(InvalidArgument):
        store.create_ledger(-1, METADATA)


def test_many_ledgers_with_those_that_are_missing_or_corrupt(store: BlockingStore, path: str) -> None:
    created = [(number, store.create_ledger(number, METADATA)) for number in (5, 1, 3)]
    Tables(path).insert_ledger(4, b"nonsense")
    *found, (_, missing), (_, corrupt) = store.read_ledgers(iter([5, 1, 3, 2, 4]))
    assert found == created
    assert isinstance(missing, NoSuchLedger)
    assert isinstance(corrupt, MetadataCorrupt)
    assert "ledger 4" in str(corrupt)


def test_a_corrupt_file_is_no_corrupt_ledger(store: BlockingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Tables, ledger_id: int) -> Any:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(Tables, "ledger", broken)
    with pytest.raises(MetadataCorrupt, match="malformed"):
        list(store.read_ledgers([1]))


def test_a_bookie_is_registered_while_its_lock_is_held(store: BlockingStore, twisted: Any) -> None:
    result_of(twisted.register_bookie("a:1", INFO))
    result_of(twisted.register_bookie("b:2", OTHER_INFO, read_only=True))
    result_of(twisted.write_cookie("c:3", b"cookie", None))
    assert store.writable_bookies() == {"a:1"}
    assert store.read_only_bookies() == {"b:2"}
    assert store.cookie_bookies() == {"c:3"}
    assert store.bookie_info("a:1") == INFO
    twisted._records.locks.release("a:1")  # what the kernel does for a killed process
    assert store.writable_bookies() == frozenset()
    with pytest.raises(BookieUnavailable, match="a:1"):
        store.bookie_info("a:1")


def test_no_file_and_somebody_elses_file(tmp_path: Path) -> None:
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        open_blocking_store(f"sqlite://{tmp_path}/none.sqlite")
    assert list(tmp_path.iterdir()) == []
    connection = sqlite3.connect(tmp_path / "theirs.sqlite")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(InvalidConfig, match="some other program's"):
        open_blocking_store(f"sqlite://{tmp_path}/theirs.sqlite")


def test_a_lock_held_too_long_is_unavailable(path: str) -> None:
    writer = sqlite3.connect(path, isolation_level=None)
    with open_blocking_store(f"sqlite://{path}", timeout_s=0) as store:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(MetadataUnavailable, match="locked"):
            store.new_ledger_id()
        assert store.list_ledgers() == []
        writer.execute("ROLLBACK")
        assert store.new_ledger_id() == 0
    writer.close()


@pytest.mark.parametrize(
    "operation",
    [
        lambda store: store.read_ledger(7),
        lambda store: list(store.read_ledgers([1])),
        lambda store: store.list_documents(()),
    ],
)
def test_a_closed_store_fails_at_once(path: str, operation: Callable[[BlockingStore], Any]) -> None:
    with open_blocking_store(f"sqlite://{path}") as store:
        pass
    store.close()
    with pytest.raises(MetadataUnavailable, match="closed"):
        operation(store)


def test_a_store_is_not_pickled(store: BlockingStore) -> None:
    with pytest.raises(TypeError, match="send its URI"):
        pickle.dumps(store)
