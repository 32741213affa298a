"""bookkeeper_tx.bookie.http.entry_location_compact: which databases are compacted."""

from collections.abc import Mapping, Sequence

import pytest

from tests.bookie.http.asked import BOOKIE, Asked

PATH = "/api/v1/bookie/entry_location_compact"


class Databases:
    """Notes which are to be compacted."""

    def __init__(self) -> None:
        self.compacted: list[str] = []

    def compacting(self) -> Mapping[str, bool]:
        return {path: path in self.compacted for path in ("/a/locations", "/b/locations")}

    def compact(self, paths: Sequence[str]) -> None:
        self.compacted += paths


@pytest.fixture
def databases(asked: Asked) -> Databases:
    asked.bookie.locations = Databases()
    return asked.bookie.locations


def test_all_are_compacted_or_those_that_are_named(asked: Asked, databases: Databases) -> None:
    named = asked.put(PATH, {"entryLocationRocksDBCompact": True, "entryLocations": "/b/locations"})
    assert named.json == f"Triggered entry Location RocksDB: /b/locations compact on bookie:{BOOKIE}."
    assert asked.ask(PATH).json == {"/a/locations": False, "/b/locations": True}
    every = asked.put(PATH, {"entryLocationRocksDBCompact": True})
    assert every.json == f"Triggered entry Location RocksDB compact on bookie:{BOOKIE}"
    assert databases.compacted == ["/b/locations", "/a/locations", "/b/locations"]


def test_others_are_refused(asked: Asked, databases: Databases) -> None:
    refused = asked.put(PATH, {"entryLocationRocksDBCompact": True, "entryLocations": "/c"})
    assert refused.status == 400
    assert refused.json == (
        "Specified trigger compact entryLocations: /c is invalid. "
        "Bookie entry location RocksDB path: [/a/locations, /b/locations]."
    )
    assert not databases.compacted


def test_a_body_must_ask_for_it(asked: Asked, databases: Databases) -> None:
    replies = [asked.ask(PATH, "PUT", body) for body in (b"", b"{", b'{"entryLocationRocksDBCompact": "x"}', b"{}")]
    assert [reply.status for reply in replies] == [400, 400, 500, 200]
    assert replies[0].text == "Empty request body"
    assert replies[1].json == "Failed to deserialize Object from Json string"
    assert replies[3].text == "Not trigger Entry Location RocksDB compact."
    assert not databases.compacted


def test_a_storage_without_them_has_none(asked: Asked) -> None:
    assert asked.ask(PATH).json == {}
    assert asked.put(PATH, {"entryLocationRocksDBCompact": True}).status == 200
