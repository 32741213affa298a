"""Tables for people: as wide as the terminal, and one line a row for ``grep`` and its like."""

import click
from rich.console import Console
from rich.table import Table

UNBOUNDED = 10_000
"""Columns where there is no terminal to be filled."""


def print_table(table: Table) -> None:
    """Print ``table`` on standard output."""
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(table)
        return
    console.width = UNBOUNDED
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        click.echo(line.rstrip())
