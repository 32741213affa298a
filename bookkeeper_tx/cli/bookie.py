"""``bktx bookie``: the bookies of a cluster."""

import json
from typing import Any

import click
from attrs import asdict, frozen
from rich.table import Table

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import open_store
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.cli.tables import print_table
from bookkeeper_tx.errors import BookieUnavailable


@frozen
class Bookie:
    """A registered bookie."""

    bookie_id: str
    mode: str
    address: str


@click.group()
def bookie() -> None:
    """Look at the bookies of a cluster.  (A bookie is started with "twistd bookie --help".)"""


@bookie.command("list")
@options.metadata
@click.option("--json", "as_json", is_flag=True, help="One JSON object a bookie.")
def list_bookies(metadata_uri: str, as_json: bool) -> None:
    """List the bookies that are registered now, and where they listen.

    \b
    bktx bookie list --metadata sqlite:///tmp/cluster.db
    """

    async def operation(reactor: Any) -> list[Bookie]:
        async with open_store(reactor, metadata_uri) as store:
            return [*await _registered(store, "writable"), *await _registered(store, "read-only")]

    found = run(operation)
    if as_json:
        for each in found:
            click.echo(json.dumps(asdict(each)))
        return
    if not found:
        click.echo("no bookie is registered", err=True)
        return
    table = Table("bookie", "mode", "listens on", box=None, pad_edge=False)
    for each in found:
        table.add_row(each.bookie_id, each.mode, each.address)
    print_table(table)


async def _registered(store: Any, mode: str) -> list[Bookie]:
    bookie_ids = await (store.writable_bookies() if mode == "writable" else store.read_only_bookies())
    found = []
    for bookie_id in sorted(bookie_ids):
        try:
            info = await store.bookie_info(bookie_id)
        except BookieUnavailable:
            continue  # gone meanwhile
        found.append(Bookie(bookie_id, mode, f"{info.host}:{info.port}"))
    return found
