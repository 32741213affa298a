"""Frames for people, as tables, and for programs, as JSON."""

import json
import re
from collections.abc import Iterator

import click
from rich.table import Table

from bookkeeper_tx.text.tables import print_table
from protocol_specs.readable.reassembly import Connection, Segment
from protocol_specs.readable.shown import Field, Frame, Item, as_dictionary

BYTES_SHOWN = 32
"""Bytes of a value that a table shows; JSON has all."""

TEXT_SHOWN = 60
"""Characters of a value that is text."""

LINE_ENDS = re.compile(r"[\r\n\t]")

WITH_TEXT = ("payload", "unreadable")
"""Fields that may hold anything, text too."""


class Report:
    """Prints frames and notes as they are found."""

    def __init__(self, as_json: bool) -> None:
        self.failed = False
        """Whether anything was malformed, or could not be shown."""
        self._as_json = as_json
        self._connection: Connection | None = None
        self._printed = False

    def connection(self, connection: Connection) -> None:
        """Note the connection of the frames that follow; print it unless the output is JSON."""
        self._connection = connection
        if not self._as_json:
            self._blank_line()
            click.echo(f"connection {connection.client} > {connection.bookie}")

    def item(self, item: Item, segment: Segment | None = None) -> None:
        """Print a frame or a note."""
        self._note_failure(item)
        if self._as_json:
            click.echo(json.dumps({**self._where(segment), **as_dictionary(item)}))
            return
        self._blank_line()
        packet = f", packet {segment.number}" if segment else ""
        if not isinstance(item, Frame):
            click.echo(f"at {item.offset}{packet}: {item.text}")
            return
        what = " ".join(filter(None, (item.dialect, item.operation))) or "unknown"
        click.echo(f"{item.direction} at {item.offset}{packet}: {what}, {item.size} bytes")
        if item.fields:
            print_table(table_of(item))
        if item.broken is not None:
            click.echo(str(item.broken))

    def remark(self, text: str, failed: bool = False) -> None:
        """Print a remark on the whole input."""
        self.failed = self.failed or failed
        click.echo(text, err=True)

    def _note_failure(self, item: Item) -> None:
        self.failed = self.failed or (item.broken is not None if isinstance(item, Frame) else item.failed)

    def _where(self, segment: Segment | None) -> dict[str, object]:
        if segment is None or self._connection is None:
            return {}
        ends = {"client": str(self._connection.client), "bookie": str(self._connection.bookie)}
        return {**ends, "packet": segment.number, "time_s": segment.time_s}

    def _blank_line(self) -> None:
        if self._printed:
            click.echo()
        self._printed = True


def table_of(frame: Frame) -> Table:
    """Return the fields of a frame as a table; parts are indented under the field that they belong to."""
    table = Table("offset", "size", "field", "value", "meaning", box=None, pad_edge=False)
    for column in (0, 1):
        table.columns[column].justify = "right"
    for field, depth in _flat(frame.fields, 0):
        table.add_row(str(field.offset), str(field.size), "  " * depth + field.name, _value(field), _meaning(field))
    return table


def _flat(fields: tuple[Field, ...], depth: int) -> Iterator[tuple[Field, int]]:
    for field in fields:
        yield field, depth
        yield from _flat(field.parts, depth + 1)


def _value(field: Field) -> str:
    if field.value is None:
        return ""
    if field.name == "header" and isinstance(field.value, int):
        return f"{field.value:#010x}"
    if isinstance(field.value, bytes):
        more = "…" if len(field.value) > BYTES_SHOWN else ""
        return field.value[:BYTES_SHOWN].hex() + more
    text = str(field.value)
    return text if text.isprintable() else repr(text)


def _meaning(field: Field) -> str:
    if field.meaning or not isinstance(field.value, bytes) or field.name not in WITH_TEXT:
        return field.meaning
    text = field.value[:TEXT_SHOWN].decode("ascii", "replace")
    if not text or not text.isascii() or not LINE_ENDS.sub("", text).isprintable():
        return ""
    return repr(text) + ("…" if len(field.value) > TEXT_SHOWN else "")
