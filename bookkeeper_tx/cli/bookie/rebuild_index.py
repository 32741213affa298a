"""``bktx bookie rebuild-index``: all indexes of a bookie, made anew from its entry logs."""

import click

from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.bookie.index_rebuild import rebuild


@click.command("rebuild-index", short_help="Make all index files anew from the entry logs.")
@where.places
@options.metadata_if_needed
@click.option("--dry-run", is_flag=True, help="Read everything, say what would be done, and write nothing.")
@click.option("--renumber", is_flag=True, help="Rename logs first of which several directories have the same ids.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a ledger.")
def rebuild_index(places: Places, metadata_uri: str | None, dry_run: bool, renumber: bool, as_json: bool) -> None:
    """Make the index files of all ledgers anew from the entry logs.  WRITES index files.

    Use it when index files are lost or damaged.  Key, fence and explicit last add confirmed of a ledger come from its
    old index.  Where that cannot be read the key comes from the metadata store, and the ledger is fenced here; ledgers
    that the store does not know are left out, since they are deleted.  Entries behind damage in a log keep their place.
    Entries in the journal are not touched: the next start brings them in.

    If the databases of DbLedgerStorage are lost, move away what is left of them, make index files, and convert these.
    With several ledger directories give --renumber: the logs of each have ids of their own there.

    \b
    bktx bookie rebuild-index --data /var/lib/bk/1 --metadata sqlite:///tmp/cluster.db
    """
    if renumber and dry_run:
        raise click.UsageError("--renumber renames entry logs, which --dry-run does not")
    rebuild(places, None, dry_run, metadata_uri, None, as_json, renumber)
