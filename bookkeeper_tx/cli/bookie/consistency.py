"""``bktx bookie consistency``: whether the entries of all indexes are in the entry logs."""

import json
from contextlib import closing

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.consistency import Checked, check
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.stored_entries import BadIndex, Fault
from bookkeeper_tx.bookie.offline.stored_ledgers import stored_ledgers
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.progress import progress
from protocol_specs.ledger_id import split


@click.command(short_help="Whether all indexed entries are in the entry logs.")
@where.places
@click.option("--json", "as_json", is_flag=True, help="One JSON object a fault, and one with the counts at the end.")
def consistency(places: Places, as_json: bool) -> None:
    """Check that every entry of every index is in its entry log: there, whole, and the entry that it should be.

    Nothing is written.  The exit code is 1 if something is wrong.  After a crash start and stop the bookie before:
    entries that were not flushed are in the journal, and its start repairs their places.

    \b
    bktx bookie consistency --data /var/lib/bk/1
    """
    disk, checked = Disk(), Checked()
    with (
        places.held(disk),
        closing(stored_ledgers(disk, places)) as stored,
        progress(lambda: _counts(checked)) as advance,
    ):
        for fault in check(stored, checked, advance):
            click.echo(_as_json(fault) if as_json else fault.text)
    if as_json:
        click.echo(json.dumps({"ledgers": checked.ledgers, "entries": checked.entries, "faults": checked.faults}))
    else:
        click.echo(f"{_counts(checked)}, {checked.faults:,} faults")
    if checked.faults:
        raise click.exceptions.Exit(1)


def _counts(checked: Checked) -> str:
    return f"{checked.ledgers:,} ledgers, {checked.entries:,} entries"


def _as_json(fault: Fault | BadIndex) -> str:
    scope_id, ledger_id = split(fault.ledger_id)
    values: dict[str, object] = {"scope_id": scope_id, "ledger_id": ledger_id}
    if isinstance(fault, Fault):
        values |= {"entry_id": fault.entry_id, "log_id": fault.log_id, "offset": fault.offset}
    return json.dumps({**values, "fault": fault.text})
