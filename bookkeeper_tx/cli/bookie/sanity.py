"""``bktx bookie sanity``: a ledger that is created, written, read and deleted on one bookie."""

import contextlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import cookies
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.connect import config_for
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, NotEnoughBookies
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.one_bookie_store import OneBookieStore
from bookkeeper_tx.metadata.store import open_metadata_store

PASSWORD = b"sanity"


@click.command(short_help="Try a running bookie with a ledger of its own.")
@where.places_if_needed
@options.metadata
@click.option("--bookie-id", metavar="ID", help="The bookie; default: the one whose directories are given.")
@click.option("--entries", type=click.IntRange(1), default=10, show_default=True, help="Entries to write.")
@click.option("--size", "size_bytes", type=click.IntRange(0), default=100, show_default=True, help="Bytes of each.")
@options.protocol
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def sanity(
    places: Places | None,
    metadata_uri: str,
    bookie_id: str | None,
    entries: int,
    size_bytes: int,
    protocol: WireProtocol | None,
    as_json: bool,
) -> None:
    """Create a ledger on one bookie that runs, write, read and compare its entries, and delete it.

    WRITES a ledger, which is deleted at the end whatever happens.  The exit code is 1 if a step fails.

    \b
    bktx bookie sanity --data /var/lib/bk/1 --metadata sqlite:///tmp/cluster.db
    """
    if bookie_id is None:
        if places is None:
            raise click.UsageError("say which bookie: --bookie-id ID, or --data DIR")
        bookie_id = cookies.bookie_id_of(cookies.cookie_files(Disk(), places))
    which: str = bookie_id
    payloads = [os.urandom(size_bytes) for _ in range(entries)]

    async def operation(reactor: Any) -> dict[str, Any]:
        config = config_for(protocol)
        store = OneBookieStore(open_metadata_store(metadata_uri, reactor, security=config.metadata_security), which)
        async with BookKeeper(store, config, reactor) as client:
            await require_writable(store, which)
            return await try_bookie(client, which, payloads, time.perf_counter)

    done = {"bookie_id": bookie_id, "entries": entries, **run(operation)}
    if as_json:
        click.echo(json.dumps(done))
        return
    took = ", ".join(f"{step} {done[f'{step}_s'] * 1000:.1f} ms" for step in ("create", "write", "read", "delete"))
    click.echo(f"bookie {bookie_id} is sane: {entries:,} entries in ledger {done['ledger_id']}; {took}")


async def require_writable(store: MetadataStore | OneBookieStore, bookie_id: str) -> None:
    """Raise InvalidArgument unless the bookie takes new entries."""
    if bookie_id in await store.writable_bookies():
        return
    if bookie_id in await store.read_only_bookies():
        raise InvalidArgument(
            f"bookie {bookie_id} is read-only, and takes no entry: its disk is full, or it was told so.  "
            "Try it again when it is writable"
        )
    raise InvalidArgument(f"bookie {bookie_id} is not registered as writable: start it first")


async def try_bookie(
    client: BookKeeper, bookie_id: str, payloads: list[bytes], clock: Callable[[], float]
) -> dict[str, Any]:
    """Do all steps; return the ledger's id, and the seconds that each step took.  Raises the error of a step."""
    started_s = clock()
    try:
        writer = await client.create_ledger(1, 1, 1, password=PASSWORD)
    except NotEnoughBookies:
        raise InvalidArgument(f"bookie {bookie_id} is not registered as writable: start it first") from None
    created_s = clock()
    try:
        await writer.append_many(payloads)
        await writer.close()
        written_s = clock()
        reader = await client.open_ledger(writer.ledger_id, password=PASSWORD)
        found = [entry.payload for entry in await reader.read(0, len(payloads) - 1)]
        if found != payloads:
            raise BookKeeperError(f"bookie {bookie_id} gives other entries than were written to it")
        read_s = clock()
    except BaseException:
        with contextlib.suppress(BookKeeperError):  # the first error says more
            await client.delete_ledger(writer.ledger_id)
        raise
    await client.delete_ledger(writer.ledger_id)
    steps = {"create_s": created_s - started_s, "write_s": written_s - created_s, "read_s": read_s - written_s}
    return {"ledger_id": writer.ledger_id, **steps, "delete_s": clock() - read_s}
