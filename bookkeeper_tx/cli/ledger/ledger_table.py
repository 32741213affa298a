"""Ledger metadata for people and, as JSON, for programs."""

import datetime
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

import click
from attrs import frozen
from rich.table import Table
from twisted.internet.defer import Deferred, FirstError, gatherResults

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.model import LedgerMetadata, ledger_name
from bookkeeper_tx.text.tables import print_table
from protocol_specs import ledger_id as ids

PAGE_COUNT: Final = 500
"""Ledgers whose metadata are read together, and shown in one table: as many as are in memory."""


@frozen
class Row:
    """One ledger; ``metadata`` is None when it cannot be understood, and ``trouble`` says why."""

    ledger_id: int
    metadata: LedgerMetadata | None
    trouble: str = ""


async def row(client: BookKeeper, ledger_id: int) -> Row:
    """Read the metadata of a ledger."""
    return Row(ledger_id, await client.ledger_metadata(ledger_id))


async def pages(client: BookKeeper, scope_id: int | None = 0) -> AsyncGenerator[list[Row], None]:
    """Read the metadata of all ledgers of a scope, of all for None, in their order and so many at a time.

    One that is deleted meanwhile is left out.
    """
    ledger_ids = await client.list_ledgers(scope_id)
    for at in range(0, len(ledger_ids), PAGE_COUNT):
        reading = [_row_or_none(client, each) for each in ledger_ids[at : at + PAGE_COUNT]]
        try:
            found = await gatherResults(reading, consumeErrors=True)
        except FirstError as error:
            error.subFailure.raiseException()
        yield [each for each in found if each is not None]


def _row_or_none(client: BookKeeper, ledger_id: int) -> Deferred[Row | None]:
    async def read() -> Row | None:
        try:
            return await row(client, ledger_id)
        except NoSuchLedger:
            return None
        except MetadataCorrupt as error:
            return Row(ledger_id, None, str(error))

    return Deferred.fromCoroutine(read())


def as_dictionary(row: Row) -> dict[str, Any]:
    """Return a ledger as JSON shows it, without its password."""
    metadata = row.metadata
    if metadata is None:
        return {**_id(row.ledger_id), "error": row.trouble}
    return {
        **_id(row.ledger_id),
        "state": metadata.state.name,
        "last_entry_id": metadata.last_entry_id if metadata.closed else None,
        "length": metadata.length if metadata.closed else None,
        "ensemble_size": metadata.ensemble_size,
        "write_quorum_size": metadata.write_quorum_size,
        "ack_quorum_size": metadata.ack_quorum_size,
        "digest_type": metadata.digest_type and metadata.digest_type.name,
        "ctime_ms": metadata.ctime_ms,
        "format_version": metadata.format_version,
        "custom_metadata": {key: value.decode(errors="replace") for key, value in metadata.custom_metadata.items()},
        "fragments": [
            {"first_entry_id": fragment.first_entry_id, "ensemble": list(fragment.ensemble)}
            for fragment in metadata.fragments
        ],
    }


def _id(ledger_id: int) -> dict[str, Any]:
    scope_id, lower = ids.split(ledger_id)
    if not scope_id:
        return {"ledger_id": lower}
    return {
        "ledger_id": lower,
        "ledger_scope_id": scope_id,
        "ledger_qualified_name": ids.qualified_name(ledger_id),
    }


async def show_all(client: BookKeeper, scope_id: int | None, as_json: bool) -> None:
    """Print the ledgers of a scope, of all for None, as they are read: a table a page, or one JSON object a line."""
    count = 0
    async with aclosing(pages(client, scope_id)) as read:
        async for page in read:
            count += len(page)
            _show_rows(page, as_json)
    if not (count or as_json):
        click.echo("there is no ledger", err=True)


def _show_rows(found: list[Row], as_json: bool) -> None:
    if as_json:
        for each in found:
            click.echo(json.dumps(as_dictionary(each)))
        return
    if not found:
        return
    table = Table("ledger", "state", "entries", "bytes", "E/Qw/Qa", "digest", "last ensemble", box=None, pad_edge=False)
    for column in (0, 2, 3):
        table.columns[column].justify = "right"
    for each in found:
        metadata = each.metadata
        if metadata is None:
            table.add_row(ledger_name(each.ledger_id), each.trouble, style="red")
            continue
        table.add_row(
            ledger_name(each.ledger_id),
            metadata.state.name,
            *_sizes(metadata),
            _quorums(metadata),
            _digest(metadata),
            ", ".join(metadata.last_fragment.ensemble),
        )
    print_table(table)


def show_row(found: Row, as_json: bool) -> None:
    """Print the metadata of one ledger in full, except its password."""
    if as_json:
        click.echo(json.dumps(as_dictionary(found), indent=2))
        return
    metadata = found.metadata
    assert metadata is not None
    entries, length = _sizes(metadata)
    table = Table(show_header=False, box=None, pad_edge=False)
    for key, value in _id(found.ledger_id).items():
        table.add_row(key.removesuffix("_id").replace("_", " "), str(value))
    table.add_row("state", metadata.state.name)
    table.add_row("entries", entries)
    table.add_row("bytes", length)
    table.add_row("E/Qw/Qa", _quorums(metadata))
    table.add_row("digest", _digest(metadata))
    if metadata.ctime_ms is not None:
        created = datetime.datetime.fromtimestamp(metadata.ctime_ms / 1000, datetime.UTC)
        table.add_row("created", created.isoformat(" ", "seconds"))
    table.add_row("format", f"version {metadata.format_version}")
    for key, custom in metadata.custom_metadata.items():
        table.add_row("custom", f"{key}={custom.decode(errors='replace')}")
    for fragment in metadata.fragments:
        table.add_row(f"from entry {fragment.first_entry_id:,}", ", ".join(fragment.ensemble))
    print_table(table)


def _sizes(metadata: LedgerMetadata) -> tuple[str, str]:
    if not metadata.closed:
        return "?", "?"  # only its bookies know
    return f"{metadata.last_entry_id + 1:,}", f"{metadata.length:,}"


def _quorums(metadata: LedgerMetadata) -> str:
    return f"{metadata.ensemble_size}/{metadata.write_quorum_size}/{metadata.ack_quorum_size}"


def _digest(metadata: LedgerMetadata) -> str:
    return metadata.digest_type.name if metadata.digest_type else "?"
