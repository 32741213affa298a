"""Documents, in an SQLite file and on a ZooKeeper in memory."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.documents import DOCUMENT_SIZE_MAX
from tests.metadata.blocking.conftest import Stores
from tests.metadata.sqlite.test_sqlite import OLD_STORE, dump
from tests.metadata.zookeeper.fake_kazoo import BlockingWorld

FOLDER = "/made/ledgers/ID-spark-sinks"


def test_a_document_is_made_once_and_seen_by_all(stores: Stores) -> None:
    here, elsewhere = stores
    path = ("sink", "query", "7")
    assert elsewhere.read_document(path) is None
    assert elsewhere.list_documents(()) == []
    assert here.create_document(path, b"first") is True
    assert elsewhere.create_document(path, b"second") is False
    assert here.create_document(path, b"first") is False
    assert elsewhere.read_document(path) == b"first"
    assert elsewhere.list_documents(("sink", "query")) == ["7"]
    assert elsewhere.list_documents(()) == ["sink"]


def test_names_are_any_text_and_listed_in_order(stores: Stores) -> None:
    here, elsewhere = stores
    names = ["a/b", ".", "..", "...", "ä € \x00", "%2F", "~", "B", "10", "9", "a b", "zookeeper"]
    for name in names:
        assert here.create_document(("sink", name), name.encode())
    assert elsewhere.list_documents(("sink",)) == sorted(names)
    assert [elsewhere.read_document(("sink", name)) for name in names] == [name.encode() for name in names]
    assert elsewhere.list_documents(("sin",)) == []


def test_names_are_those_of_all_documents_below(stores: Stores) -> None:
    here, _ = stores
    for path in (("a", "x", "1"), ("a", "x", "2"), ("a", "y"), ("ab", "z")):
        here.create_document(path, b"data")
    assert here.list_documents(()) == ["a", "ab"]
    assert here.list_documents(("a",)) == ["x", "y"]
    assert here.read_document(("a", "x")) is None
    assert here.read_document(()) is None


def test_what_leads_to_documents_may_be_one_too(stores: Stores) -> None:
    here, elsewhere = stores
    here.create_document(("a", "x", "1"), b"deep")
    assert here.create_document(("a", "x"), b"above") is True
    assert elsewhere.create_document(("a", "x"), b"again") is False
    here.delete_document(("a", "x"))
    assert elsewhere.read_document(("a", "x")) is None
    assert elsewhere.read_document(("a", "x", "1")) == b"deep"
    assert elsewhere.create_document(("a", "x"), b"anew") is True
    here.delete_document(("a", "x", "1"))
    assert elsewhere.read_document(("a", "x")) == b"anew"
    assert elsewhere.list_documents(("a", "x")) == []


def test_a_deleted_document_is_gone_and_deleting_again_is_no_error(stores: Stores) -> None:
    here, elsewhere = stores
    here.delete_document(("never",))
    for name in ("1", "2"):
        here.create_document(("sink", name), b"data")
    elsewhere.delete_document(("sink", "1"))
    elsewhere.delete_document(("sink", "1"))
    elsewhere.delete_document(("sink",))
    assert here.list_documents(("sink",)) == ["2"]
    elsewhere.delete_document(("sink", "2"))
    assert here.list_documents(()) == []
    assert here.create_document(("sink", "1"), b"anew") is True


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ((), b"x", "at least one name"),
        (("a", ""), b"x", "not empty"),
        (("a",), b"", "1 to 1000000"),
        (("a",), bytes(DOCUMENT_SIZE_MAX + 1), "1 to 1000000"),
    ],
)
def test_what_is_no_document(stores: Stores, path: tuple[str, ...], data: bytes, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        stores[0].create_document(path, data)


# ZooKeeper -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("carried_out", [True, False])
@pytest.mark.parametrize("request_name", ["create", "commit"])
def test_create_with_a_lost_answer(carried_out: bool, request_name: str) -> None:
    store, client = BlockingWorld().open_blocking()
    client.lose(request_name, carried_out)
    assert store.create_document(("a", "b"), b"data") is True
    assert store.create_document(("a", "b"), b"data") is False


@pytest.mark.parametrize("carried_out", [True, False])
def test_create_above_others_with_a_lost_answer(carried_out: bool) -> None:
    store, client = BlockingWorld().open_blocking()
    store.create_document(("a", "b"), b"below")
    client.lose("set", carried_out)
    assert store.create_document(("a",), b"data") is True
    assert store.read_document(("a",)) == b"data"


def test_somebody_elses_document_after_a_lost_answer() -> None:
    world = BlockingWorld()
    store, client = world.open_blocking()
    other, _ = world.open_blocking()
    other.create_document(("a",), b"theirs")
    client.lose("create", False)
    assert store.create_document(("a",), b"mine") is False


def test_the_last_document_takes_its_nodes_along() -> None:
    world = BlockingWorld()
    store, client = world.open_blocking()
    store.create_document(("a", "b", "c"), b"data")
    store.create_document(("a", "d"), b"data")
    client.lose("delete", True)
    store.delete_document(("a", "b", "c"))
    assert [path for path in world.server.paths() if "ID-" in path] == [FOLDER, f"{FOLDER}/a", f"{FOLDER}/a/d"]
    store.delete_document(("a", "d"))
    assert [path for path in world.server.paths() if "ID-" in path] == [FOLDER]


@pytest.mark.parametrize("meanwhile", ["a document", "a child"])
def test_a_node_that_is_used_again_meanwhile_stays(meanwhile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = BlockingWorld()
    store, _ = world.open_blocking()
    store.create_document(("a", "b"), b"data")
    carry_out: Callable[..., Any] = world.server.carry_out

    def meddle(session_id: int, name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        if (name, path) == ("delete", f"{FOLDER}/a"):
            if meanwhile == "a document":
                world.server.set(path, b"theirs")
            else:
                world.server.create(f"{path}/c", b"theirs")
        return carry_out(session_id, name, path, *args, **kwargs)

    monkeypatch.setattr(world.server.__class__, "carry_out", staticmethod(meddle))
    store.delete_document(("a", "b"))
    assert f"{FOLDER}/a" in world.server.nodes


# SQLite --------------------------------------------------------------------------------------------------------------


def test_a_file_without_the_table_is_read_and_not_changed_by_that(tmp_path: Path) -> None:
    path = str(tmp_path / "meta.sqlite")
    connection = sqlite3.connect(path)
    connection.executescript(OLD_STORE.read_text())
    connection.close()
    before = dump(path)
    with open_blocking_store(f"sqlite://{path}") as store:
        assert store.list_ledgers(None) == [0, 1, 2**63 - 1]
        assert store.read_document(("a",)) is None
        assert store.list_documents(()) == []
        store.delete_document(("a",))
        assert dump(path) == before
        assert store.create_document(("a",), b"data") is True
        assert store.read_document(("a",)) == b"data"
    assert [line for line in dump(path) if "documents" not in line] == before
