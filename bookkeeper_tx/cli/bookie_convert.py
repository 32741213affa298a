"""``bktx bookie convert``: the indexes of a bookie that does not run, from one class of ledger storage to another."""

import json
import os

import click
from rich.console import Console

from bookkeeper_tx.bookie.directories import LOCK_NAME
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.conversion import OTHER, Conversion
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.cookie import DIRECTORY as CURRENT


@click.command()
@click.option(
    "--data",
    "directory",
    required=True,
    type=click.Path(exists=True, file_okay=False),
    help="Directory of the bookie, as its own --data says.",
)
@click.option("--to", required=True, type=click.Choice(sorted(OTHER)), help="The class of storage to convert to.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(directory: str, to: str, as_json: bool) -> None:
    """Convert the indexes of a bookie that does not run to another class of ledger storage, and remove the old ones.

    Entry logs, journal and cookie stay as they are; set ledgerStorageClass afterwards.  Every location is compared
    before anything is removed.  A conversion that was interrupted is to be begun again, and goes on; until then no
    bookie of ours starts on the directory.  A Java bookie would: start none before it is finished.

    \b
    bktx bookie convert --data /var/lib/bk/1 --to DbLedgerStorage
    """
    disk = Disk()
    try:
        lock = disk.lock(os.path.join(directory, LOCK_NAME))
    except BlockingIOError:
        raise RefusedToStart(f"a bookie is running on {directory}: stop it first") from None
    current = os.path.join(directory, CURRENT)
    config = BookieConfig(metadata_uri="", journal_directory=directory, ledger_directory=directory)
    console = Console(stderr=True, highlight=False)
    try:
        with console.status(f"converting to {to}") as status:
            work = Conversion(disk, current, to, config, lambda: status.update(f"{work.entries:,} entries copied"))
            work.run()
    finally:
        lock.close()
    if as_json:
        click.echo(json.dumps({"class": to, "ledgers": work.ledgers, "entries_copied": work.entries}))
    else:
        click.echo(f"{work.ledgers:,} ledgers are in {to} now; set ledgerStorageClass to it")
