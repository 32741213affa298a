"""``bktx bookie convert``: the indexes of a bookie that does not run, from one class of ledger storage to another."""

import json

import click
from rich.console import Console

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.ledger_count import require_order
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.storage.conversion import OTHER, Conversion
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.config import BookieConfig


@click.command(short_help="Convert the indexes to another class of ledger storage.")
@where.places
@click.option("--to", required=True, type=click.Choice(sorted(OTHER)), help="The class of storage to convert to.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def convert(places: Places, to: str, as_json: bool) -> None:
    """Convert the indexes to another class of ledger storage, and remove the old ones.  WRITES indexes.

    Entry logs, journal and cookie stay as they are; set ledgerStorageClass afterwards.  Every location is compared
    before anything is removed.  A conversion that was interrupted is to be begun again, and goes on; until then no
    bookie of ours starts on the directory.  A Java bookie would: start none before it is finished.

    With several ledger directories each ledger has its entries in one of them with DbLedgerStorage: the conversion to
    it copies entry logs, one by one, and the one from it gives them other numbers.

    \b
    bktx bookie convert --data /var/lib/bk/1 --to DbLedgerStorage
    """
    places.require_index_for_each_ledger()
    disk = Disk()
    config = BookieConfig(
        metadata_uri="",
        journal_directory=places.journal[0],
        ledger_directory=places.ledger[0],
        entry_log_bytes_max=places.entry_log_bytes_max,
    )
    console = Console(stderr=True, highlight=False)
    with places.held(disk, writing=True), console.status(f"converting to {to}") as status:
        ledgers, indexes = places.ledger_currents, places.index_currents
        require_order(disk, ledgers, indexes)
        work = Conversion(disk, ledgers, to, config, lambda: status.update(f"{work.entries:,} entries copied"), indexes)
        work.run()
    if as_json:
        click.echo(json.dumps({"class": to, "ledgers": work.ledgers, "entries_copied": work.entries}))
    else:
        click.echo(f"{work.ledgers:,} ledgers are in {to} now; set ledgerStorageClass to it")
