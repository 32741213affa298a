"""A client of the simulation, on a machine of its own."""

from random import Random
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.store_session import StoreSession

CONFIG = ClientConfig(batch_read_capability_expiry_s=10.0, explicit_lac_interval_s=0.0)


class ClientNode:
    """A process with one client in it."""

    def __init__(self, network: Network, server: MetadataServer, address: str, seed: int) -> None:
        self.machine = network.machine(address)
        self.random = Random(seed)
        self.config = evolve(CONFIG, protocol=self.random.choice(("v2", "v3")))
        self.client: BookKeeper | None = None
        self._network = network
        self._server = server

    @property
    def is_up(self) -> bool:
        return self.machine.reactor is not None

    def start(self) -> Deferred[Any]:
        """Start the process and its client."""
        reactor = self.machine.begin(self._network)
        session: Any = StoreSession(self.machine, self._server)
        client_random = Random(self.random.random())
        self.client = BookKeeper(session, self.config, reactor, random=client_random)
        return self.client.start()

    def sleep(self, seconds: float) -> Deferred[None]:
        """Fire when so much time has passed, whatever the clock of the machine says."""
        woken: Deferred[None] = Deferred()
        self.machine.post(self.machine.timeline.now + seconds, woken.callback, None)
        return woken

    def kill(self) -> None:
        """End the process."""
        if self.is_up:
            self.machine.kill()
            self.client = None
