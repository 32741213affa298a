"""What ``bktx bookie rebuild-index`` and ``regenerate-index`` have in common."""

import json
from collections.abc import Collection
from contextlib import closing
from typing import Any

import click

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import cookies, log_ids
from bookkeeper_tx.bookie.offline.index_rebuild import IndexRebuild, Rebuilt
from bookkeeper_tx.bookie.offline.ledger_facts import LedgerFacts, ledger_facts
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.cli.connect import open_store
from bookkeeper_tx.cli.progress import progress
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import ledger_name
from protocol_specs.ledger_id import split


def rebuild(
    places: Places,
    wanted: Collection[int] | None,
    dry_run: bool,
    metadata_uri: str | None,
    password: bytes | None,
    as_json: bool,
    renumbering: bool = False,
) -> None:
    """Make the indexes of ``wanted`` ledgers, None for all, and show what was done.  Exits with 1 if not all is well.

    ``password`` is that of ledgers whose key is not known otherwise; ``renumbering``: logs get other ids before.
    """
    disk = Disk()
    with places.held(disk, writing=not dry_run):
        places.require_index_files(disk)
        if renumbering:
            log_ids.make_unique(disk, places)
        with closing(IndexRebuild(disk, places, wanted, dry_run)) as work:
            with progress(lambda: f"{work.logs:,} logs, {work.entries:,} entries") as advance:
                work.scan(_show_problem, advance)
            facts = _facts(disk, places, work, metadata_uri, password)
            keys, gone = facts.keys, facts.gone
            work.settle(facts.last_entry_ids, _show_problem)
            done = 0
            with progress(lambda: f"{done:,} of {len(work.found):,} ledgers") as advance:
                for each in work.finish(keys, advance):
                    done += 1
                    if as_json or wanted is not None:
                        click.echo(json.dumps(_values(each)) if as_json else _text(each))
            left = [each for each in work.without_key() if each not in keys]
            for ledger_id in left:
                _show_left(ledger_id, work.found[ledger_id].entries, gone, metadata_uri)
    missing = [] if wanted is None else [each for each in wanted if each not in work.found]
    for ledger_id in missing:
        click.echo(f"problem: ledger {ledger_name(ledger_id)} has no index and no entry here", err=True)
    verb = "would be made anew" if dry_run else "were made anew"
    click.echo(f"the indexes of {done:,} ledgers {verb}, from {work.entries:,} entries in {work.logs:,} logs", err=True)
    if work.problems or missing or any(each not in gone for each in left):
        raise click.exceptions.Exit(1)


def _show_problem(text: str) -> None:
    click.echo(f"problem: {text}", err=True)


def _facts(
    disk: Disk, places: Places, work: IndexRebuild, metadata_uri: str | None, password: bytes | None
) -> LedgerFacts:
    """Return what is to be known of ledgers beside the files: from ``password``, and from the metadata store."""
    without_key, in_doubt = work.without_key(), work.in_doubt()
    facts = LedgerFacts()
    asked = {*in_doubt, *(without_key if password is None else ())}
    if metadata_uri is not None and asked:
        facts = _ask(disk, places, metadata_uri, sorted(asked))
    if password is None:
        return facts
    return LedgerFacts(dict.fromkeys(without_key, master_key(password)), set(), facts.last_entry_ids)


def _ask(disk: Disk, places: Places, metadata_uri: str, ledger_ids: list[int]) -> LedgerFacts:
    try:
        bookie_id, instance_id = cookies.owner_of(cookies.cookie_files(disk, places))
    except InvalidArgument as error:
        raise InvalidArgument(
            f"{error}, so nothing says of which cluster the files are: bring the cookie back "
            '("bktx bookie cookie show" prints the one in the store)'
        ) from None

    async def operation(reactor: Any) -> LedgerFacts:
        async with open_store(reactor, metadata_uri) as store:
            return await ledger_facts(store, bookie_id, instance_id, ledger_ids)

    return run(operation)


def _show_left(ledger_id: int, entries: int, gone: Collection[int], metadata_uri: str | None) -> None:
    name = f"ledger {ledger_name(ledger_id)}"
    if ledger_id in gone:
        click.echo(f"{name}: left out, for it is deleted; {entries:,} entries are garbage", err=True)
        return
    why = "give --metadata URI" if metadata_uri is None else "its metadata has no password"
    click.echo(f"problem: {name}: its {entries:,} entries have no index, for its key is not known: {why}", err=True)


def _values(each: Rebuilt) -> dict[str, object]:
    scope_id, ledger_id = split(each.ledger_id)
    return {
        "scope_id": scope_id,
        "ledger_id": ledger_id,
        "entries_found": each.entries,
        "entries_kept": each.kept,
        "fenced": each.fenced,
    }


def _text(each: Rebuilt) -> str:
    kept = f", {each.kept:,} that the old index alone knew" if each.kept else ""
    fenced = ", fenced" if each.fenced else ""
    return f"ledger {ledger_name(each.ledger_id)}: {each.entries:,} entries in the logs{kept}{fenced}"
