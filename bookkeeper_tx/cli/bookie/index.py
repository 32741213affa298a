"""``bktx bookie index``: what the index of a ledger says, in an index file or in databases."""

import json
from contextlib import closing
from typing import Any

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.stored_entries import locations_of
from bookkeeper_tx.bookie.offline.stored_ledgers import stored_ledgers
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.cli.bookie import places as where
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.progress import progress
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.entry import version
from protocol_specs.fields import NO_ENTRY


@click.command(short_help="What the index of a ledger says.")
@where.places
@which.ledger
@click.option("--locations", is_flag=True, help="Show where each entry lies: entry log, and offset of its length word.")
@click.option("--master-key", "with_key", is_flag=True, help="Show the master key: who has it may add and fence.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for the header, and one a location.")
def index(places: Places, ledger_id: int, locations: bool, with_key: bool, as_json: bool) -> None:
    """Show the index of a ledger: whether it is fenced, or in limbo, its explicit last add confirmed, its entries.

    Its index is a file, or in the databases of DbLedgerStorage, of which "path" is that with the ledgers.  Entry logs
    are not read: see "bktx bookie ledger".  Nothing is written.

    \b
    bktx bookie index --data /var/lib/bk/1 7 --locations
    """
    disk = Disk()
    with places.held(disk), closing(stored_ledgers(disk, places)) as stored:
        indexes = stored.find(ledger_id)
        header = None if indexes is None else indexes.read_header(ledger_id)
        if indexes is None or header is None:
            raise NoSuchLedger(f"there is no index of ledger {ledger_name(ledger_id)} on this bookie")
        values = _values(indexes, ledger_id, header, with_key)
        click.echo(json.dumps(values) if as_json else _text(values))
        if locations:
            _show_locations(indexes, ledger_id, as_json)


def _values(indexes: Indexes, ledger_id: int, header: IndexHeader, with_key: bool) -> dict[str, Any]:
    count, last_entry_id = _entries(indexes, ledger_id)
    confirmed = version.explicit_lac_of(header.explicit_lac)[1] if header.explicit_lac else None
    key = {"master_key": header.master_key.hex()} if with_key else {}
    return {
        "path": indexes.path(ledger_id),
        "fenced": header.fenced,
        "in_limbo": header.limbo,
        "explicit_last_add_confirmed": confirmed,
        "entries": count,
        "last_entry_id": last_entry_id,
        **key,
    }


def _entries(indexes: Indexes, ledger_id: int) -> tuple[int, int]:
    """Return how many entries have a location, and the last of them."""
    count, last_entry_id = 0, NO_ENTRY
    with progress(lambda: f"{count:,} entries counted") as advance:
        for first_id, page in locations_of(indexes, ledger_id):
            filled = [slot for slot, each in enumerate(page) if each != NO_LOCATION]
            if filled:
                count += len(filled)
                last_entry_id = first_id + filled[-1]
            advance()
    return count, last_entry_id


def _text(values: dict[str, Any]) -> str:
    shown = values | {name: "yes" if values[name] else "no" for name in ("fenced", "in_limbo")}
    if shown["explicit_last_add_confirmed"] is None:
        shown["explicit_last_add_confirmed"] = "none"
    if not shown["entries"]:
        shown["last_entry_id"] = "none"
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in shown.items())


def _show_locations(indexes: Indexes, ledger_id: int, as_json: bool) -> None:
    for first_id, page in locations_of(indexes, ledger_id):
        lines = [_line(first_id + slot, each, as_json) for slot, each in enumerate(page) if each != NO_LOCATION]
        if lines:
            click.echo("\n".join(lines))


def _line(entry_id: int, location: int, as_json: bool) -> str:
    log_id, offset = split_location(location)
    if as_json:
        return json.dumps({"entry_id": entry_id, "log_id": log_id, "offset": offset})
    return f"entry {entry_id}: log {log_id:x}, offset {offset}"
