"""``bktx log read``: the lines of a log, and those that are still to come."""

import sys
from contextlib import aclosing
from typing import Any

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.log.position import position
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.replicated_log import DLSN, Namespace


@click.command()
@options.metadata
@options.password
@click.argument("name")
@click.option(
    "--from",
    "start",
    metavar="POSITION",
    callback=position,
    help="Position of the first line; default: the first of the log.",
)
@click.option("--follow", is_flag=True, help="Go on with the lines that come, for ever.")
@click.option("--positions", is_flag=True, help="Print before each line its position and a tab.")
def read(metadata_uri: str, password: bytes, name: str, start: DLSN | None, follow: bool, positions: bool) -> None:
    """Print the lines of a log, up to the last that is confirmed.

    Whoever appends to it is left alone.

    \b
    bktx log read orders --positions
    bktx log read orders --from 3:41 --follow
    """
    out = sys.stdout.buffer

    async def operation(reactor: Any) -> None:
        async with (
            connected(reactor, metadata_uri) as client,
            aclosing(Namespace(client, password).read(name, start, follow=follow)) as records,
        ):
            async for record in records:
                before = f"{record.dlsn}\t".encode() if positions else b""
                out.write(before + record.payload + b"\n")
                if follow:
                    out.flush()
        out.flush()

    run(operation)
