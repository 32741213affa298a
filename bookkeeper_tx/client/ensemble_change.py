"""Changing the ensemble of a ledger: a new fragment after the last add confirmed, by compare and set."""

from collections.abc import Collection, Mapping

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.ensemble import replace_bookies
from bookkeeper_tx.client.writers_metadata import require_open
from bookkeeper_tx.errors import MetadataConflict
from bookkeeper_tx.model import BookieId, Fragment, LedgerMetadata, Versioned


async def change_ensemble(
    context: ClientContext,
    ledger_id: int,
    versioned: Versioned,
    broken: Mapping[int, BookieId],
    first_entry_id: int,
    avoided: Collection[BookieId] = (),
) -> Versioned:
    """Replace the ``broken`` bookies (by index) by others than ``avoided``, from ``first_entry_id`` on.

    The new fragment takes the place of one that starts at the same entry.  If another client has replaced a bookie
    already, its choice stays.  Raises LedgerFenced, LedgerClosed, NotEnoughBookies, or an error of the store.
    """
    while True:
        metadata = versioned.metadata
        require_open(ledger_id, metadata)
        ensemble = metadata.last_fragment.ensemble
        still_there = {index: bookie for index, bookie in broken.items() if ensemble[index] == bookie}
        if not still_there:
            return versioned
        replaced = await replace_bookies(context, ledger_id, ensemble, still_there, avoided)
        changed = metadata.with_fragment(Fragment(first_entry_id, replaced))
        try:
            return await _write(context, ledger_id, changed, versioned.version)
        except MetadataConflict:
            versioned = await context.store.read_ledger(ledger_id)


async def _write(context: ClientContext, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
    written: Versioned = await context.store.write_ledger(ledger_id, metadata, version)
    return written
