"""Closing a ledger without a reactor: by compare and set, at the last entry confirmed."""

from collections.abc import Collection

from attrs import evolve

from bookkeeper_tx.errors import LedgerClosed, LedgerFenced, MetadataConflict
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId, LedgerMetadata, LedgerState, Versioned, ledger_name

UNDER_REPLICATED = "underReplicated"
"""Key of custom metadata: bookies of the ensemble that lack entries, separated by commas.  Absent if there are none."""


def close_ledger(
    store: BlockingStore,
    ledger_id: int,
    versioned: Versioned,
    last_entry_id: int,
    length: int,
    lacking: Collection[BookieId] = (),
) -> Versioned:
    """Close the ledger; return its metadata.  ``lacking`` are bookies of the ensemble that lack entries.

    Raises LedgerFenced or LedgerClosed when another client has taken it over, and the errors of the store.
    """
    while True:
        metadata = versioned.metadata
        if metadata.closed and (metadata.last_entry_id, metadata.length) == (last_entry_id, length):
            return versioned
        _require_open(ledger_id, metadata)
        closed = metadata.with_close(last_entry_id, length)
        if lacking:
            note = {UNDER_REPLICATED: ",".join(sorted(lacking)).encode()}
            closed = evolve(closed, custom_metadata={**metadata.custom_metadata, **note})
        try:
            return store.write_ledger(ledger_id, closed, versioned.version)
        except MetadataConflict:
            versioned = store.read_ledger(ledger_id)


def _require_open(ledger_id: int, metadata: LedgerMetadata) -> None:
    if metadata.state is LedgerState.IN_RECOVERY:
        raise LedgerFenced(f"ledger {ledger_name(ledger_id)} is being recovered by another client")
    if metadata.state is LedgerState.CLOSED:
        raise LedgerClosed(
            f"ledger {ledger_name(ledger_id)} was closed by another client at entry {metadata.last_entry_id}"
        )
