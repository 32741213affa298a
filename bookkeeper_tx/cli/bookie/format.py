"""``bktx bookie format``: empty directories for a bookie."""

import json
from typing import Any

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import cookies
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.wipe import count_files, wipe
from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.connect import open_store
from bookkeeper_tx.cli.run import run


@click.command("format", short_help="Delete all files of a bookie.")
@where.places
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--delete-cookie", is_flag=True, help="Delete the cookie in the metadata store, too.")
@click.option("--bookie-id", metavar="ID", help="Whose cookie; default: the bookie that the directories belong to.")
@options.metadata_if_needed
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def format_directories(
    places: Places, force: bool, delete_cookie: bool, bookie_id: str | None, metadata_uri: str | None, as_json: bool
) -> None:
    """Delete all files of a bookie: journal, entry logs, indexes, cookies.  WRITES: what it held is lost.

    Without --delete-cookie the metadata store still knows the bookie, which then does not start on the empty
    directories: its entries are to be recovered from other bookies first.

    \b
    bktx bookie format --data /var/lib/bk/1 --delete-cookie --metadata sqlite:///tmp/cluster.db
    """
    if delete_cookie and metadata_uri is None:
        raise click.UsageError("--delete-cookie needs --metadata URI")
    disk, cookie_deleted = Disk(), False
    with places.held(disk, writing=True):
        if delete_cookie and bookie_id is None:
            bookie_id = cookies.bookie_id_of(cookies.cookie_files(disk, places))
        count, size_bytes = count_files(places)
        what = f"{count:,} files, {size_bytes:,} bytes, in {', '.join(places.every)}"
        if not force and count and not click.confirm(f"delete {what} for good?", err=True):
            click.echo("nothing is deleted", err=True)
            raise click.exceptions.Exit(1)
        if delete_cookie:
            assert metadata_uri is not None
            assert bookie_id is not None
            cookie_deleted = _wipe_and_forget(disk, places, metadata_uri, bookie_id)
        else:
            wipe(disk, places)
    if as_json:
        done = {"files": count, "size": size_bytes, "directories": places.every, "cookie_deleted": cookie_deleted}
        click.echo(json.dumps(done))
    click.echo(f"deleted {what}", err=True)


def _wipe_and_forget(disk: Disk, places: Places, metadata_uri: str, bookie_id: str) -> bool:
    """Delete the files, then the cookie in the store: before that, no bookie starts on what is left of them.

    Returns whether there was a cookie in the store.
    """

    async def operation(reactor: Any) -> bool:
        async with open_store(reactor, metadata_uri) as store:
            await cookies.require_unregistered(store, bookie_id)
            wipe(disk, places)
            if await store.read_cookie(bookie_id) is None:
                return False
            await cookies.delete_cookie(store, bookie_id)
            return True

    return run(operation)
