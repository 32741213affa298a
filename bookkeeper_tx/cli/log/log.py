"""``bktx log``: the commands on lists of ledgers; the others are in log_append and log_read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.ledger.ledger_write import quorums
from bookkeeper_tx.cli.log import log_append, log_read, log_table
from bookkeeper_tx.cli.log.position import position
from bookkeeper_tx.cli.progress import progress
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.replicated_log import DLSN, Namespace


@click.group()
def log() -> None:
    """Create, append to, read, truncate, list and delete replicated logs.

    \b
    export BKTX_METADATA=sqlite:///tmp/cluster.db
    bktx log create orders --replicas 1
    seq 3 | bktx log append orders                  prints the position of each line: 0:0, 0:1, 0:2
    bktx log read orders --from 0:1                 prints 2 and 3

    A log is a list of ledgers.  Who appends to it takes it from whoever did before.
    """


@log.command()
@options.metadata
@quorums
@options.digest
@click.argument("name")
def create(
    metadata_uri: str,
    replicas: int,
    write_quorum: int | None,
    ack_quorum: int | None,
    digest_type: DigestType,
    name: str,
) -> None:
    """Create an empty log."""
    write_quorum_size = write_quorum or replicas

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            sizes = replicas, write_quorum_size, ack_quorum or write_quorum_size // 2 + 1
            await Namespace(client).create_log(name, *sizes, digest_type)

    run(operation)


@log.command()
@options.metadata
@options.password
@click.argument("name")
@click.argument("dlsn", metavar="POSITION", callback=position)
def truncate(metadata_uri: str, password: bytes, name: str, dlsn: DLSN) -> None:
    """Delete the ledgers of a log before the one of POSITION; print the position at which the log starts now.

    Ledgers are deleted as a whole, so lines shortly before POSITION stay.
    """

    async def operation(reactor: Any) -> DLSN:
        async with connected(reactor, metadata_uri) as client:
            with _deleting() as deleted:
                return await Namespace(client, password).truncate(name, dlsn, deleted)

    click.echo(str(run(operation)))


@log.command("list")
@options.metadata
@click.option("--json", "as_json", is_flag=True, help="One JSON object a log.")
def list_logs(metadata_uri: str, as_json: bool) -> None:
    """List the logs with their starts, how many ledgers they have, and their quorums.

    A log whose records cannot be understood is listed with what is wrong; the exit code is 1 then.
    """

    async def operation(reactor: Any) -> list[log_table.Row]:
        async with connected(reactor, metadata_uri) as client:
            return await log_table.rows(Namespace(client))

    found = run(operation)
    log_table.show_rows(found, as_json)
    bad = [each.name for each in found if each.state is None]
    if bad:
        click.echo(f"error: of {len(found)} logs, these cannot be understood: {', '.join(bad)}", err=True)
        raise click.exceptions.Exit(1)


@log.command()
@options.metadata
@options.password
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(metadata_uri: str, password: bytes, name: str, yes: bool) -> None:
    """Delete a log with all its ledgers.  What it held cannot be read any more."""
    if not yes and not click.confirm(f"delete log {name} for good?", err=True):
        click.echo("nothing is deleted", err=True)
        raise click.exceptions.Exit(1)

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            with _deleting() as deleted:
                await Namespace(client, password).delete_log(name, deleted)

    run(operation)
    click.echo(f"deleted log {name}", err=True)


for command in (log_append.append, log_read.read):
    log.add_command(command)


@contextmanager
def _deleting() -> Iterator[Callable[[], None]]:
    """Give a function to call after each ledger that was deleted; it shows how many there were."""
    count = 0

    def deleted() -> None:
        nonlocal count
        count += 1
        advance()

    with progress(lambda: f"{count:,} ledgers deleted") as advance:
        yield deleted
