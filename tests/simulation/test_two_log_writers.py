"""Two services that write one log, in a world whose bookies, network and processes are simulated."""

from random import Random
from typing import Any

import pytest

from bookkeeper_tx.errors import BookKeeperError, LogExists
from bookkeeper_tx.replicated_log import LogRecord, LogWriter, Namespace
from tests.replicated_log.one_order import Acknowledged, check
from tests.sampling import only
from tests.simulation.world.bookie_node import BookieNode
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.timeline import Timeline

LOG = "orders"

START_S = 3.0
"""In which the bookies start."""

PATIENCE_S = 120.0
"""In which whoever is left opens the log and reads it."""


STEPS_OF_TWO_SERVICES = 2000
"""Both have ended after so many, or nearly."""


class Service:
    """A process that opens the log, writes some records, and opens it again."""

    def __init__(self, world: "World", number: int) -> None:
        self.node = ClientNode(world.network, world.server, f"10.0.1.{number}", number, on_asyncio=number == 2)
        self.sent: list[list[bytes]] = []
        """The payloads that each of its writers was given, in order."""
        self.errors: list[Exception] = []
        self._world = world
        self._random = Random(number)
        self._under_way = 0

    def begin(self, openings: int, number: int = 0) -> None:
        """Start the process, to open the log so often."""
        self.node.start()
        machine = self.node.machine
        machine.post(machine.timeline.now, lambda: self.node.run(self._serve(openings), self._ended))

    def _ended(self, error: Exception | None, _: object) -> None:
        if error is not None:
            self.errors.append(error)

    async def _serve(self, openings: int) -> None:
        client = self.node.client
        assert client is not None
        await client.start()
        for _ in range(openings):
            try:
                writer: LogWriter = await Namespace(client).open_log_writer(LOG, roll_size_bytes=40)
            except BookKeeperError:
                await self.node.sleep(0.1)
                continue
            self.sent.append([])
            self._under_way = 0
            for _ in range(self._random.randint(3, 8)):
                for _ in range(self._random.randint(1, 4)):
                    self._write(writer)
                await self.node.sleep(self._random.uniform(0, 0.01))
            while self._under_way:
                await self.node.sleep(0.005)
            if self._random.random() < 0.5:
                try:
                    await writer.close()
                except BookKeeperError:
                    continue

    def _write(self, writer: LogWriter) -> None:
        payload = b"%s %d %d" % (self.node.machine.address.encode(), len(self.sent), len(self.sent[-1]))
        self.sent[-1].append(payload)
        self._world.acknowledged.begin(payload)
        self._under_way += 1

        def done(error: Exception | None, position: Any) -> None:
            self._under_way -= 1
            if error is None:
                self._world.acknowledged.end(payload, position)
            elif not isinstance(error, BookKeeperError):
                self.errors.append(error)

        self.node.driver.when_done(writer.write(payload), done)


