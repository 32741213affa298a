"""``bktx bookie``: the bookies of a cluster; the commands on files of a bookie are beside this one."""

import json
from typing import Any

import click
from attrs import asdict, frozen
from rich.table import Table

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import consistency, cookie, entrylog, index, journal, lastmark, ledger, listfilesondisc
from bookkeeper_tx.cli.bookie.convert import convert
from bookkeeper_tx.cli.bookie.format import format_directories
from bookkeeper_tx.cli.bookie.gc import gc
from bookkeeper_tx.cli.bookie.rebuild_index import rebuild_index
from bookkeeper_tx.cli.bookie.regenerate_index import regenerate_index
from bookkeeper_tx.cli.bookie.sanity import sanity
from bookkeeper_tx.cli.connect import connected, open_store
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.text.tables import print_table


@frozen
class Bookie:
    """A registered bookie."""

    bookie_id: str
    mode: str
    address: str
    extensions: tuple[str, ...] | None
    """The capabilities beyond Java's that it publishes; None if it publishes nothing."""


@frozen
class Disk:
    """The disk space that one bookie reports, or its error."""

    bookie_id: str
    total_bytes: int | None = None
    free_bytes: int | None = None
    error: str | None = None


@click.group()
def bookie() -> None:
    """Look at the bookies of a cluster, and at the files of one that does not run; check and repair these.

    A bookie is started with "twistd bookie --help".  Commands with --data or --config work on its files: stop it first.
    """


for command in (
    lastmark.lastmark,
    journal.journal,
    entrylog.entrylog,
    index.index,
    ledger.ledger,
    listfilesondisc.listfilesondisc,
    consistency.consistency,
    cookie.cookie,
    format_directories,
    rebuild_index,
    regenerate_index,
    convert,
    gc,
    sanity,
):
    bookie.add_command(command)


@bookie.command("list", short_help="The registered bookies.")
@options.metadata
@click.option("--json", "as_json", is_flag=True, help="One JSON object a bookie.")
def list_bookies(metadata_uri: str, as_json: bool) -> None:
    """List the registered bookies, with their addresses and the capabilities that they publish.

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
    table = Table("bookie", "mode", "listens on", "extensions", box=None, pad_edge=False)
    for each in found:
        table.add_row(each.bookie_id, each.mode, each.address, _extensions(each))
    print_table(table)


@bookie.command(short_help="How much disk bookies have.")
@options.metadata
@click.argument("bookie_ids", nargs=-1, metavar="[BOOKIE_ID]…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a bookie.")
def info(metadata_uri: str, bookie_ids: tuple[BookieId, ...], as_json: bool) -> None:
    """Ask bookies, by default all that are writable, how much disk they have.

    The exit code is 1 if one does not say.
    """

    async def operation(reactor: Any) -> list[Disk]:
        async with connected(reactor, metadata_uri) as client:
            return [await _disk(client, each) for each in bookie_ids or sorted(await client.writable_bookies())]

    found = run(operation)
    for each in found:
        click.echo(json.dumps(asdict(each)) if as_json else _disk_text(each))
    if any(each.error for each in found):
        raise click.exceptions.Exit(1)


async def _disk(client: BookKeeper, bookie_id: BookieId) -> Disk:
    try:
        found = await client.bookie_info(bookie_id)
    except BookKeeperError as error:
        return Disk(bookie_id, error=str(error))
    return Disk(bookie_id, found.total_bytes, found.free_bytes)


def _disk_text(disk: Disk) -> str:
    if disk.error is not None:
        return disk.error
    total, free = ("?" if each is None else f"{each:,}" for each in (disk.total_bytes, disk.free_bytes))
    return f"{disk.bookie_id}: {free} of {total} bytes free"


def _extensions(bookie: Bookie) -> str:
    return "?" if bookie.extensions is None else ", ".join(bookie.extensions)


async def _registered(store: MetadataStore, mode: str) -> list[Bookie]:
    bookie_ids = await (store.writable_bookies() if mode == "writable" else store.read_only_bookies())
    found = []
    for bookie_id in sorted(bookie_ids):
        try:
            published = await store.bookie_info(bookie_id)
        except BookieUnavailable:
            continue  # gone meanwhile
        extensions = None if published.extensions is None else tuple(sorted(published.extensions))
        found.append(Bookie(bookie_id, mode, f"{published.host}:{published.port}", extensions))
    return found
