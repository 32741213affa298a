"""The tables of answers: every place has a name of its own, and says nothing that contradicts another."""

from collections import Counter
from pathlib import Path

import pytest

from protocol_specs.rendering import answers
from protocol_specs.wire import status
from protocol_specs.wire.answers.row import BOTH, Bookie, Effect, Ledger, Operation, Row, rows_of
from protocol_specs.wire.answers.tables import ROWS, TABLES, to_a_fenced_ledger

DOCS = Path(__file__).parents[4] / "docs"


def test_no_two_rows_have_one_key() -> None:
    counted = Counter(row.key for table in TABLES.values() for row in rows_of(table))
    assert [key for key, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_table_is_on_the_page_of_its_section(table: object) -> None:
    name, section = table.name, table.section  # type: ignore[attr-defined]
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    (page,) = [text for text in pages if f"<!-- spec answers {name} -->" in text]
    assert f"({section})=" in page


@pytest.mark.parametrize("row", ROWS.values(), ids=str)
def test_a_row_contradicts_neither_itself_nor_what_is_true_of_all(row: Row) -> None:
    effects = set(row.answer.effects)
    assert row.dialects
    assert not {Effect.STORED, Effect.NOT_STORED} <= effects
    assert not {Effect.FENCED, Effect.NOT_FENCED} <= effects
    if row.request.operation is Operation.ADD:
        assert row.answer.status not in (status.ENOLEDGER, status.ENOENTRY)
        assert (Effect.STORED in effects) <= (row.answer.status is status.EOK)
    if Effect.FENCED in effects and row.ledger not in (Ledger.FENCED, Ledger.FENCED_EMPTY):
        assert row.request.fencing
    if row.bookie is Bookie.GUARDED and row.request.operation is not Operation.START_TLS:
        assert row.answer.status in (status.EUA, None)


def test_no_table_says_what_v2_has_no_code_for() -> None:
    assert all(row.answer.status is not status.EUNKNOWNLEDGERSTATE for row in ROWS.values())


def test_a_line_changes_the_request_of_its_columns() -> None:
    row = ROWS["add-entry/fenced-other-key/recovery"]
    assert (row.request.recovery, row.request.key.name, row.ledger) == (True, "OTHER", Ledger.FENCED)
    assert row.dialects == BOTH


def test_a_place_without_a_request_is_no_row() -> None:
    assert "add-entry-wrong/no-part/v2" not in ROWS
    assert ROWS["add-entry-wrong/no-part/v3"].answer.status is status.EBADREQ


def test_a_fenced_ledger_refuses_plain_adds_only() -> None:
    refused = [row for row in to_a_fenced_ledger() if row.answer.status is status.EFENCED]
    assert refused
    assert all(row.request.operation is Operation.ADD and not row.request.recovery for row in refused)


def test_a_cell_has_the_status_and_what_must_hold_afterwards() -> None:
    made = answers.answers("read-entry")
    assert "| ENOENTRY: the ledger is known, the ledger is fenced |" in made
    assert "| closed |" in answers.answers("add-entry-wrong")


def test_one_column_by_itself() -> None:
    made = answers.column("read-entry fencing")
    assert "| no key (V3) | EUA | nothing is fenced |" in made
    with pytest.raises(KeyError):
        answers.column("read-entry nothing")
