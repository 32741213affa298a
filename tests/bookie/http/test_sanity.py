"""bookkeeper_tx.bookie.http.sanity: a ledger goes to the bookie and comes back."""

from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import NotEnoughBookies
from bookkeeper_tx.model import Entry
from tests.bookie.http.asked import Asked, FakeClient

PATH = "/api/v1/bookie/sanity"


class Ledger:
    """Both handles of the one ledger of a client."""

    ledger_id = 7

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw
        self.payloads: list[bytes] = []
        self.deleted: list[int] = []

    async def create_ledger(self, *sizes: int) -> Any:
        assert sizes == (1, 1, 1)
        if self.flaw == "no bookie":
            raise NotEnoughBookies
        return self

    async def append_many(self, payloads: list[bytes]) -> None:
        if self.flaw == "refused":
            raise NotEnoughBookies
        self.payloads = payloads[1:] if self.flaw == "lost" else payloads

    async def close(self) -> None: ...

    async def open_ledger(self, ledger_id: int) -> Any:
        return self

    async def read(self, first: int, last: int) -> list[Entry]:
        return [Entry(7, index, payload, -1, 0) for index, payload in enumerate(self.payloads)]

    async def delete_ledger(self, ledger_id: int) -> None:
        self.deleted.append(ledger_id)


@pytest.mark.parametrize(
    ("flaw", "passed", "deleted"),
    [("", True, [7]), ("lost", False, [7]), ("refused", False, [7]), ("no bookie", False, [])],
)
def test_it_passes_if_what_is_read_is_what_was_written(asked: Asked, flaw: str, passed: bool, deleted: Any) -> None:
    ledger = Ledger(flaw)
    asked.bookie.own_client = FakeClient(ledger)  # type: ignore[assignment]
    assert asked.ask(PATH).json == {"passed": passed, "readOnly": False}
    assert ledger.deleted == deleted


def test_a_bookie_that_is_configured_to_be_read_only_is_not_written(tmp_path: Path) -> None:
    assert Asked(tmp_path, read_only=True).ask(PATH).json == {"passed": False, "readOnly": True}
