"""What the clients of the simulation run on (``tests/simulation/world``), of real parts: a reactor, sockets, time."""

import time
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from attrs import field, frozen
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from tests.simulation.world.history import History

LOOK_S = 0.1


class RealTime:
    """The timeline: seconds on the monotonic clock."""

    @property
    def now(self) -> float:
        return time.monotonic()


@frozen
class RealMachine:
    """This machine."""

    address: str
    """The name of the node in what is said of it."""
    reactor: Any = reactor
    timeline: RealTime = field(factory=RealTime)
    paused_s: float = 0.0

    def post(self, when_s: float, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function at a time."""
        reactor.callLater(max(0.0, when_s - self.timeline.now), function, *arguments)


class RealNode:
    """A client on the session's reactor; for its thread only."""

    def __init__(self, name: str, metadata_uri: str, random: Random) -> None:
        self.machine = RealMachine(name)
        self.client: BookKeeper | None = None
        self.driver = TwistedDriver(reactor)
        self.on_asyncio = False
        self._uri = metadata_uri
        # Several requests may time out while a fault lasts.
        self.config = ClientConfig(
            protocol=random.choice(("v2", "v3")), add_timeout_s=1.0, read_timeout_s=1.0, connect_timeout_s=2.0
        )

    @property
    def is_up(self) -> bool:
        return self.client is not None

    def start(self) -> None:
        """Make the client, which is not started."""
        self.client = BookKeeper(self._uri, self.config, reactor)

    def run(self, task: Coroutine[Any, Any, None], done: Any) -> None:
        """Run a task; ``done(error, None)`` is called at its end."""
        self.driver.when_done(self.driver.spawn(task), done)

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed."""
        woken: Deferred[None] = Deferred()
        reactor.callLater(seconds, woken.callback, None)
        await woken

    async def stop(self) -> None:
        """Close the client."""
        if self.client is not None:
            await self.client.close()


class MetadataObserver:
    """Tells a history of the metadata of all ledgers, whenever it has looked at the store."""

    def __init__(self, node: RealNode, history: History) -> None:
        self._node = node
        self._history = history
        self._told: dict[int, int] = {}
        """By ledger id, what was told of each before the last look."""
        self._stopped = False
        self._ended: Deferred[None] = Deferred()

    def start(self) -> None:
        """Look again and again."""
        self._ended = Deferred.fromCoroutine(self._run())

    async def stop(self) -> None:
        """Look once more; nothing that has happened before is missed.  Raises what has gone wrong."""
        self._stopped = True
        await self._ended
        await self.look()

    async def _run(self) -> None:
        self._node.start()
        assert self._node.client is not None
        await self._node.client.start()
        while not self._stopped:
            await self.look()
            await self._node.sleep(LOOK_S)

    async def look(self) -> None:
        """Hear of what is new; one look at a time, for an older one may end after a newer one.

        A change that is seen now was made after the look before.
        """
        client = self._node.client
        assert client is not None
        before, self._told = self._told, {each.ledger_id: each.told for each in self._history.ledgers.values()}
        for ledger_id in sorted({*await client.list_ledgers(), *self._history.ledgers}):
            try:
                metadata = await client.ledger_metadata(ledger_id)
            except NoSuchLedger:
                metadata = None
            self._history.written(ledger_id, metadata, before.get(ledger_id, -1))
