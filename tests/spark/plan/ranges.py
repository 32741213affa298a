"""Ranges of ledgers that need no cluster."""

from typing import Any

from attrs import evolve

from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange


def ledger_range(ledger_id: int, first: int, last: int, **more: Any) -> LedgerRange:
    """Return entries of a ledger on one bookie, unless ``more`` says otherwise."""
    made = LedgerRange(
        ledger_id=ledger_id,
        first=first,
        last=last,
        fragments=(Fragment(0, ("bookie:3181",)),),
        ensemble_size=1,
        write_quorum_size=1,
        ack_quorum_size=1,
        digest_type=DigestType.CRC32C,
    )
    return evolve(made, **more)
