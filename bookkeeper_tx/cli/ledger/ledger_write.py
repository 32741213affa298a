"""``bktx ledger create`` and ``write``: new ledgers."""

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, BinaryIO

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import config_for, connected
from bookkeeper_tx.cli.ledger import ledger_copy
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.client.deferred_handles import LedgerWriter
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.model import DigestType, ledger_name

Created = Callable[[Any], AbstractAsyncContextManager[LedgerWriter]]
"""Takes the reactor, and returns a context that has a client and gives the writer of a new ledger."""


def quorums(command: Any) -> Any:
    """Add ``--replicas``, ``--write-quorum`` and ``--ack-quorum``."""
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


def _new_ledger(command: Callable[..., Any]) -> Any:
    """Add the options of a new ledger; the command gets ``created(reactor)``, a context that gives its writer."""

    @options.metadata
    @quorums
    @options.digest
    @options.password
    @_custom
    @which.new_ledger
    @options.protocol
    @functools.wraps(command)
    def with_new_ledger(
        *args: Any,
        metadata_uri: str,
        replicas: int,
        write_quorum: int | None,
        ack_quorum: int | None,
        digest_type: DigestType,
        password: bytes,
        custom: dict[str, bytes],
        wanted: dict[str, Any],
        protocol: WireProtocol | None,
        **others: Any,
    ) -> Any:
        write_quorum_size = write_quorum or replicas

        @asynccontextmanager
        async def created(reactor: Any) -> AsyncIterator[LedgerWriter]:
            async with connected(reactor, metadata_uri, config_for(protocol, **wanted)) as client:
                yield await client.create_ledger(
                    ensemble_size=replicas,
                    write_quorum_size=write_quorum_size,
                    ack_quorum_size=ack_quorum or write_quorum_size // 2 + 1,
                    digest_type=digest_type,
                    password=password,
                    custom_metadata=custom,
                    **wanted,
                )

        return command(*args, created=created, **others)

    return with_new_ledger


@click.command()
@_new_ledger
@click.option("--close", "close_it", is_flag=True, help="Close it at once, empty.")
def create(created: Created, close_it: bool) -> None:
    """Create an empty ledger and print its id, in scopes other than 0 its qualified name.

    In BookKeeper only the client that created a ledger writes to it, so what this leaves open can be read, recovered
    and deleted, but not written to: "bktx ledger write" makes a ledger of its own.

    \b
    bktx ledger create --replicas 3 --ack-quorum 2 --custom owner=me
    bktx ledger create --ledger-scope-id 12 --ledger-id 7
    """

    async def operation(reactor: Any) -> str:
        async with created(reactor) as writer:
            if close_it:
                await writer.close()
            return ledger_name(writer.ledger_id)

    click.echo(run(operation))


@click.command()
@_new_ledger
@click.option("--file", type=click.File("rb"), default="-", help="What to write; default: standard input.")
def write(created: Created, file: BinaryIO) -> None:
    """Write a file's lines as entries of a new ledger, close it and print its id.

    Lines keep their ends, empty lines are entries too: reading it all gives the same bytes.  When writing fails the
    ledger is left open; its id is in the message, "bktx ledger read --recover" reads what was acknowledged.

    \b
    bktx ledger write --file /etc/services
    seq 1000000 | bktx ledger write --replicas 1
    """

    async def operation(reactor: Any) -> str:
        async with created(reactor) as writer:
            click.echo(f"writing ledger {ledger_name(writer.ledger_id)}", err=True)
            await ledger_copy.write_lines(reactor, writer, file)
            await writer.close()
            entries = writer.last_add_confirmed + 1
            click.echo(f"closed it: {entries:,} entries, {writer.length:,} bytes", err=True)
            return ledger_name(writer.ledger_id)

    click.echo(run(operation))
