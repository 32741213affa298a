"""A cluster of bookies and a metadata store in memory; a test can hold, reorder or lose every message."""

from collections.abc import Sequence
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import LedgerMetadata
from tests.client.puppet_bookie import PuppetBookie, PuppetChannels
from tests.client.puppet_network import Network
from tests.client.puppet_store import PuppetStore, StoredState


class Cluster:
    """Bookies, a store, and clients of them."""

    def __init__(self, bookies: Sequence[str] = ("b1", "b2", "b3", "b4", "b5"), seed: int = 1) -> None:
        self.network = Network()
        self.store_network = self.network
        """Carries the messages of the store of each new client."""
        self.bookies = {bookie_id: PuppetBookie(bookie_id) for bookie_id in bookies}
        self.state = StoredState()
        self.clock = Clock()
        self._seed = seed

    def client(self, config: ClientConfig | None = None) -> BookKeeper:
        """Return a started client."""
        client = BookKeeper(
            PuppetStore(self.store_network, self.state, self.bookies),
            config,
            self.clock,
            channels=PuppetChannels(self.network, self.bookies),
            random=Random(self._seed),
        )
        self.result(client.start())
        return client

    def result(self, deferred: Deferred[Any]) -> Any:
        """Deliver messages until ``deferred`` has fired; return its result or raise its error."""
        outcome: list[Any] = []
        deferred.addCallbacks(outcome.append, lambda failure: outcome.append(failure))
        self.network.run(until=lambda: bool(outcome))
        while not outcome and any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
            self.clock.advance(0)
            self.network.run(until=lambda: bool(outcome))
        assert outcome, "the Deferred has not fired though nothing is on its way"
        if hasattr(outcome[0], "raiseException"):
            outcome[0].raiseException()
        return outcome[0]

    def bookies_changed(self) -> None:
        """Tell the clients that the set of bookies is another one."""
        for changed in list(self.state.bookie_watchers):
            changed()
        self.network.run()

    def metadata(self, ledger_id: int) -> LedgerMetadata:
        return self.state.ledgers[ledger_id].metadata

    def holders(self, ledger_id: int, entry_id: int) -> set[str]:
        """Return the ids of the bookies that store the entry."""
        return {
            bookie_id
            for bookie_id, bookie in self.bookies.items()
            if ledger_id in bookie.ledgers and entry_id in bookie.ledgers[ledger_id].entries
        }
