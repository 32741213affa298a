"""Creating a ledger without a reactor, on bookies that could be connected to."""

import time
from collections.abc import Mapping
from random import Random

from bookkeeper_tx.errors import LedgerExists
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId, DigestType, Fragment, LedgerMetadata, Versioned
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.fields import FIRST_ENTRY_ID


def create_ledger(
    store: BlockingStore,
    quorum: Quorum,
    ensemble: tuple[BookieId, ...],
    digest_type: DigestType,
    password: bytes,
    custom_metadata: Mapping[str, bytes],
    random: Random,
) -> tuple[int, Versioned]:
    """Take an id of scope 0 and store the metadata of an open ledger; return both."""
    metadata = LedgerMetadata(
        ensemble_size=quorum.ensemble_size,
        write_quorum_size=quorum.write_quorum_size,
        ack_quorum_size=quorum.ack_quorum_size,
        fragments=(Fragment(FIRST_ENTRY_ID, ensemble),),
        digest_type=digest_type,
        password=password,
        custom_metadata=dict(custom_metadata),
        ctime_ms=int(time.time() * 1000),
        # With this a store whose create lost its answer recognizes its own ledger.
        create_token=random.randint(1, 2**62),
    )
    while True:
        ledger_id = store.new_ledger_id()
        try:
            return ledger_id, store.create_ledger(ledger_id, metadata)
        except LedgerExists:
            continue
