"""The output of a job at its end."""

import pytest

from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary, SummaryTable, counted, first_rows, show, shown


def test_tables_and_the_sentence_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    tables = (
        SummaryTable("ledgers", ("ledger", "entries"), ((7, 1234567), (8, None))),
        SummaryTable("nothing", ("ledger",), ()),
        first_rows("first", ("name",), [("a",), ("b",)], 5),
    )
    show(Summary("done", tables))
    output = capsys.readouterr().out.splitlines()
    assert output[:4] == ["ledgers:", "ledger    entries", "     7  1,234,567", "     8          -"]
    assert "nothing:" not in output
    assert output[-3:] == ["… and 3 more", "", "done"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), (1234, "1,234"), (0.25, "0.2"), ("x[1]", "x[1]")]
)
def test_values(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "entry", "1 entry"), (2, "entry", "2 entries"), (0, "ledger", "0 ledgers"), (1000, "copy", "1,000 copies")],
)
def test_counts(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text


def test_a_scheduler_can_tell_how_it_ended() -> None:
    assert [*map(int, ExitCode)] == [0, 1, 2, 3]
    assert Summary("fine").exit_code == 0
