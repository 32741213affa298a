"""Tables for people: as wide as the terminal, and with one line for each row when piped into ``grep`` and the like."""

import click
from rich.console import Console
from rich.table import Table

UNBOUNDED = 10_000
"""Columns of a table without a terminal."""


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
