"""Adds whose sync is deferred: acknowledged when bookies have them, confirmed when they were forced.

An entry is durable once its ledger was forced after the entry was acknowledged; only then the last add confirmed passes
it.  Acknowledgement and force must come from the same bookie process: one that was killed in between may have lost
entries that it acknowledged, and does not know of them when it forces.  So they must come over the same connection.

The ensemble of such a ledger cannot change: acknowledged entries may lie on the bookie that has failed and not be
durable on the others (docs/protocol/force-ledger.md).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.channel import Channel, Done
from bookkeeper_tx.client.pending_add import Pending
from bookkeeper_tx.client.write_ensemble import Slot
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    ClientClosed,
    IllegalOperation,
    LedgerFenced,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.request import Request
from protocol_specs import fields


def require_deferred_sync(config: ClientConfig) -> None:
    """Raise IllegalOperation for protocol V2, whose adds cannot say that their sync may be deferred."""
    if config.protocol is WireProtocol.V2:
        raise IllegalOperation("V2 cannot say that the sync of an add is deferred: use ClientConfig.protocol v3")


class _DeferringChannel:
    """A channel whose adds defer their sync."""

    __slots__ = ("_acknowledged", "_channel", "_interruptions")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._acknowledged = 0
        """The number of adds that the bookie has acknowledged."""
        self._interruptions: int | None = None
        """The channel's interruptions when the first add was sent that is acknowledged and not yet forced; None without
        one.  At the acknowledgement it would be too late: one that came with bytes that break the protocol is delivered
        after the loss of the connection was counted."""

    @property
    def interrupted(self) -> bool:
        """Whether a connection was lost between an acknowledgement and the force that was to follow."""
        return self._interruptions is not None and self._channel.interruptions != self._interruptions

    def add_entry(
        self, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes, done: Done, flags: int = 0
    ) -> None:
        added = partial(self._added, done, self._channel.interruptions)
        self._channel.add_entry(ledger_id, entry_id, entry, master_key, added, flags, True)

    def send(self, request: Request, done: Done) -> Callable[[], None]:
        if isinstance(request, ForceLedger):
            done = partial(self._forced, done, self._acknowledged)
        return self._channel.send(request, done)

    def _added(self, done: Done, interruptions: int, error: BookKeeperError | None, value: Any) -> None:
        if error is None:
            self._acknowledged += 1
            if self._interruptions is None:
                self._interruptions = interruptions
        done(error, value)

    def _forced(self, done: Done, acknowledged: int, error: BookKeeperError | None, value: Any) -> None:
        if error is None:
            if self.interrupted:
                error = BookieUnavailable(
                    "the connection was lost after adds that were not forced yet, and the bookie may have lost them: "
                    "close the ledger and create another"
                )
            elif acknowledged == self._acknowledged:
                self._interruptions = None
        done(error, value)


class DeferredSyncAdds(Adds):
    """The entries of one ledger on their way to bookies that acknowledge them before they are durable."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.acknowledged_entry_id = fields.NO_ENTRY
        """The last entry that is acknowledged together with all entries before it."""
        self._acknowledged_length = 0

    @property
    def acknowledged(self) -> tuple[int, int]:
        return self.acknowledged_entry_id, self._acknowledged_length

    async def force(self) -> None:
        entry_id, length = self.acknowledged
        try:
            await super().force()
        except BookKeeperError as error:
            channels: list[Any] = [slot.channel for slot in self._slots]
            if any(channel.interrupted for channel in channels):
                self.fail(error)
            raise
        if self.error is not None:
            # The writer has failed meanwhile, and the ledger may be closed already, without these entries.
            raise self.error
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

    def _failed(self, add: Pending, slot: Slot, error: BookKeeperError) -> None:
        if isinstance(error, (LedgerFenced, Unauthorized, ClientClosed)):
            super()._failed(add, slot, error)
        elif self.error is None:
            self._context.bookies.quarantine_after_add(slot.bookie_id, error)
            self.fail(
                type(error)(
                    f"bookie {slot.bookie_id} failed to add entry {add.entry_id} of ledger "
                    f"{ledger_name(self._ledger_id)}: {error}; no other bookie can take its place, since the sync is "
                    f"deferred and its entries may not be durable elsewhere: close the ledger and create another"
                )
            )

    def _slot(self, index: int, bookie_id: BookieId) -> Slot:
        slot = super()._slot(index, bookie_id)
        slot.channel = _DeferringChannel(slot.channel)  # type: ignore[assignment]
        return slot
