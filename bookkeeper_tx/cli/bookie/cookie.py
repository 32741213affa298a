"""``bktx bookie cookie``: the cookies of bookies, in their directories and in the metadata store."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import cookies
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.connect import open_store
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.service_info import check_bookie_id

file_option = click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help='The cookie: a VERSION file, or what "bktx bookie cookie generate" wrote.',
)

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.group(short_help="Show and change cookies in the metadata store.")
def cookie() -> None:
    """Show and change cookies, which bind the directories of a bookie to its id and its cluster.

    A bookie refuses to start when the cookies of its directories and of the metadata store differ.
    """


@cookie.command(short_help="The cookie of a bookie.")
@click.argument("bookie_id", metavar="BOOKIE_ID")
@options.metadata
@json_option
def show(bookie_id: str, metadata_uri: str, as_json: bool) -> None:
    """Show the cookie of a bookie in the metadata store.  The copies in its directories are the files VERSION."""

    async def operation(reactor: Any) -> tuple[bytes, int]:
        async with open_store(reactor, metadata_uri) as store:
            return await cookies.read_cookie(store, bookie_id)

    data, version = run(operation)
    if as_json:
        click.echo(json.dumps({**_values(Cookie.decode(data, "the metadata store")), "version": version}))
    else:
        click.echo(data, nl=False)


@cookie.command(short_help="The cookie that a bookie would have.")
@click.argument("bookie_id", metavar="BOOKIE_ID")
@where.places
@click.option(
    "--metadata", "metadata_uri", envvar="BKTX_METADATA", show_envvar=True, metavar="URI", help="The cluster."
)
@click.option("--instance-id", metavar="ID", help="The cluster's instance id, if there is no --metadata.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it there.")
@json_option
def generate(
    bookie_id: str,
    places: Places,
    metadata_uri: str | None,
    instance_id: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Make the cookie that a bookie with this id and these directories has, and print it or write it to FILE.

    --json prints its fields in place of it.  Neither the directories nor the metadata store are changed.

    \b
    bktx bookie cookie generate 10.0.0.1:3181 --data /var/lib/bk/1 --output cookie
    """
    check_bookie_id(bookie_id)
    if metadata_uri is not None and instance_id is None:

        async def operation(reactor: Any) -> str | None:
            async with open_store(reactor, metadata_uri) as store:
                return await store.instance_id()

        instance_id = run(operation)
    made = Cookie.of_directories(bookie_id, places.journal, places.ledger, places.index, instance_id)
    if output is not None:
        output.write_bytes(made.encode())
    if as_json:
        click.echo(json.dumps(_values(made)))
    elif output is None:
        sys.stdout.buffer.write(made.encode())


@cookie.command(short_help="Store the first cookie of a bookie.")
@click.argument("bookie_id", metavar="BOOKIE_ID")
@options.metadata
@file_option
@json_option
def create(bookie_id: str, metadata_uri: str, path: Path, as_json: bool) -> None:
    """Store a cookie in the metadata store, which has none of this bookie.  WRITES to the metadata store."""
    data = _cookie(bookie_id, path)
    version = _change(metadata_uri, lambda store: cookies.create_cookie(store, bookie_id, data))
    if as_json:
        click.echo(json.dumps({**_values(Cookie.decode(data, str(path))), "version": version}))
    click.echo(f"created the cookie of bookie {bookie_id}", err=True)


@cookie.command(short_help="Replace the cookie of a bookie.")
@click.argument("bookie_id", metavar="BOOKIE_ID")
@options.metadata
@file_option
@json_option
def update(bookie_id: str, metadata_uri: str, path: Path, as_json: bool) -> None:
    """Replace the cookie of a bookie in the metadata store.  WRITES to the metadata store.

    The bookie must not be registered.  Its directories must have the same cookie when it starts.
    """
    data = _cookie(bookie_id, path)
    version = _change(metadata_uri, lambda store: cookies.update_cookie(store, bookie_id, data))
    if as_json:
        click.echo(json.dumps({**_values(Cookie.decode(data, str(path))), "version": version}))
    click.echo(f"updated the cookie of bookie {bookie_id}", err=True)


@cookie.command(short_help="Delete the cookie of a bookie.")
@click.argument("bookie_id", metavar="BOOKIE_ID")
@options.metadata
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(bookie_id: str, metadata_uri: str, yes: bool, as_json: bool) -> None:
    """Delete the cookie of a bookie from the metadata store.  WRITES to the metadata store.

    The cluster then forgets that this bookie ever had data: recover its ledgers from others before.  The bookie must
    not be registered.
    """
    if not yes and not click.confirm(f"delete the cookie of bookie {bookie_id}?", err=True):
        click.echo("nothing is deleted", err=True)
        raise click.exceptions.Exit(1)
    version = _change(metadata_uri, lambda store: cookies.delete_cookie(store, bookie_id))
    if as_json:
        click.echo(json.dumps({"bookie_id": bookie_id, "version": version}))
    click.echo(f"deleted the cookie of bookie {bookie_id}", err=True)


def _values(found: Cookie) -> dict[str, Any]:
    return {
        "bookie_id": found.bookie_id,
        "journal_directories": found.journal_directories.split(","),
        "ledger_directories": found.ledger_directories.split("\t")[1:],
        "index_directories": found.index_directories.split("\t")[1:],
        "instance_id": found.instance_id or None,
        "layout_version": found.layout_version,
    }


def _cookie(bookie_id: str, path: Path) -> bytes:
    data = Disk().read(str(path))
    cookies.check_cookie(bookie_id, data, str(path))
    return data


def _change(metadata_uri: str, change: Callable[[MetadataStore], Awaitable[int]]) -> int:
    """Make a change of a cookie, and return the version that it gives."""

    async def operation(reactor: Any) -> int:
        async with open_store(reactor, metadata_uri) as store:
            return await change(store)

    return run(operation)
