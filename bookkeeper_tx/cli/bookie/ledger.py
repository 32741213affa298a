"""``bktx bookie ledger``: the entries of a ledger on the disk of a bookie, and where they lie."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.reader import JournalFile
from bookkeeper_tx.bookie.offline.journal_records import records_of
from bookkeeper_tx.bookie.offline.marks import behind_marks, marks
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.records import ENTRY, PROBLEM, Record, one_line, read_record, unreadable
from bookkeeper_tx.bookie.offline.stored_entries import BadIndex, Fault, Stored, stored_entries
from bookkeeper_tx.bookie.offline.stored_ledgers import stored_ledgers
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.bookie.record_lines import data_option
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.errors import NoSuchLedger, RefusedToStart, StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.ledger_id import SCOPED_MIN

ENTRY_ID_END: Final = 2**63
"""No entry id is so high."""


@click.command(short_help="The entries of a ledger on this disk.")
@where.places
@which.ledger
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="First entry.")
@click.option("--last", type=click.IntRange(0), help="Last entry; default: the last one there is.")
@click.option("--journal/--no-journal", default=True, help="Whether to look into the journal behind the mark.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object an entry.")
def ledger(
    places: Places, ledger_id: int, first: int, last: int | None, journal: bool, with_data: bool, as_json: bool
) -> None:
    """Show the entries of a ledger that are on this bookie's disk: in entry logs by its index, then in the journal.

    Each entry is read, and checked to be that entry.  One that is not where the index says is shown with the reason,
    and the exit code is 1 then.  Nothing is written.

    \b
    bktx bookie ledger --data /var/lib/bk/1 7 --first 100 --last 199
    """
    disk, count, faults = Disk(), 0, 0
    with places.held(disk):
        for found in _found(disk, places, ledger_id, first, last, journal):
            if isinstance(found, str):
                faults += 1
                click.echo(json.dumps({"fault": found}) if as_json else found)
            else:
                count += 1
                click.echo(_line(*found, with_data, as_json))
    if faults:
        raise click.exceptions.Exit(1)
    if not count:
        raise NoSuchLedger(f"no entry of ledger {ledger_name(ledger_id)} between these is on this bookie's disk")


def _found(
    disk: Disk, places: Places, ledger_id: int, first: int, last: int | None, journal: bool
) -> Iterator[tuple[str, Record] | str]:
    """Give path and record of each entry, or what is wrong."""
    with closing(stored_ledgers(disk, places)) as stored:
        indexes, logs = stored.find(ledger_id), stored.logs_of(ledger_id)
        if indexes is not None:
            try:
                indexes.read_header(ledger_id)
            except StorageFailed as error:
                yield one_line(error)
        for found in () if indexes is None else stored_entries(indexes, logs, ledger_id, first, last):
            if isinstance(found, Fault | BadIndex):
                yield found.text
            else:
                path = logs.path(found.log_id, ledger_id >= SCOPED_MIN)
                assert path is not None
                yield from _records(found, path)
    if journal:
        yield from _in_journals(disk, places, ledger_id, range(first, ENTRY_ID_END if last is None else last + 1))


def _in_journals(disk: Disk, places: Places, ledger_id: int, wanted: range) -> Iterator[tuple[str, Record] | str]:
    found = marks(disk, places)
    for mark in found:
        yield from mark.problems
    for path, start in behind_marks(disk, found):
        try:
            with closing(JournalFile.open(disk, path)) as journal_file:
                for record in records_of(journal_file, start):
                    if record.kind == PROBLEM:
                        yield f"{path}: {record}"
                    elif record.kind == ENTRY and record.ledger_id == ledger_id and record.entry_id in wanted:
                        yield path, record
        except (RefusedToStart, OSError) as error:
            yield unreadable(path, error)


def _records(stored: Stored, path: str) -> Iterator[tuple[str, Record]]:
    run, before = stored.run, stored.run.offsets[0]
    for at, after in zip(run.offsets, run.offsets[1:], strict=False):
        yield path, read_record(run.buffer, at, after - at, stored.offset + at - before)


def _line(file: str, record: Record, with_data: bool, as_json: bool) -> str:
    values: dict[str, Any] = {
        "entry_id": record.entry_id,
        "file": file,
        "offset": record.offset,
        "size": record.size,
        "last_add_confirmed": record.last_add_confirmed,
        "length": record.length,
    }
    if with_data:
        values["bytes"] = record.entry.hex()
    if as_json:
        return json.dumps(values)
    data = f"\n    {record.entry.hex(' ', -4)}" if with_data else ""
    rest = f"last add confirmed {record.last_add_confirmed}, length {record.length}"
    return f"entry {record.entry_id}: {file}, offset {record.offset}, {record.size} bytes, {rest}{data}"
