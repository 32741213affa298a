"""``bktx ledger``: the commands on metadata; the others are in ledger_write, ledger_read, ledger_entries."""

from typing import Any

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.ledger import ledger_entries, ledger_read, ledger_table, ledger_write
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.text.ledger_scope import ledger_scope


@click.group()
def ledger() -> None:
    """Create, write, read, tail, list, show and delete ledgers.

    \b
    export BKTX_METADATA=sqlite:///tmp/cluster.db
    bktx ledger write --replicas 1 < README.md      prints the new ledger's id, say 0
    bktx ledger read 0                              prints README.md again
    bktx ledger show 0

    A ledger of a scope other than 0 (BP-34) is named by --ledger-scope-id N and LEDGER_ID, or by its qualified name,
    which is what "bktx ledger write --random-id" prints.
    """


for command in (ledger_write.create, ledger_write.write, ledger_read.read, ledger_read.tail, ledger_entries.entries):
    ledger.add_command(command)


@ledger.command("list")
@options.metadata
@ledger_scope
@click.option("--all-scopes", is_flag=True, help="List the ledgers of all scopes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a ledger.")
def list_ledgers(metadata_uri: str, scope_id: int, all_scopes: bool, as_json: bool) -> None:
    """List the ledgers of a scope with state, size and where their last entries lie."""
    if scope_id and all_scopes:
        raise click.UsageError("give --ledger-scope-id or --all-scopes, not both")

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            await ledger_table.show_all(client, None if all_scopes else scope_id, as_json)

    run(operation)


@ledger.command()
@options.metadata
@which.ledger
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(metadata_uri: str, ledger_id: int, as_json: bool) -> None:
    """Show the metadata of a ledger: quorums, state, digest and fragments.  Its bookies are not asked."""

    async def operation(reactor: Any) -> ledger_table.Row:
        async with connected(reactor, metadata_uri) as client:
            return await ledger_table.row(client, ledger_id)

    ledger_table.show_row(run(operation), as_json)


@ledger.command()
@options.metadata
@which.ledgers
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(metadata_uri: str, ledger_ids: tuple[int, ...], yes: bool) -> None:
    """Delete ledgers.  What they held cannot be read any more."""
    if not yes and not click.confirm(f"delete ledger {', '.join(map(ledger_name, ledger_ids))} for good?", err=True):
        click.echo("nothing is deleted", err=True)
        raise click.exceptions.Exit(1)

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            for ledger_id in ledger_ids:
                await client.delete_ledger(ledger_id)
                click.echo(f"deleted ledger {ledger_name(ledger_id)}", err=True)

    run(operation)
