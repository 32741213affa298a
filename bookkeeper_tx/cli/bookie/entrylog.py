"""``bktx bookie entrylog``: what is in entry logs."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.offline.entry_logs import list_logs, read_header
from bookkeeper_tx.bookie.offline.ledgers_map import count_ledgers, read_map
from bookkeeper_tx.bookie.offline.log_records import records_of
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.records import PROBLEM, Record, unreadable
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.bookie.record_lines import RecordLines, data_option
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.entry.entry_log_scan import Header
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.ledger_id import split


@frozen
class Wanted:
    """The records to show."""

    ledger_id: int | None
    entry_id: int | None
    first: int
    end: int | None

    def __contains__(self, record: Record) -> bool:
        if record.kind == PROBLEM:
            return True
        return self.ledger_id in (None, record.ledger_id) and self.entry_id in (None, record.entry_id)


@click.command(short_help="Headers, ledgers and records of entry logs.")
@where.places
@click.argument("names", nargs=-1, metavar="[LOG]…")
@click.option("--ledgers", is_flag=True, help="Show the ledgers of each log and their bytes, not its records.")
@click.option("--header", "header_only", is_flag=True, help="Show the header of each log only.")
@which.only_ledger("Show the entries of this ledger only.")
@click.option("--entry-id", type=click.IntRange(0), help="Show the entries with this id only.")
@click.option("--from-offset", "first", type=click.IntRange(0), default=0, help="Show what lies there, or after.")
@click.option("--to-offset", "end", type=click.IntRange(0), help="Show what begins before that.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a header, ledger or record.")
def entrylog(
    places: Places,
    names: tuple[str, ...],
    ledgers: bool,
    header_only: bool,
    ledger_id: int | None,
    entry_id: int | None,
    first: int,
    end: int | None,
    with_data: bool,
    as_json: bool,
) -> None:
    """Show entry logs: header, and records or ledgers.

    LOG is an id as in the name of the file, in hexadecimal, or a path; the default is all logs.  Nothing is written.
    Damage is shown where it is, and the exit code is 1 then.

    \b
    bktx bookie entrylog --data /var/lib/bk/1 1f --ledger-id 7 --msg
    bktx bookie entrylog --data /var/lib/bk/1 --ledgers
    """
    disk, problems = Disk(), 0
    wanted = Wanted(ledger_id, entry_id, first, end)
    with places.held(disk):
        for path in _paths(disk, places, names):
            try:
                with closing(disk.open(path)) as file:
                    problems += _show(file, ledgers, header_only, wanted, with_data, as_json)
            except BrokenPipeError:  # of standard output
                raise
            except (StorageFailed, OSError) as error:
                click.echo(f"error: {unreadable(path, error)}", err=True)
                problems += 1
    if problems:
        raise click.exceptions.Exit(1)


def _show(file: File, ledgers: bool, header_only: bool, wanted: Wanted, with_data: bool, as_json: bool) -> int:
    """Print one log; return how many problems there are."""
    if not file.size():
        if not as_json:
            click.echo(f"{file.path}: empty, made ahead of time")
        return 0
    header = read_header(file)
    if not as_json or header_only:
        click.echo(json.dumps(_header_values(file, header)) if as_json else _header_text(file, header))
    lines = RecordLines(file.path, as_json, with_data)
    if header_only:
        return 0
    if ledgers:
        for ledger_id, size in _ledgers(file, header, lines):
            click.echo(_ledger_line(file.path, ledger_id, size, as_json))
        return lines.problems
    for record in records_of(file, header, wanted.first, wanted.end):
        if record in wanted:
            lines.show(record)
    return lines.problems


def _ledgers(file: File, header: Header, lines: RecordLines) -> Iterator[tuple[int, int]]:
    """Give the ledgers of a log; problems are shown."""
    if header.ledgers_map_offset:
        try:
            yield from list(read_map(file, header))
            return
        except BookKeeperError as error:
            click.echo(f"error: {error}; its records are read instead", err=True)
            lines.problems += 1
    sizes, problems = count_ledgers(file, header)
    yield from sizes.items()
    for each in problems:
        lines.show(each)


def _ledger_line(path: str, ledger_id: int, size: int, as_json: bool) -> str:
    if not as_json:
        return f"ledger {ledger_name(ledger_id)}: {size:,} bytes"
    scope_id, half = split(ledger_id)
    return json.dumps({"path": path, "scope_id": scope_id, "ledger_id": half, "size": size})


def _header_values(file: File, header: Header) -> dict[str, Any]:
    return {
        "path": file.path,
        "version": header.version,
        "size": file.size(),
        "ledgers_map_offset": header.ledgers_map_offset,
        "ledgers_map_count": header.ledgers_map_count,
    }


def _header_text(file: File, header: Header) -> str:
    found = f"{file.path}: version {header.version}, {file.size():,} bytes"
    if not header.ledgers_map_offset:
        return f"{found}, no ledgers map"
    return f"{found}, a map of {header.ledgers_map_count:,} ledgers at offset {header.ledgers_map_offset}"


def _paths(disk: Disk, places: Places, names: tuple[str, ...]) -> list[str]:
    logs = list_logs(disk, places.ledger_currents)
    if not names:
        return [log.path for log in logs]
    return [path for name in names for path in _find(disk, places, name, [log.path for log in logs])]


def _find(disk: Disk, places: Places, name: str, paths: list[str]) -> list[str]:
    if os.sep in name or disk.exists(name):
        return [os.path.abspath(name)]
    found = [path for path in paths if name.lower() in (os.path.basename(path), os.path.basename(path).split(".")[0])]
    if not found:
        raise InvalidArgument(f"there is no entry log {name} in {', '.join(places.ledger)}: ids are hexadecimal")
    return found
