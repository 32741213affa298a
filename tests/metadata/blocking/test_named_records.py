"""Named records, in an SQLite file and on a ZooKeeper in memory."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import InvalidArgument, MetadataConflict
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.named_records import RECORD_SIZE_MAX
from tests.metadata.blocking.conftest import Stores
from tests.metadata.sqlite.test_sqlite import OLD_STORE, dump
from tests.metadata.zookeeper.fake_kazoo import BlockingWorld

PATH = ("logs", "orders", "list")
FOLDER = "/made/ledgers/ID-records"


def test_a_record_is_changed_by_who_has_seen_it(stores: Stores) -> None:
    here, elsewhere = stores
    assert here.read_record(PATH) is None
    assert here.write_record(PATH, b"one", None) == 0
    assert elsewhere.write_record(PATH, b"two", 0) == 1
    for version in (None, 0, 2):
        with pytest.raises(MetadataConflict, match="logs/orders/list"):
            here.write_record(PATH, b"three", version)
    assert here.read_record(PATH) == (b"two", 1)
    with pytest.raises(MetadataConflict):
        here.delete_record(PATH, 0)
    here.delete_record(PATH, 1)
    with pytest.raises(MetadataConflict):
        here.delete_record(PATH, 1)
    assert elsewhere.read_record(PATH) is None


def test_names_are_listed_level_by_level(stores: Stores) -> None:
    here, elsewhere = stores
    for name in ("b", "a/b", ".."):
        here.write_record(("logs", name, "list"), b"x", None)
    assert elsewhere.list_records(()) == ["logs"]
    assert elsewhere.list_records(("logs",)) == sorted(["b", "a/b", ".."])
    assert elsewhere.list_records(("logs", "c")) == []
    for name in ("b", "a/b", ".."):
        here.delete_record(("logs", name, "list"), 0)
    assert elsewhere.list_records(()) == []


@pytest.mark.parametrize(
    ("path", "data"), [(PATH, bytes(RECORD_SIZE_MAX + 1)), (PATH, b""), ((), b"x"), (("",), b"x"), ((1,), b"x")]
)
def test_impossible_records_are_refused(stores: Stores, path: Any, data: bytes) -> None:
    with pytest.raises(InvalidArgument):
        stores[0].write_record(path, data, None)


@pytest.mark.parametrize("use", [lambda store: store.read_record(()), lambda store: store.delete_record((), 0)])
def test_no_path_names_no_record(stores: Stores, use: Callable[[BlockingStore], Any]) -> None:
    with pytest.raises(InvalidArgument, match="at least one name"):
        use(stores[0])


def test_a_file_of_an_older_release_gets_the_table_with_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "meta.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(OLD_STORE.read_text())
    connection.close()
    before = dump(path)
    with open_blocking_store(f"sqlite://{path}") as store:
        assert store.list_records(()) == []
        assert store.read_record(PATH) is None
        assert dump(path) == before
        store.write_record(PATH, b"x", None)
    assert dump(path) != before


@pytest.mark.parametrize("carried_out", [True, False])
@pytest.mark.parametrize("version", [None, 0])
def test_a_change_whose_answer_is_lost_is_known_by_its_bytes(version: int | None, carried_out: bool) -> None:
    store, client = BlockingWorld().open_blocking()
    if version is not None:
        store.write_record(PATH, b"before", None)
    client.lose("create" if version is None else "set", carried_out)
    after = 0 if version is None else 1
    assert store.write_record(PATH, b"ours", version) == after
    assert store.read_record(PATH) == (b"ours", after)


def test_somebody_elses_record_after_a_lost_answer() -> None:
    world = BlockingWorld()
    (store, client), (other, _) = world.open_blocking(), world.open_blocking()
    other.write_record(PATH, b"theirs", None)
    client.lose("create", False)
    with pytest.raises(MetadataConflict):
        store.write_record(PATH, b"ours", None)


@pytest.mark.parametrize("carried_out", [True, False])
def test_the_last_record_takes_its_nodes_along(carried_out: bool) -> None:
    world = BlockingWorld()
    store, client = world.open_blocking()
    store.write_record(("a", "b", "c"), b"data", None)
    store.write_record(("a", "d"), b"data", None)
    client.lose("delete", carried_out)
    store.delete_record(("a", "b", "c"), 0)
    assert [path for path in world.server.paths() if "ID-" in path] == [FOLDER, f"{FOLDER}/a", f"{FOLDER}/a/d"]
    store.delete_record(("a", "d"), 0)
    assert [path for path in world.server.paths() if "ID-" in path] == []


def test_what_has_records_below_it_is_none() -> None:
    store, _ = BlockingWorld().open_blocking()
    store.write_record(("a", "b"), b"data", None)
    assert store.read_record(("a",)) is None
    with pytest.raises(MetadataConflict):
        store.write_record(("a",), b"data", None)
    with pytest.raises(MetadataConflict):
        store.delete_record(("a",), 0)
