"""The metadata that the writer of a ledger stores: when it creates the ledger, and when it closes it."""

from collections.abc import Collection, Mapping
from random import Random

from attrs import evolve

from bookkeeper_tx.errors import LedgerClosed, LedgerFenced
from bookkeeper_tx.model import BookieId, DigestType, Fragment, LedgerMetadata, LedgerState, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.fields import FIRST_ENTRY_ID

UNDER_REPLICATED = "underReplicated"
"""Key of custom metadata: bookies of the ensemble that lack entries, separated by commas.  Absent if there are none."""


def created(
    quorum: Quorum,
    ensemble: tuple[BookieId, ...],
    digest_type: DigestType,
    password: bytes,
    custom_metadata: Mapping[str, bytes],
    now_s: float,
    random: Random,
) -> LedgerMetadata:
    """Return the metadata of a new ledger."""
    return LedgerMetadata(
        ensemble_size=quorum.ensemble_size,
        write_quorum_size=quorum.write_quorum_size,
        ack_quorum_size=quorum.ack_quorum_size,
        fragments=(Fragment(FIRST_ENTRY_ID, ensemble),),
        digest_type=digest_type,
        password=password,
        custom_metadata=dict(custom_metadata),
        ctime_ms=int(now_s * 1000),
        # If the answer to a create is lost, the store recognises its own ledger by this token.
        create_token=random.randint(1, 2**62),
    )


def closed(
    ledger_id: int, metadata: LedgerMetadata, last_entry_id: int, length: int, lacking: Collection[BookieId] = ()
) -> LedgerMetadata | None:
    """Return ``metadata`` with the ledger closed at this entry, None if it is closed there already.

    ``lacking`` are bookies of the ensemble that lack entries.  Raises LedgerFenced and LedgerClosed.
    """
    if metadata.closed and (metadata.last_entry_id, metadata.length) == (last_entry_id, length):
        return None
    require_open(ledger_id, metadata)
    if lacking:
        note = {UNDER_REPLICATED: ",".join(sorted(lacking)).encode()}
        metadata = evolve(metadata, custom_metadata={**metadata.custom_metadata, **note})
    return metadata.with_close(last_entry_id, length)


def require_open(ledger_id: int, metadata: LedgerMetadata) -> None:
    """Raise the error of a writer that finds its ledger taken over or closed."""
    if metadata.state is LedgerState.IN_RECOVERY:
        raise LedgerFenced(
            f"ledger {ledger_name(ledger_id)} is being recovered by another client; entries that were not acknowledged "
            f"may exist or not, only the closed ledger tells"
        )
    if metadata.state is LedgerState.CLOSED:
        raise LedgerClosed(
            f"ledger {ledger_name(ledger_id)} was closed by another client at entry {metadata.last_entry_id}; entries "
            f"that were not acknowledged may exist or not"
        )
