"""The metadata of a ledger as Java's HTTP API gives it."""

import base64
from typing import Any

from bookkeeper_tx.model import LedgerId, LedgerMetadata

NO_TIME = -1
"""The creation time of a ledger whose metadata does not tell it."""


def metadata_json(ledger_id: LedgerId, metadata: LedgerMetadata) -> dict[str, Any]:
    """Return the metadata as JSON; outside scope 0 there is ``ledgerScopeId`` besides, which Java has not."""
    scope = {"ledgerScopeId": ledger_id.scope_id} if ledger_id.scope_id else {}
    return {
        "ledgerId": ledger_id.ledger_id,
        **scope,
        "metadataFormatVersion": metadata.format_version,
        "ensembleSize": metadata.ensemble_size,
        "writeQuorumSize": metadata.write_quorum_size,
        "ackQuorumSize": metadata.ack_quorum_size,
        "state": metadata.state.name,
        "length": metadata.length,
        "lastEntryId": metadata.last_entry_id,
        "ctime": NO_TIME if metadata.ctime_ms is None else metadata.ctime_ms,
        "digestType": None if metadata.digest_type is None else metadata.digest_type.name,
        "password": _base64(metadata.password or b""),
        "customMetadata": {key: _base64(value) for key, value in metadata.custom_metadata.items()},
        "closed": metadata.closed,
        "allEnsembles": {
            str(fragment.first_entry_id): [{"id": bookie_id} for bookie_id in fragment.ensemble]
            for fragment in metadata.fragments
        },
        "ctoken": metadata.create_token or 0,
    }


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
