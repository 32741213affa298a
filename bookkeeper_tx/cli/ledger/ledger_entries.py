"""``bktx ledger entries``: the entries of a ledger that its bookies store, and those that they have lost."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import config_for, connected
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger
from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.quorums.quorum import Quorum

RANGES_MAX = 1000
"""Ranges shown of one bookie: the few bytes of its reply may stand for more than fit a screen, or memory."""


@frozen
class Stock:
    """The entries of a ledger that one bookie stores."""

    bookie_id: BookieId
    entries: tuple[range, ...] = ()
    more: bool = False
    """Whether there are more ranges than RANGES_MAX."""
    missing: tuple[range, ...] | None = None
    """The entries that it should have and lacks; None while the ledger is open and its entries not known."""
    trouble: str = ""
    """The error of the bookie, if it did not answer."""


@click.command()
@options.metadata
@options.protocol
@which.ledger
@click.option(
    "--bookie", "bookie_ids", multiple=True, metavar="ID", help="Bookie to ask; default: all of the ledger's."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a bookie.")
def entries(
    metadata_uri: str, protocol: WireProtocol | None, ledger_id: int, bookie_ids: tuple[BookieId, ...], as_json: bool
) -> None:
    """Ask bookies which entries of a ledger they store.

    Of a closed ledger it is also said which entries a bookie lacks that should be there.  The exit code is 1 if any are
    missing, or a bookie does not say.

    \b
    bktx ledger entries 0 --bookie 127.0.0.1:3181
    """

    async def operation(reactor: Any) -> list[Stock]:
        async with connected(reactor, metadata_uri, config_for(protocol, ledger_id)) as client:
            metadata = await client.ledger_metadata(ledger_id)
            asked = bookie_ids or sorted({each for fragment in metadata.fragments for each in fragment.ensemble})
            return [await stock_of(client, ledger_id, metadata, each) for each in asked]

    found = run(operation)
    for stock in found:
        click.echo(json.dumps(_as_dictionary(stock)) if as_json else _as_text(stock))
    if any(stock.trouble or stock.missing for stock in found):
        raise click.exceptions.Exit(1)


async def stock_of(client: BookKeeper, ledger_id: int, metadata: LedgerMetadata, bookie_id: BookieId) -> Stock:
    """Ask one bookie."""
    expected = expected_on(metadata, bookie_id)
    try:
        listed = await client.entries_of(ledger_id, bookie_id)
    except NoSuchLedger:
        return Stock(bookie_id, missing=tuple(_ranges(expected)) if metadata.closed else None)
    except BookKeeperError as error:
        return Stock(bookie_id, trouble=str(error))
    shown = tuple(islice(listed.ranges(), RANGES_MAX + 1))
    missing = tuple(_ranges(listed.missing(expected))) if metadata.closed else None
    return Stock(bookie_id, shown[:RANGES_MAX], len(shown) > RANGES_MAX, missing)


def expected_on(metadata: LedgerMetadata, bookie_id: BookieId) -> Iterator[int]:
    """Iterate over the entries of a closed ledger that a bookie should have, ascending."""
    quorum = Quorum.of(metadata)
    ends = [fragment.first_entry_id for fragment in metadata.fragments[1:]] + [metadata.last_entry_id + 1]
    for fragment, end in zip(metadata.fragments, ends, strict=True):
        if bookie_id in fragment.ensemble:
            index = fragment.ensemble.index(bookie_id)
            yield from (each for each in range(fragment.first_entry_id, end) if index in quorum.write_set(each))


def _ranges(ascending: Iterable[int]) -> Iterator[range]:
    found: range | None = None
    for each in ascending:
        if found is not None and each == found.stop:
            found = range(found.start, each + 1)
            continue
        if found is not None:
            yield found
        found = range(each, each + 1)
    if found is not None:
        yield found


def _as_text(stock: Stock) -> str:
    if stock.trouble:
        return f"{stock.bookie_id}: {stock.trouble}"
    text = f"{stock.bookie_id}: {_shown(stock.entries) or 'nothing'}{' …' if stock.more else ''}"
    return f"{text}; missing: {_shown(stock.missing[:RANGES_MAX])}" if stock.missing else text


def _shown(ranges: Iterable[range]) -> str:
    return " ".join(str(each.start) if len(each) == 1 else f"{each.start}-{each[-1]}" for each in ranges)


def _as_dictionary(stock: Stock) -> dict[str, Any]:
    if stock.trouble:
        return {"bookie_id": stock.bookie_id, "error": stock.trouble}
    missing = None if stock.missing is None else [[each.start, each[-1]] for each in stock.missing]
    listed = [[each.start, each[-1]] for each in stock.entries]
    return {"bookie_id": stock.bookie_id, "entries": listed, "more": stock.more, "missing": missing}
