"""Adds whose sync is deferred: acknowledged when bookies have them, confirmed when they were forced.

An entry is durable once its ledger was forced after it was acknowledged; only then the last add confirmed passes it.
The ensemble of such a ledger cannot change, since entries up to the last acknowledged one may lie on the bookie that
has failed and not be durable on the others (docs/protocol/force-ledger.md).
"""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.client.add_entry import Adds, PendingAdd, Slot
from bookkeeper_tx.client.context import Channel, Done
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, IllegalOperation, LedgerFenced, Unauthorized
from bookkeeper_tx.model import BookieId, ledger_name
from protocol_specs import fields


def require_deferred_sync(config: ClientConfig) -> None:
    """Raise IllegalOperation where adds cannot say that their sync may be deferred."""
    if config.protocol is WireProtocol.V2:
        raise IllegalOperation("V2 cannot say that the sync of an add is deferred: use ClientConfig.protocol v3")


class _DeferringChannel:
    """A channel whose adds defer their sync."""

    __slots__ = ("_add_entry", "force_ledger")

    def __init__(self, channel: Channel) -> None:
        self._add_entry = channel.add_entry
        self.force_ledger: Callable[[int, Done], None] = channel.force_ledger

    def add_entry(
        self, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes, done: Done, flags: int = 0
    ) -> None:
        self._add_entry(ledger_id, entry_id, entry, master_key, done, flags, True)


class DeferredSyncAdds(Adds):
    """The entries of one ledger on their way to bookies that acknowledge them before they are durable."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.acknowledged_entry_id = fields.NO_ENTRY
        """The last entry of which it and all before it are acknowledged."""
        self._acknowledged_length = 0

    async def force(self) -> None:
        entry_id, length = self.acknowledged_entry_id, self._acknowledged_length
        await super().force()
        if entry_id > self.last_add_confirmed:
            self.last_add_confirmed, self.length = entry_id, length

    async def settle(self) -> None:
        if self.error is None and self.acknowledged_entry_id > self.last_add_confirmed:
            await self.force()

    def _complete(self) -> None:
        pending = self.pending
        while pending and pending[0].missing <= 0:
            add = pending.popleft()
            self.acknowledged_entry_id, self._acknowledged_length = add.entry_id, add.length
            if add.deferred is not None:
                add.deferred.callback(add.result)
        self._progressed()

    def _failed(self, add: PendingAdd, slot: Slot, error: BookKeeperError) -> None:
        if isinstance(error, (LedgerFenced, Unauthorized, ClientClosed)):
            super()._failed(add, slot, error)
        elif self.error is None:
            self._context.bookies.suspect(slot.bookie_id, error)
            self.fail(
                type(error)(
                    f"bookie {slot.bookie_id} failed to add entry {add.entry_id} of ledger "
                    f"{ledger_name(self._ledger_id)}: {error}; no other bookie can take its place, since the sync is "
                    f"deferred and what it has may not be durable elsewhere: close the ledger and create another"
                )
            )

    def _slot(self, index: int, bookie_id: BookieId) -> Slot:
        slot = super()._slot(index, bookie_id)
        slot.channel = _DeferringChannel(slot.channel)  # type: ignore[assignment]
        return slot
