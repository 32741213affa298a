"""Changing what the creator of a ledger wanted to be kept with it, in whatever state the ledger is."""

from collections.abc import Mapping

from attrs import evolve

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.create_ledger import require_custom_metadata
from bookkeeper_tx.errors import MetadataConflict
from bookkeeper_tx.model import LedgerMetadata, Versioned


async def update_custom_metadata(
    context: ClientContext, ledger_id: int, changes: Mapping[str, bytes | None]
) -> LedgerMetadata:
    """Set each key to its value, or remove it for None, by compare and set; return the ledger's metadata.

    Keys that are not named stay, also those that others change meanwhile.
    """
    require_custom_metadata({key: b"" if value is None else value for key, value in changes.items()})
    kept = {key: value for key, value in changes.items() if value is not None}
    while True:
        versioned: Versioned = await context.store.read_ledger(ledger_id)
        metadata = versioned.metadata
        others = {key: value for key, value in metadata.custom_metadata.items() if key not in changes}
        changed = evolve(metadata, custom_metadata={**others, **kept})
        if changed == metadata:
            return metadata
        try:
            versioned = await context.store.write_ledger(ledger_id, changed, versioned.version)
        except MetadataConflict:
            continue
        return versioned.metadata
