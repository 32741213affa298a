"""The SQLite store without threads and with a clock in the test's hand; its contract is in tests/integration."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.task import Clock

from bookkeeper_tx.errors import BookieUnavailable, InvalidConfig, MetadataCorrupt, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata.sqlite import tables as sqlite_tables
from bookkeeper_tx.metadata.sqlite.polling import INTERVAL_S
from bookkeeper_tx.metadata.sqlite.sqlite import SqliteMetadataStore
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.model import LedgerId, Versioned
from tests.bookie.workers import InlineWorker
from tests.conftest import failure_of, result_of
from tests.metadata.contract import INFO, METADATA, SCOPE_ID

OLD_STORE = Path(__file__).with_name("store_before_scopes.sql")
SCOPED_ID = LedgerId(7, SCOPE_ID)


class Stores:
    """Stores on one file, with one clock."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.clock = Clock()
        self.opened: list[Any] = []

    def open(self) -> Any:
        store = SqliteMetadataStore(self.path, self.clock, lambda reactor, name: InlineWorker())
        result_of(store.start())
        self.opened.append(store)
        return store

    def initialized(self) -> Any:
        store = self.open()
        result_of(store.initialize())
        return store

    def poll(self) -> None:
        self.clock.advance(INTERVAL_S)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    stores = Stores(tmp_path / "meta.sqlite")
    yield stores
    for store in stores.opened:
        result_of(store.stop())
    assert not stores.clock.getDelayedCalls()


def test_polls_only_while_somebody_watches(stores: Stores) -> None:
    store = stores.initialized()
    assert not stores.clock.getDelayedCalls()
    ends = [store.watch_bookies(lambda: None), store.watch_ledger(1, lambda: None)]
    assert len(stores.clock.getDelayedCalls()) == 1
    for end in ends:
        end()
        end()
    assert not stores.clock.getDelayedCalls()


def test_a_change_here_is_told_at_once_and_one_elsewhere_at_the_next_poll(stores: Stores) -> None:
    here, elsewhere = stores.initialized(), stores.open()
    calls: list[str] = []
    result_of(here.create_ledger(1, METADATA))
    here.watch_ledger(1, lambda: calls.append("here"))
    elsewhere.watch_ledger(1, lambda: calls.append("elsewhere"))
    result_of(here.write_ledger(1, METADATA, 0))
    assert calls == ["here"]
    stores.poll()
    assert sorted(calls) == ["elsewhere", "here"]
    stores.poll()
    assert len(calls) == 2


def test_a_bookie_whose_process_ended_is_told_by_the_poll(stores: Stores) -> None:
    store, dying = stores.initialized(), stores.open()
    result_of(dying.register_bookie("a:1", INFO))
    calls: list[int] = []
    store.watch_bookies(lambda: calls.append(1))
    stores.poll()
    assert not calls
    dying._records.locks.release("a:1")  # what the kernel does for a killed process
    stores.poll()
    assert calls == [1]
    assert result_of(store.writable_bookies()) == frozenset()
    failure_of(store.bookie_info("a:1"), BookieUnavailable)


