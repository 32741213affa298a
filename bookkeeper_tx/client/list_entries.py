"""The list of the entries of a ledger that one bookie stores (docs/protocol/list-entries.md)."""

from bookkeeper_tx.client.ask import ask
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.ledger_ids import require_scope_on_the_wire
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from protocol_specs.ledger_id import split


def list_entries(context: ClientContext, ledger_id: int, bookie_id: BookieId) -> "Promise[EntryList]":
    """Ask the bookie.  Fails with NoSuchLedger when it has no entry of the ledger, or with the error of the bookie.

    Raises IllegalOperation for a scoped ledger in a client of V2.
    """
    require_scope_on_the_wire(context, split(ledger_id)[0])
    what = f"entries of ledger {ledger_name(ledger_id)} on bookie {bookie_id}"
    return ask(context.driver, context.channel(bookie_id, ledger_id), ListEntries(ledger_id), what)
