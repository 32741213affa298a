"""Force: have the bookies make the acknowledged entries of a ledger durable (docs/protocol/force-ledger.md)."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.driver import Driver, Promise
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger


class Force:
    """One force under way: ``deferred`` fires when every bookie has answered, and fails with the first error.

    Every bookie must answer, since the writer does not keep which of them acknowledged which entry.
    """

    def __init__(self, driver: Driver, ledger_id: int, bookies: Iterable[tuple[BookieId, Channel]]) -> None:
        self._ledger_id = ledger_id
        self._bookies = tuple(bookies)
        self._waiting = len(self._bookies)
        self.deferred: Promise[None] = driver.promise()

    def start(self) -> "Promise[None]":
        """Send the requests."""
        for bookie_id, channel in self._bookies:
            channel.send(ForceLedger(self._ledger_id), partial(self._replied, bookie_id))
        return self.deferred

    def _replied(self, bookie_id: BookieId, error: BookKeeperError | None, _: Any) -> None:
        if self.deferred.called:
            return
        self._waiting -= 1
        if error is not None:
            self.deferred.errback(
                type(error)(f"bookie {bookie_id} did not force ledger {ledger_name(self._ledger_id)}: {error}")
            )
        elif not self._waiting:
            self.deferred.callback(None)
