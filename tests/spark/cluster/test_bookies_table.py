"""Rows of bookies as the metadata store knows them."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import define

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieDisk, BookieServiceInfo
from bookkeeper_tx.spark.cluster import bookies_table
from bookkeeper_tx.spark.cluster.bookies_table import DOWN, READ_ONLY, WRITABLE, FoundBookie, find_bookies, row_of


@define
class Registry:
    """The requests to a metadata store that these tests need."""

    infos: dict[str, BookieServiceInfo]
    read_only: frozenset[str] = frozenset()
    cookies: frozenset[str] = frozenset()

    def writable_bookies(self) -> frozenset[str]:
        return frozenset(self.infos) - self.read_only

    def read_only_bookies(self) -> frozenset[str]:
        return self.read_only

    def cookie_bookies(self) -> frozenset[str]:
        return self.cookies

    def bookie_info(self, bookie_id: str) -> BookieServiceInfo:
        if bookie_id not in self.infos:
            raise BookieUnavailable(f"bookie {bookie_id} is not registered")
        return self.infos[bookie_id]


INFO = BookieServiceInfo("h", 1, extensions=frozenset({"b", "a"}))


def shown(store: Registry, found: FoundBookie, config: ClientConfig | None = None) -> Mapping[str, Any]:
    return row_of(store, found, config).values  # type: ignore[arg-type]  # as much of a store as is asked


def test_bookies_are_those_registered_and_those_with_a_cookie() -> None:
    store = Registry({"a": INFO, "b": INFO}, frozenset({"b"}), frozenset({"a", "c"}))
    assert find_bookies(store) == [  # type: ignore[arg-type]
        FoundBookie("a", WRITABLE, True),
        FoundBookie("b", READ_ONLY, False),
        FoundBookie("c", DOWN, True),
    ]


def test_nobody_is_connected_to_if_no_column_needs_it() -> None:
    row = shown(Registry({"a": INFO}), FoundBookie("a", WRITABLE, True))
    assert (row["host"], row["port"], row["extensions"]) == ("h", 1, ["a", "b"])
    assert "reachable" not in row


def test_a_bookie_that_is_down_has_the_address_in_its_id() -> None:
    row = shown(Registry({}), FoundBookie("there:9", DOWN, True))
    assert (row["host"], row["port"], row["extensions"], row["state"]) == ("there", 9, None, DOWN)
    row = shown(Registry({}), FoundBookie("named", DOWN, True))
    assert "host" not in row
    assert "no address" in row["error"]


class Asked:
    """A double of a connection."""

    def __init__(self, connected: BookKeeperError | None, answer: Any) -> None:
        self._connected = connected
        self._answer = answer

    def __call__(self, host: str, port: int, config: ClientConfig) -> "Asked":
        if self._connected is not None:
            raise self._connected
        return self

    def bookie_info(self) -> Any:
        if isinstance(self._answer, BookKeeperError):
            raise self._answer
        return self._answer

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("connected", "answer", "expected"),
    [
        (None, BookieDisk(100, 40), (True, None)),
        (CannotConnect("refused"), None, (False, "refused")),
        (None, Unauthorized("who are you"), (True, "who are you")),
        (TlsFailed("no TLS here"), None, (True, "no TLS here")),
        (AuthenticationFailed("wrong"), None, (True, "wrong")),
    ],
)
def test_what_came_of_asking(
    connected: BookKeeperError | None, answer: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bookies_table, "BookieInfoChannel", Asked(connected, answer))
    row = shown(Registry({"a": INFO}), FoundBookie("a", WRITABLE, True), ClientConfig())
    assert (row["reachable"], row.get("error")) == expected
    assert (row.get("total_bytes"), row.get("free_bytes")) == ((100, 40) if expected[1] is None else (None, None))
