"""Deleting a ledger: its metadata is deleted at once, and bookies collect its entries later."""

from bookkeeper_tx.client.context import ClientContext


async def delete_ledger(context: ClientContext, ledger_id: int) -> None:
    """Delete the ledger.  Raises NoSuchLedger."""
    await context.store.delete_ledger(ledger_id)
