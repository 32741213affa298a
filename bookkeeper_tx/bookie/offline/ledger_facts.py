"""What the metadata store says of ledgers that a bookie has on its disk."""

from collections.abc import Collection

from attrs import field, frozen

from bookkeeper_tx.bookie.cluster import require_cluster
from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId


@frozen
class LedgerFacts:
    """Of each ledger that was asked for."""

    keys: dict[int, bytes] = field(factory=dict)
    """The master keys, of ledgers whose metadata has the password."""
    gone: set[int] = field(factory=set)
    """The ledgers that are deleted."""
    last_entry_ids: dict[int, int] = field(factory=dict)
    """The last entry of each ledger that is closed."""


async def ledger_facts(
    store: MetadataStore, bookie_id: BookieId, instance_id: str | None, ledger_ids: Collection[int]
) -> LedgerFacts:
    """Ask the store.  ``bookie_id`` and ``instance_id`` are those in the cookies of the directories.

    Raises AnotherCluster if the store is not that of the bookie's cluster: it knows none of the ledgers, and they would
    count as deleted.
    """
    await require_cluster(store, bookie_id, instance_id)
    facts = LedgerFacts()
    for ledger_id in ledger_ids:
        try:
            found = (await store.read_latest_ledger(ledger_id)).metadata
        except NoSuchLedger:
            facts.gone.add(ledger_id)
            continue
        if found.password is not None:
            facts.keys[ledger_id] = master_key(found.password)
        if found.closed:
            facts.last_entry_ids[ledger_id] = found.last_entry_id
    return facts
