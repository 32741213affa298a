"""The ledgers of a cluster, page by page."""

import json
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.ledger import ledger_table
from bookkeeper_tx.cli.ledger.ledger_table import PAGE_COUNT
from bookkeeper_tx.errors import MetadataCorrupt, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.model import LedgerMetadata
from tests.conftest import result_of
from tests.metadata.contract import METADATA


class Client:
    """Has ledgers, tells how many were asked for at once, and answers when it is told to."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[tuple[int, Deferred[LedgerMetadata]]] = []
        self.troubles: dict[int, Exception] = {}

    async def list_ledgers(self, scope_id: int | None) -> list[int]:
        return list(range(self.count))

    async def ledger_metadata(self, ledger_id: int) -> LedgerMetadata:
        answer: Deferred[LedgerMetadata] = Deferred()
        self.asked.append((ledger_id, answer))
        return await answer

    def answer(self) -> int:
        """Answer what was asked, the last first; return how many that were."""
        asked, self.asked = self.asked, []
        for ledger_id, answer in reversed(asked):
            trouble = self.troubles.get(ledger_id)
            answer.callback(METADATA) if trouble is None else answer.errback(trouble)
        return len(asked)


def showing(client: Any, *, as_json: bool) -> Deferred[None]:
    return Deferred.fromCoroutine(ledger_table.show_all(client, 0, as_json))


def test_a_page_is_shown_when_it_is_read_and_before_the_next_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(2 * PAGE_COUNT + 3)
    client.troubles = {1: NoSuchLedger("gone"), 2: MetadataCorrupt("not understood")}
    shown = showing(client, as_json=True)
    told = []
    while client.asked:
        told.append(client.answer())
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        if len(told) == 1:
            assert [each["ledger_id"] for each in lines] == [0, *range(2, PAGE_COUNT)]
            assert lines[1] == {"ledger_id": 2, "error": "not understood"}
    result_of(shown)
    assert told == [PAGE_COUNT, PAGE_COUNT, 3]
    assert [each["ledger_id"] for each in lines] == [2 * PAGE_COUNT, 2 * PAGE_COUNT + 1, 2 * PAGE_COUNT + 2]


def test_each_page_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(PAGE_COUNT + 1)
    shown = showing(client, as_json=False)
    while client.asked:
        client.answer()
    result_of(shown)
    lines = capsys.readouterr().out.splitlines()
    assert [at for at, line in enumerate(lines) if "last ensemble" in line] == [0, PAGE_COUNT + 1]


@pytest.mark.parametrize("as_json", [True, False])
def test_no_ledgers(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    result_of(showing(Client(0), as_json=as_json))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "" if as_json else "there is no ledger\n")


def test_a_store_that_is_away_ends_it_with_its_own_error() -> None:
    client = Client(3)
    client.troubles = {1: MetadataUnavailable("away"), 2: MetadataUnavailable("away as well")}
    shown = showing(client, as_json=True)
    client.answer()
    with pytest.raises(MetadataUnavailable):
        result_of(shown)
