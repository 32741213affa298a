"""bookkeeper_tx.metadata.etcd.named_records: lists in pages that pass over what is deeper."""

import pytest

from bookkeeper_tx.metadata.etcd import client as etcd_client
from tests.metadata.etcd.etcd_world import World

NAMES = ["a", "a-b", "a.b", "a0", "aa", "b", "ä", "B/C"]


@pytest.mark.parametrize("page", [1, 2, 5, 1000])
def test_each_name_is_listed_once(world: World, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(etcd_client, "PAGE", page)
    for name in NAMES:
        for below in ((), ("x",), ("y", "z")):
            world.records.named.write(("logs", name, *below), b"x", None)
    assert world.records.named.names(("logs",)) == sorted(NAMES)
    assert world.records.named.names(("logs", "a")) == ["x", "y"]
    assert world.records.named.names(()) == ["logs"]


def test_what_is_below_the_last_name_of_a_page_is_passed_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_client, "PAGE", 10)
    for query in ("first", "second", "third"):
        for epoch in range(100):
            world.records.documents.create(("sink", query, str(epoch)), b"x")
    world.etcd.requests.clear()
    assert world.records.documents.names(("sink",)) == ["first", "second", "third"]
    assert len(world.etcd.requests) == 4
