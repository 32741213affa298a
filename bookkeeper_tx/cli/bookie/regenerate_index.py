"""``bktx bookie regenerate-index``: the index files of some ledgers, made anew from the entry logs."""

import click

from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.bookie.index_rebuild import rebuild
from bookkeeper_tx.cli.ledger import ledger_id as which


@click.command("regenerate-index", short_help="Make the index files of some ledgers anew.")
@where.places
@which.ledgers
@options.metadata_if_needed
@click.option("--no-password", is_flag=True, help="The ledgers have the empty password; the store is not asked.")
@options.password
@click.option("--dry-run", is_flag=True, help="Read everything, say what would be done, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a ledger.")
def regenerate_index(
    places: Places,
    ledger_ids: tuple[int, ...],
    metadata_uri: str | None,
    no_password: bool,
    password: bytes,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make the index files of some ledgers anew from the entry logs.  WRITES these index files.

    As "bktx bookie rebuild-index" does, for these ledgers only.  The key of a ledger whose old index cannot be read may
    also be given, as its password.

    \b
    bktx bookie regenerate-index --data /var/lib/bk/1 7 8 --password-file password
    """
    given = password if password or no_password else None
    rebuild(places, ledger_ids, dry_run, metadata_uri, given, as_json)
