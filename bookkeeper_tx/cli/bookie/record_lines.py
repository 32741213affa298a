"""Records of journals and entry logs as lines, for people or as JSON."""

import json
from collections.abc import Callable
from typing import Any

import click

from bookkeeper_tx.bookie.offline.records import PROBLEM, Record
from protocol_specs.ledger_id import split

PAYLOAD_SHOWN = 64
"""Bytes of an entry in a line for people; JSON has all of them."""


def data_option(command: Callable[..., Any]) -> Any:
    """Add ``--msg``; the command gets ``with_data``."""
    return click.option(
        "--msg",
        "with_data",
        is_flag=True,
        help="Show the bytes of each record, too, in hexadecimal.",
    )(command)


class RecordLines:
    """Prints records, and counts the problems among them."""

    def __init__(self, path: str, as_json: bool, with_data: bool) -> None:
        self._path = path
        self._as_json = as_json
        self._with_data = with_data
        self.problems = 0

    def show(self, record: Record) -> None:
        """Print one record; a problem goes to standard output, too, so that its place among the others is seen."""
        self.problems += record.kind == PROBLEM
        if self._as_json:
            click.echo(json.dumps(self._as_dictionary(record)))
            return
        click.echo(f"{'problem at ' if record.kind == PROBLEM else ''}{record}")
        if self._with_data and record.entry:
            shown = record.entry[:PAYLOAD_SHOWN].hex(" ", -4)
            click.echo(f"    {shown}{' …' if len(record.entry) > PAYLOAD_SHOWN else ''}")

    def _as_dictionary(self, record: Record) -> dict[str, Any]:
        scope_id, ledger_id = (None, None) if record.ledger_id is None else split(record.ledger_id)
        values = {
            "path": self._path,
            "offset": record.offset,
            "size": record.size,
            "kind": record.kind,
            "scope_id": scope_id,
            "ledger_id": ledger_id,
            "entry_id": record.entry_id,
            "last_add_confirmed": record.last_add_confirmed,
            "length": record.length,
            "problem": record.text or None,
        }
        if self._with_data:
            values["bytes"] = record.entry.hex()
        return {key: value for key, value in values.items() if value is not None}
