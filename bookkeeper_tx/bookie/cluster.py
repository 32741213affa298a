"""Whether a metadata store is that of the bookie's cluster: another, or an emptied one, knows none of its ledgers."""

from bookkeeper_tx.errors import MetadataError
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId


class AnotherCluster(MetadataError):
    """The metadata store is not the one in which this bookie has registered: nothing there tells what is garbage."""


async def require_cluster(store: MetadataStore, bookie_id: BookieId, instance_id: str | None) -> None:
    """Raise AnotherCluster unless ``store`` has the cluster's ``instance_id``, and a cookie of the bookie."""
    found = await store.instance_id()
    if found != instance_id:
        raise AnotherCluster(
            f"the metadata store is of another cluster than bookie {bookie_id}: its instance id is {found or 'none'}, "
            f"the bookie's {instance_id or 'none'}: no ledger is deleted, or left out, for what it says"
        )
    if await store.read_cookie(bookie_id) is None:
        raise AnotherCluster(
            f"the metadata store has no cookie of {bookie_id}, so it is of another cluster, or has lost what it had: "
            "no ledger is deleted, or left out, for what it says"
        )
