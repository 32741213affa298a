"""``bktx ledger``: create, write, read, list, show and delete ledgers."""

import sys
from typing import Any, BinaryIO

import click

from bookkeeper_tx.cli import ledger_copy, ledger_table, options
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType


@click.group()
def ledger() -> None:
    """Create, write, read, list, show and delete ledgers.

    \b
    export BKTX_METADATA=sqlite:///tmp/cluster.db
    bktx ledger write --replicas 1 < README.md      prints the new ledger's id, say 0
    bktx ledger read 0                              prints README.md again
    bktx ledger show 0
    """


def _quorums(command: Any) -> Any:
    for option in (
        click.option(
            "--ack-quorum",
            type=click.IntRange(1),
            help="Copies that must be safe before an add succeeds; default: a majority.",
        ),
        click.option("--write-quorum", type=click.IntRange(1), help="Copies of each entry; default: every bookie."),
        click.option(
            "--replicas", type=click.IntRange(1), default=3, show_default=True, help="Bookies in the ensemble."
        ),
    ):
        command = option(command)
    return command


def _quorum_sizes(replicas: int, write_quorum: int | None, ack_quorum: int | None) -> dict[str, int]:
    write_quorum_size = write_quorum or replicas
    return {
        "ensemble_size": replicas,
        "write_quorum_size": write_quorum_size,
        "ack_quorum_size": ack_quorum or write_quorum_size // 2 + 1,
    }


def _custom_metadata(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, bytes]:
    custom = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE")
        custom[key] = value.encode()
    return custom


_custom = click.option(
    "--custom", multiple=True, metavar="KEY=VALUE", callback=_custom_metadata, help="Custom metadata; may be repeated."
)


@ledger.command()
@options.metadata
@_quorums
@options.digest
@options.password
@_custom
@click.option("--close", "close_it", is_flag=True, help="Close it at once, empty.")
def create(
    metadata_uri: str,
    replicas: int,
    write_quorum: int | None,
    ack_quorum: int | None,
    digest_type: DigestType,
    password: bytes,
    custom: dict[str, bytes],
    close_it: bool,
) -> None:
    """Create an empty ledger and print its id.

    In BookKeeper only the client that created a ledger writes to it, so what this leaves open can be read, recovered
    and deleted, but not written to: "bktx ledger write" makes a ledger of its own.

    \b
    bktx ledger create --replicas 3 --ack-quorum 2 --custom owner=me
    """

    async def operation(reactor: Any) -> int:
        async with connected(reactor, metadata_uri) as client:
            writer = await client.create_ledger(
                **_quorum_sizes(replicas, write_quorum, ack_quorum),
                digest_type=digest_type,
                password=password,
                custom_metadata=custom,
            )
            if close_it:
                await writer.close()
            return int(writer.ledger_id)

    click.echo(run(operation))


@ledger.command()
@options.metadata
@_quorums
@options.digest
@options.password
@_custom
@click.option("--file", type=click.File("rb"), default="-", help="What to write; default: standard input.")
def write(
    metadata_uri: str,
    replicas: int,
    write_quorum: int | None,
    ack_quorum: int | None,
    digest_type: DigestType,
    password: bytes,
    custom: dict[str, bytes],
    file: BinaryIO,
) -> None:
    """Write a file's lines as entries of a new ledger, close it and print its id.

    Lines keep their ends, empty lines are entries too: reading it all gives the same bytes.  When writing fails the
    ledger is left open; its id is in the message, "bktx ledger read --recover" reads what was acknowledged.

    \b
    bktx ledger write --file /etc/services
    seq 1000000 | bktx ledger write --replicas 1
    """

    async def operation(reactor: Any) -> int:
        async with connected(reactor, metadata_uri) as client:
            writer = await client.create_ledger(
                **_quorum_sizes(replicas, write_quorum, ack_quorum),
                digest_type=digest_type,
                password=password,
                custom_metadata=custom,
            )
            click.echo(f"writing ledger {writer.ledger_id}", err=True)
            await ledger_copy.write_lines(reactor, writer, file)
            await writer.close()
            entries = writer.last_add_confirmed + 1
            click.echo(f"closed it: {entries:,} entries, {writer.length:,} bytes", err=True)
            return int(writer.ledger_id)

    click.echo(run(operation))


@ledger.command()
@options.metadata
@options.digest_to_read
@options.password
@click.argument("ledger_id", type=click.IntRange(0))
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="First entry to read.")
@click.option("--last", type=click.IntRange(0), help="Last entry to read; default: the last one there is.")
@click.option("--batch/--single", default=True, show_default=True, help="Batch reads where there are any, or none.")
@click.option("--newline", is_flag=True, help="End each payload with a newline that is not in the entry.")
@click.option("--recover", is_flag=True, help="Recover the ledger first if it is not closed: FENCES ITS WRITER.")
def read(
    metadata_uri: str,
    digest_type: DigestType | None,
    password: bytes,
    ledger_id: int,
    first: int,
    last: int | None,
    batch: bool,
    newline: bool,
    recover: bool,
) -> None:
    """Write a ledger's payloads to standard output, exactly as they were stored.

    A ledger that is not closed is read up to what is confirmed now, and left alone.  With --recover it is fenced and
    closed: whoever is writing to it can add nothing any more.

    \b
    bktx ledger read 0 > copy
    bktx ledger read 0 --first 100 --last 199 --single
    """

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            reader = await ledger_copy.open_reader(client, ledger_id, password, digest_type, recover)
            end = reader.last_add_confirmed if last is None else last
            if last is None and first == end + 1:
                return  # nothing there, or nothing new
            if last is not None and last < first:
                raise InvalidArgument(f"--last {last} lies before --first {first}")
            await ledger_copy.read_payloads(reader, first, end, batch, b"\n" if newline else b"", sys.stdout.buffer)

    run(operation)


@ledger.command("list")
@options.metadata
@click.option("--json", "as_json", is_flag=True, help="One JSON object a ledger.")
def list_ledgers(metadata_uri: str, as_json: bool) -> None:
    """List the ledgers of the cluster with state, size and where their last entries lie."""

    async def operation(reactor: Any) -> list[ledger_table.Row]:
        async with connected(reactor, metadata_uri) as client:
            return await ledger_table.rows(client)

    ledger_table.show_rows(run(operation), as_json)


@ledger.command()
@options.metadata
@click.argument("ledger_id", type=click.IntRange(0))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(metadata_uri: str, ledger_id: int, as_json: bool) -> None:
    """Show the metadata of a ledger: quorums, state, digest and fragments.  Its bookies are not asked."""

    async def operation(reactor: Any) -> ledger_table.Row:
        async with connected(reactor, metadata_uri) as client:
            return await ledger_table.row(client, ledger_id)

    ledger_table.show_row(run(operation), as_json)


@ledger.command()
@options.metadata
@click.argument("ledger_ids", type=click.IntRange(0), nargs=-1, required=True, metavar="LEDGER_ID…")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(metadata_uri: str, ledger_ids: tuple[int, ...], yes: bool) -> None:
    """Delete ledgers.  What they held cannot be read any more."""
    if not yes and not click.confirm(f"delete ledger {', '.join(map(str, ledger_ids))} for good?", err=True):
        click.echo("nothing is deleted", err=True)
        raise click.exceptions.Exit(1)

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            for ledger_id in ledger_ids:
                await client.delete_ledger(ledger_id)
                click.echo(f"deleted ledger {ledger_id}", err=True)

    run(operation)