class World:
    """Three bookies, a metadata store, and two services."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.timeline = Timeline()
        self.network = Network(self.timeline, Random(random.getrandbits(64)))
        self.server = MetadataServer(Random(random.getrandbits(64)))
        self.acknowledged = Acknowledged()
        self.bookies = [
            BookieNode(self.network, self.server, f"10.0.0.{number}", random.getrandbits(32)) for number in (1, 2, 3)
        ]
        self.services = [Service(self, number) for number in (1, 2)]
        for bookie in self.bookies:
            bookie.start()
        self.timeline.run(START_S)
        self._do(self._create)

    def read_after_fencing(self) -> list[LogRecord]:
        """Let a third process take the log, and read it."""
        found: list[LogRecord] = self._do(self._read)
        return found

    def check(self) -> list[LogRecord]:
        """Look whether the log is right; return its records."""
        records = self.read_after_fencing()
        sent = [each for service in self.services for each in service.sent]
        check(records, self.acknowledged, sent)
        for service in self.services:
            assert service.errors == []
        return records

    @staticmethod
    async def _create(logs: Namespace) -> None:
        try:
            await logs.create_log(LOG, 3, 3, 2)
        except LogExists:
            pass  # an answer was lost

    @staticmethod
    async def _read(logs: Namespace) -> list[LogRecord]:
        await (await logs.open_log_writer(LOG)).close()
        return [record async for record in logs.read(LOG)]

    def _do(self, work: Any) -> Any:
        """Do some work in a process of its own."""
        node = ClientNode(self.network, self.server, f"10.0.2.{len(self.network.machines)}", 1)
        node.start()
        ended: list[tuple[Exception | None, Any]] = []

        async def run() -> None:
            assert node.client is not None
            await node.client.start()
            ended.append((None, await work(Namespace(node.client))))

        def failed(error: Exception | None, _: object) -> None:
            if error is not None:
                ended.append((error, None))

        node.machine.post(self.timeline.now, lambda: node.run(run(), failed))
        self.timeline.run(self.timeline.now + PATIENCE_S, lambda: bool(ended))
        assert ended, "this does not end"
        ((error, result),) = ended
        if error is not None:
            raise error
        node.kill()
        return result


@pytest.mark.parametrize("seed", range(10))
def test_two_writers_that_go_on_make_one_order(seed: int) -> None:
    world = World(seed)
    for service in world.services:
        service.begin(openings=6)
    random = Random(seed)
    for _ in range(12):
        world.timeline.run(world.timeline.now + random.uniform(0.01, 0.2))
        service = random.choice(world.services)
        drawn = random.random()
        if drawn < 0.3:
            random.choice(world.bookies).machine.pause(random.uniform(0.01, 0.2))
        elif drawn < 0.7:
            service.node.machine.pause(random.uniform(0.01, 0.5))
        else:
            service.node.kill()
            service.begin(openings=4)
    world.timeline.run(world.timeline.now + 30)
    records = world.check()
    assert len(records) >= len(world.acknowledged.positions) > 0
    assert len({each.dlsn.log_segment_sequence_no for each in records}) > 1


def steps_of_one_service(seed: int) -> int:
    """Return after how many steps a service has ended that nobody kills."""
    world = World(seed)
    before = world.timeline.steps
    world.services[0].begin(openings=2)
    world.timeline.run(world.timeline.now + 2.0)
    return world.timeline.steps - before


@pytest.mark.parametrize("stride", only(20, [20, 1]))
@pytest.mark.parametrize("seed", range(4))
def test_kills_lose_nothing_that_was_acknowledged(seed: int, stride: int) -> None:
    """A service is killed after some step, or each, of all that it does while it opens the log, writes and rolls it."""
    steps = steps_of_one_service(seed)
    found = set()
    for step in range(seed * 5, steps, stride):
        world = World(seed)
        end = world.timeline.steps + step
        world.services[0].begin(openings=2)
        world.timeline.run(world.timeline.now + 2.0, lambda world=world, end=end: world.timeline.steps >= end)
        world.services[0].node.kill()
        world.services[1].begin(openings=1)
        world.timeline.run(world.timeline.now + 5.0)
        found.add(len(world.check()))
    assert len(found) > 5


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # of a killed process
@pytest.mark.parametrize("stride", only(100, [100, 20]))
@pytest.mark.parametrize("victim", [0, 1])
def test_kills_amid_two_writers_lose_nothing_that_was_acknowledged(victim: int, stride: int) -> None:
    """Both services write the log, one of them takes it from the other, and one is killed after some step of both."""
    found = set()
    for step in range(victim, STEPS_OF_TWO_SERVICES, stride):
        world = World(step)
        for service in world.services:
            service.begin(openings=2)
        end = world.timeline.steps + step
        world.timeline.run(world.timeline.now + 2.0, lambda world=world, end=end: world.timeline.steps >= end)
        world.services[victim].node.kill()
        world.timeline.run(world.timeline.now + 5.0)
        found.add(len(world.check()))
    assert len(found) > 5