def test_a_watch_outlives_a_store_that_cannot_be_read_for_a_while(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = stores.initialized(), stores.open()
    calls: list[int] = []
    store.watch_bookies(lambda: calls.append(1))
    with monkeypatch.context() as patched:
        patched.setattr(Tables, "changed_by_others", broken)
        stores.poll()
    result_of(other.register_bookie("a:1", INFO))
    stores.poll()
    assert calls == [1]


@pytest.mark.parametrize("ledger_id", [1, SCOPED_ID])
def test_a_change_that_could_not_be_read_is_looked_at_again(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, ledger_id: int
) -> None:
    store, other = stores.initialized(), stores.open()
    result_of(other.create_ledger(ledger_id, METADATA))
    calls: list[int] = []
    store.watch_ledger(ledger_id, lambda: calls.append(1))
    result_of(other.write_ledger(ledger_id, METADATA, 0))
    with monkeypatch.context() as patched:
        patched.setattr(Tables, "ledger_versions", broken)
        stores.poll()
    assert calls == []
    stores.poll()
    assert calls == [1]


def broken(self: Tables, *arguments: Any) -> Any:
    raise sqlite3.OperationalError("disk I/O error")


def test_a_foreign_database_is_refused(stores: Stores) -> None:
    connection = sqlite3.connect(stores.path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    store = stores.open()
    for attempt in (store.initialize(), store.list_ledgers()):
        assert "some other program's" in str(failure_of(attempt, InvalidConfig))
    connection = sqlite3.connect(stores.path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)  # it was left as it was
    connection.close()


def test_a_newer_schema_is_refused(stores: Stores) -> None:
    result_of(stores.initialized().stop())
    connection = sqlite3.connect(stores.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "99" in str(failure_of(stores.open().list_ledgers(), InvalidConfig))


def test_a_file_that_is_no_database(stores: Stores) -> None:
    Path(stores.path).write_bytes(b"garbage " * 1000)
    assert stores.path in str(failure_of(stores.open().list_ledgers(), MetadataCorrupt))


def test_an_empty_file_is_not_yet_a_store(stores: Stores) -> None:
    Path(stores.path).touch()
    failure_of(stores.open().list_ledgers(), MetadataUnavailable)
    assert result_of(stores.open().initialize()) is True


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_file_is_made_as_the_umask_says(stores: Stores, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        stores.initialized()
    finally:
        os.umask(before)
    assert Path(stores.path).stat().st_mode & 0o777 == mode


def test_a_directory_in_the_place_of_the_file(stores: Stores) -> None:
    Path(stores.path).mkdir()
    failure_of(stores.open().initialize(), MetadataUnavailable)
    failure_of(stores.open().list_ledgers(), MetadataUnavailable)


def test_a_lock_held_too_long_is_unavailable(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    result_of(stores.initialized().stop())
    monkeypatch.setattr(sqlite_tables, "BUSY_TIMEOUT_S", 0.0)
    store = stores.open()
    writer = sqlite3.connect(stores.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert "locked" in str(failure_of(store.new_ledger_id(), MetadataUnavailable))
    assert result_of(store.list_ledgers()) == []  # readers do not wait for a writer
    writer.execute("ROLLBACK")
    writer.close()
    assert result_of(store.new_ledger_id()) == 0


def test_corrupt_metadata_names_the_ledger(stores: Stores) -> None:
    store = stores.initialized()
    tables = Tables(stores.path)
    tables.insert_ledger(5, b"nonsense")
    tables.close()
    assert "ledger 5" in str(failure_of(store.read_ledger(5), MetadataCorrupt))


def test_commits_are_synced(stores: Stores) -> None:
    stores.initialized()
    connection = Tables(stores.path).opened()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_not_started(stores: Stores) -> None:
    store = SqliteMetadataStore(stores.path, stores.clock)
    failure_of(store.list_ledgers(), MetadataUnavailable)
    result_of(store.stop())


def test_a_failed_registration_gives_the_lock_back(stores: Stores) -> None:
    store = stores.open()
    failure_of(store.register_bookie("a:1", INFO), MetadataUnavailable)
    assert not store._records.locks.held


# A file of the release before ledger scopes ---------------------------------------------------------------------------


@pytest.fixture
def old_file(stores: Stores) -> str:
    connection = sqlite3.connect(stores.path)
    connection.executescript(OLD_STORE.read_text())
    connection.close()
    return stores.path


def dump(path: str) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        numbers = [str(connection.execute(f"PRAGMA {name}").fetchone()) for name in ("application_id", "user_version")]
        return [*numbers, *connection.iterdump()]
    finally:
        connection.close()


def test_an_old_file_is_read_and_not_changed_by_that(stores: Stores, old_file: str) -> None:
    before = dump(old_file)
    store = stores.open()
    assert result_of(store.initialize()) is False
    for scope_id in (0, None):
        assert result_of(store.list_ledgers(scope_id)) == [0, 1, 2**63 - 1]
    assert result_of(store.list_ledgers(5)) == []
    assert result_of(store.read_ledger(0)).metadata == evolve(METADATA, create_token=5)
    closed = evolve(METADATA, format_version=2).with_close(41, 1000)
    assert result_of(store.read_ledger(1)) == Versioned(closed, 1)
    assert result_of(store.read_ledger(2**63 - 1)).metadata.format_version == 1
    failure_of(store.read_ledger(SCOPED_ID), NoSuchLedger)
    assert result_of(store.read_cookie("a:1")) == (b'5\nbookieHost: "a:1"\n', 0)
    store.watch_ledger(SCOPED_ID, lambda: None)()
    result_of(store.stop())
    assert dump(old_file) == before


def test_scoped_ledgers_change_nothing_that_an_old_release_reads(stores: Stores, old_file: str) -> None:
    before = dump(old_file)
    store = stores.open()
    created = result_of(store.create_ledger(SCOPED_ID, METADATA))
    result_of(store.write_ledger(SCOPED_ID, created.metadata.with_close(1, 2), 0))
    assert [line for line in dump(old_file) if "scoped_ledgers" not in line] == before
    assert result_of(store.list_ledgers(None)) == [0, 1, 2**63 - 1, SCOPED_ID]
    assert result_of(store.new_ledger_id()) == 3  # scoped ids take none of the others


def test_a_scoped_ledger_that_is_there_is_seen_by_a_store_that_was_open_before(stores: Stores) -> None:
    here, elsewhere = stores.initialized(), stores.open()
    assert result_of(elsewhere.list_ledgers(None)) == []
    calls: list[int] = []
    elsewhere.watch_ledger(SCOPED_ID, lambda: calls.append(1))
    result_of(here.create_ledger(SCOPED_ID, METADATA))
    stores.poll()
    assert calls == [1]
    assert result_of(elsewhere.list_ledgers(None)) == [SCOPED_ID]
