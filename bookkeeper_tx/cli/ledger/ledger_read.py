"""``bktx ledger read`` and ``tail``: the entries of a ledger, and those that are still to come."""

import sys
from contextlib import aclosing
from typing import Any

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import config_for, connected
from bookkeeper_tx.cli.ledger import ledger_copy
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType


@click.command()
@options.metadata
@options.digest_to_read
@options.password
@options.protocol
@which.ledger
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="First entry to read.")
@click.option("--last", type=click.IntRange(0), help="Last entry to read; default: the last one there is.")
@click.option("--batch/--single", default=True, show_default=True, help="Batch reads where there are any, or none.")
@click.option("--newline", is_flag=True, help="End each payload with a newline that is not in the entry.")
@click.option("--recover", is_flag=True, help="Recover the ledger first if it is not closed: FENCES ITS WRITER.")
def read(
    metadata_uri: str,
    digest_type: DigestType | None,
    password: bytes,
    protocol: WireProtocol | None,
    ledger_id: int,
    first: int,
    last: int | None,
    batch: bool,
    newline: bool,
    recover: bool,
) -> None:
    """Write a ledger's payloads to standard output, exactly as they were stored.

    A ledger that is not closed is read up to what is confirmed now, and left alone.  With --recover it is fenced and
    closed: its writer can add nothing any more.

    \b
    bktx ledger read 0 > copy
    bktx ledger read 0 --first 100 --last 199 --single
    """

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri, config_for(protocol, ledger_id)) as client:
            reader = await ledger_copy.open_reader(client, ledger_id, password, digest_type, recover)
            end = reader.last_add_confirmed if last is None else last
            if last is None and first == end + 1:
                return  # nothing there, or nothing new
            if last is not None and last < first:
                raise InvalidArgument(f"--last {last} lies before --first {first}")
            await ledger_copy.read_payloads(reader, first, end, batch, b"\n" if newline else b"", sys.stdout.buffer)

    run(operation)


@click.command()
@options.metadata
@options.digest_to_read
@options.password
@options.protocol
@which.ledger
@click.option("--first", type=click.IntRange(0), help="First entry; default: the first that is not confirmed yet.")
@click.option("--newline", is_flag=True, help="End each payload with a newline that is not in the entry.")
def tail(
    metadata_uri: str,
    digest_type: DigestType | None,
    password: bytes,
    protocol: WireProtocol | None,
    ledger_id: int,
    first: int | None,
    newline: bool,
) -> None:
    """Write a ledger's payloads to standard output as they are confirmed, until its writer closes it.

    Bookies are asked to answer when there is something new (long poll); the writer is left alone.

    \b
    bktx ledger tail 0 --first 0
    """

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri, config_for(protocol, ledger_id)) as client:
            reader = await client.open_ledger_no_recovery(ledger_id, password=password, digest_type=digest_type)
            try:
                async with aclosing(reader.tail(first)) as entries:
                    async for entry in entries:
                        sys.stdout.buffer.write(entry.payload + (b"\n" if newline else b""))
                        sys.stdout.buffer.flush()
            finally:
                reader.close()

    run(operation)
