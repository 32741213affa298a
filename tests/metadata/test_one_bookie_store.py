"""bookkeeper_tx.metadata.one_bookie_store."""

from typing import Any

from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.metadata.one_bookie_store import OneBookieStore
from tests.conftest import result_of


class Store:
    """Two bookies can be written to."""

    uri = "a uri"

    def writable_bookies(self) -> Deferred[frozenset[str]]:
        return succeed(frozenset(["b:1", "b:2"]))


def shown(bookie_id: str) -> Any:
    store: Any = Store()
    return OneBookieStore(store, bookie_id)


def test_one_bookie_is_shown_if_it_can_be_written_to() -> None:
    assert result_of(shown("b:2").writable_bookies()) == {"b:2"}
    assert result_of(shown("b:3").writable_bookies()) == frozenset()


def test_all_else_is_the_stores() -> None:
    assert shown("b:2").uri == "a uri"
