"""``bktx bookie journal``: the records of journal files."""

import os
from contextlib import closing

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import file_path, list_journals
from bookkeeper_tx.bookie.journal.reader import JournalFile
from bookkeeper_tx.bookie.offline.journal_records import records_of
from bookkeeper_tx.bookie.offline.marks import behind_marks, marks
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.records import unreadable
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.bookie.lastmark import show_problems
from bookkeeper_tx.cli.bookie.record_lines import RecordLines, data_option
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.errors import InvalidArgument, RefusedToStart
from protocol_specs.disk.journal import FILE_SUFFIX


@click.command(short_help="The records of journal files.")
@where.places
@click.argument("names", nargs=-1, metavar="[JOURNAL]…")
@which.only_ledger("Show the records of this ledger only.")
@click.option("--behind-mark", is_flag=True, help="Show what a start would replay: the records behind the mark.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a record.")
def journal(
    places: Places, names: tuple[str, ...], ledger_id: int | None, behind_mark: bool, with_data: bool, as_json: bool
) -> None:
    """Show the records of journal files: entries, ledger keys, fences, explicit last adds confirmed.

    JOURNAL is an id as in the name of the file, in hexadecimal, or a path; the default is all files.  Nothing is
    written.  Damage is shown where it is, and the exit code is 1 then.

    \b
    bktx bookie journal --data /var/lib/bk/1
    bktx bookie journal --data /var/lib/bk/1 19a2b3c4d5e --ledger-id 7 --msg
    """
    disk, problems = Disk(), 0
    with places.held(disk):
        paths = [path for name in names for path in _find(disk, places, name)] or _all(disk, places)
        found = marks(disk, places) if behind_mark else []
        problems += show_problems(found)
        starts = dict(behind_marks(disk, found)) if behind_mark else dict.fromkeys(paths, 0)
        for path in (each for each in paths if each in starts):
            problems += _show(disk, path, starts[path], ledger_id, RecordLines(path, as_json, with_data), as_json)
    if problems:
        raise click.exceptions.Exit(1)


def _show(disk: Disk, path: str, start: int, wanted: int | None, lines: RecordLines, as_json: bool) -> int:
    """Print the records of one file; return how many problems there are."""
    try:
        with closing(JournalFile.open(disk, path)) as journal_file:
            if not as_json:
                writer = "ours" if journal_file.ours else "Java"
                click.echo(f"{path}: version {journal_file.version}, written by {writer}")
            for record in records_of(journal_file, start):
                if wanted is None or record.ledger_id in (None, wanted):
                    lines.show(record)
    except BrokenPipeError:  # of standard output
        raise
    except (RefusedToStart, OSError) as error:
        click.echo(f"error: {unreadable(path, error)}", err=True)
        return lines.problems + 1
    return lines.problems


def _all(disk: Disk, places: Places) -> list[str]:
    return [file_path(current, each) for current in places.journal_currents for each in list_journals(disk, current)]


def _find(disk: Disk, places: Places, name: str) -> list[str]:
    """Return the path of a file, or of each file that has this id: journals begin theirs at the same time."""
    if os.sep in name or disk.exists(name):
        return [os.path.abspath(name)]
    try:
        journal_id = int(name.removesuffix(FILE_SUFFIX), 16)
    except ValueError:
        raise InvalidArgument(f"{name!r} is neither a journal's id in hexadecimal nor a path") from None
    found = [path for current in places.journal_currents if disk.exists(path := file_path(current, journal_id))]
    if not found:
        raise InvalidArgument(f"there is no journal {name} in {', '.join(places.journal)}")
    return found
