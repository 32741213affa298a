"""The logs of a cluster for people and, as JSON, for programs."""

import json
from typing import Any

import click
from attrs import frozen
from rich.table import Table

from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLog
from bookkeeper_tx.replicated_log import LogState, Namespace
from bookkeeper_tx.text.tables import print_table


@frozen
class Row:
    """One log; ``state`` is None when its records cannot be understood, and ``trouble`` says why."""

    name: str
    state: LogState | None
    trouble: str = ""


async def rows(logs: Namespace) -> list[Row]:
    """Read what the list of each log says; one that is deleted meanwhile is left out."""
    found = []
    for name in await logs.list_logs():
        try:
            found.append(Row(name, await logs.log_state(name)))
        except NoSuchLog:
            continue
        except MetadataCorrupt as error:
            found.append(Row(name, None, str(error)))
    return found


def as_dictionary(row: Row) -> dict[str, Any]:
    """Return a log as JSON shows it."""
    state = row.state
    if state is None:
        return {"name": row.name, "error": row.trouble}
    properties = state.properties
    return {
        "name": state.name,
        "first": str(state.first_dlsn),
        "ledgers": state.segment_count,
        "ensemble_size": properties.ensemble_size,
        "write_quorum_size": properties.write_quorum_size,
        "ack_quorum_size": properties.ack_quorum_size,
        "digest": properties.digest_type.name,
        "deleting": state.deleting,
    }


def show_rows(found: list[Row], as_json: bool) -> None:
    """Print a table of logs, or one JSON object a line."""
    if as_json:
        for each in found:
            click.echo(json.dumps(as_dictionary(each)))
        return
    if not found:
        click.echo("there is no log", err=True)
        return
    table = Table("log", "first", "ledgers", "E/Qw/Qa", "digest", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for each in found:
        state = each.state
        if state is None:
            table.add_row(each.name, each.trouble, style="red")
            continue
        properties = state.properties
        sizes = properties.ensemble_size, properties.write_quorum_size, properties.ack_quorum_size
        quorum = "/".join(map(str, sizes))
        start = "being deleted" if state.deleting else str(state.first_dlsn)
        table.add_row(state.name, start, f"{state.segment_count:,}", quorum, properties.digest_type.name)
    print_table(table)
