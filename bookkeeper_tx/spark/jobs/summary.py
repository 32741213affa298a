"""The result of a job, for people and for schedulers."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

import click
from attrs import frozen
from rich.table import Table

from bookkeeper_tx.text.tables import print_table

SHOWN = 20
"""Rows of what is wrong that a summary has; of the others it has the number."""


class ExitCode(IntEnum):
    """How a job ended."""

    DONE = 0
    """The job was done, and nothing is wrong."""
    FOUND = 1
    """The job was done, and found damage or a difference."""
    USAGE = 2
    """The arguments were wrong; nothing was done."""
    FAILED = 3
    """The job could not be done, or only in part."""


@frozen
class SummaryTable:
    """Some rows with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: int = 0
    """The number of rows that are not shown."""


@frozen
class Summary:
    """The end of a job."""

    text: str
    """The result in one sentence."""
    tables: tuple[SummaryTable, ...] = ()
    exit_code: ExitCode = ExitCode.DONE


def show(summary: Summary) -> None:
    """Print tables and the sentence on standard output."""
    for each in summary.tables:
        if each.rows:
            click.echo(f"{each.title}:")
            print_table(_rich(each))
            if each.more:
                click.echo(f"… and {each.more:,} more")
            click.echo()
    click.echo(summary.text)


def shown(value: Any) -> str:
    """Return a value as tables show it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """Return ``1 ledger``, ``2,000 ledgers``, ``3 entries``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def _rich(table: SummaryTable) -> Table:
    made = Table(box=None, pad_edge=False)
    for index, name in enumerate(table.columns):
        made.add_column(name, justify="right" if _is_number(row[index] for row in table.rows) else "left")
    for row in table.rows:
        made.add_row(*map(shown, row))
    return made


def _is_number(values: Iterable[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)


def first_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int) -> SummaryTable:
    """Return a table of the first of ``total`` rows."""
    return SummaryTable(title, tuple(columns), tuple(map(tuple, rows)), max(total - len(rows), 0))
