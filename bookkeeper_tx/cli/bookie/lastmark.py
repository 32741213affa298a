"""``bktx bookie lastmark``: up to where the journal is in the ledger storage."""

import json
from collections.abc import Iterable

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.marks import Mark, marks
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli.bookie import places as where


@click.command(short_help="Up to where the journal is in the ledger storage.")
@where.places
@click.option("--json", "as_json", is_flag=True, help="One JSON object a journal directory.")
def lastmark(places: Places, as_json: bool) -> None:
    """Show the mark: what is before it in the journal is in the ledger storage, and a start replays the rest.

    Nothing is written.  A mark that is damaged, or whose file is missing, is a problem, and the exit code is 1 then.

    \b
    bktx bookie lastmark --data /var/lib/bk/1
    """
    disk = Disk()
    with places.held(disk):
        found = marks(disk, places)
    for each in found:
        click.echo(json.dumps(_as_dictionary(each)) if as_json else _as_text(each))
    if show_problems(found):
        raise click.exceptions.Exit(1)


def show_problems(found: Iterable[Mark]) -> int:
    """Print what is wrong with marks, and return how many problems there are."""
    problems = [text for each in found for text in each.problems]
    for text in problems:
        click.echo(f"problem: {text}", err=True)
    return len(problems)


def _as_dictionary(mark: Mark) -> dict[str, object]:
    return {
        "journal_directory": mark.journal_directory,
        "journal_id": mark.position.journal_id,
        "file": mark.file,
        "missing": mark.missing,
        "offset": mark.position.offset,
        "bytes_behind": mark.bytes_behind,
    }


def _as_text(mark: Mark) -> str:
    where = "the beginning" if mark.file is None else f"offset {mark.position.offset} of {mark.file}"
    where += ", which is missing" if mark.missing else ""
    return f"{mark.journal_directory}: {where}; {mark.bytes_behind:,} bytes of journal files lie behind it"
