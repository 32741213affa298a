"""``bktx bookie listfilesondisc``: the files of a bookie, by kind."""

import json
import os
from collections.abc import Iterator

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import file_path, list_journals
from bookkeeper_tx.bookie.offline.entry_logs import list_logs
from bookkeeper_tx.bookie.offline.index_files import IndexFiles
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.storage.conversion import DATABASES
from bookkeeper_tx.cli.bookie import places as where

KINDS = ("journal", "entrylog", "index")


@click.command(short_help="The files of a bookie, by kind.")
@where.places
@click.option("--journal", "kinds", flag_value="journal", multiple=True, help="List journal files.")
@click.option("--entrylog", "kinds", flag_value="entrylog", multiple=True, help="List entry logs.")
@click.option("--index", "kinds", flag_value="index", multiple=True, help="List index files, and those of databases.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def listfilesondisc(places: Places, kinds: tuple[str, ...], as_json: bool) -> None:
    """List the files of a bookie with their sizes, by default of all three kinds.  Nothing is written.

    \b
    bktx bookie listfilesondisc --data /var/lib/bk/1 --journal
    """
    disk = Disk()
    with places.held(disk):
        for kind in kinds or KINDS:
            for path in _paths(disk, places, kind):
                size = os.path.getsize(path)
                values = {"kind": kind, "path": path, "size": size}
                click.echo(json.dumps(values) if as_json else f"{kind:8} {size:>14,} {path}")


def _paths(disk: Disk, places: Places, kind: str) -> Iterator[str]:
    if kind == "journal":
        for current in places.journal_currents:
            yield from (file_path(current, each) for each in list_journals(disk, current))
    elif kind == "entrylog":
        yield from (log.path for log in list_logs(disk, places.ledger_currents))
    else:
        for each in IndexFiles(disk, places.index_currents).directories:
            yield from map(each.path, each.ledger_ids())
        for database in (os.path.join(current, name) for current in places.index_currents for name in DATABASES):
            if disk.exists(database):
                yield from (os.path.join(database, name) for name in disk.list_directory(database))
