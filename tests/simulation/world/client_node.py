"""A client of the simulation, on a machine of its own."""

from collections.abc import Coroutine
from random import Random
from typing import Any

from attrs import evolve

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.config import ClientConfig
from tests.simulation.world import login
from tests.simulation.world.faces import begin
from tests.simulation.world.login import Refused
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.store_session import StoreSession

CONFIG = ClientConfig(batch_read_capability_expiry_s=10.0, explicit_lac_interval_s=0.0)


LITTLE_MEMORY = {"outstanding_adds_max": 10, "outstanding_bytes_max": 10_000}
"""Of which a writer of the workload needs more: as many appends again may be held back."""


class ClientNode:
    """A process with one client in it, on Twisted or on asyncio.  It logs in if there is ``refused``."""

    def __init__(
        self,
        network: Network,
        server: MetadataServer,
        address: str,
        seed: int,
        on_asyncio: bool = False,
        refused: Refused | None = None,
    ) -> None:
        self.machine = network.machine(address)
        self.random = Random(seed)
        self.config = evolve(
            CONFIG, protocol=self.random.choice(("v2", "v3")), **self.random.choice((LITTLE_MEMORY, {}))
        )
        if refused is not None:
            self.config = evolve(self.config, auth=login.of_client(self.random, refused))
        self.client: Client[Any, Any, Any] | None = None
        self.driver: Any = None
        """What its client needs of its world, and the workload as well."""
        self.kept: Any = None
        """The ledger that it has written in the end, and its reader."""
        self.on_asyncio = on_asyncio
        self._network = network
        self._server = server
        self._past: list[Any] = []
        """What was killed is kept: it would say so when it is collected."""

    @property
    def is_up(self) -> bool:
        return self.machine.reactor is not None

    def start(self) -> None:
        """Start the process, and make its client, which is not started."""
        self.driver, store, face = begin(
            self.machine, self._network, StoreSession(self.machine, self._server), self.on_asyncio
        )
        self.client = face(self.driver, store, self.config, Random(self.random.random()))

    def run(self, task: Coroutine[Any, Any, None], done: Any) -> None:
        """Run a task in the process; ``done(error, None)`` is called at its end."""
        self.driver.when_done(self.driver.spawn(task), done)

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed, whatever the clock of the machine says."""
        woken = self.driver.promise()
        self.machine.post(self.machine.timeline.now + seconds, woken.callback, None)
        await woken

    def end(self, works: list[Any]) -> None:
        """Cancel what the process does."""
        if self.on_asyncio and self.is_up:
            self.machine.reactor.end(works)
        else:
            for each in works:
                each.cancel()

    def kill(self) -> None:
        """End the process."""
        if self.is_up:
            self.machine.kill()
            self._past += [self.client, self.driver]
            self.client = self.driver = None
