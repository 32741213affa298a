"""One of three replicas hangs: a read takes half again what is usual at most, and the time until another is asked."""

from math import ceil
from random import Random
from typing import Any

import pytest

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.transport.pace import SHORTEST_S
from tests.simulation.world.bookie_node import BookieNode
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.timeline import Timeline

ENTRIES = 60
READS = 300
PAUSE_S = 3600.0
TURNS_S = 0.001
"""For the turns of the reactor in which a read is found to be slow, and sent to another replica."""


class _World:
    """Three bookies, a client, and nothing that fails by itself."""

    def __init__(self, on_asyncio: bool, latency_s: float) -> None:
        self.timeline = Timeline()
        self.network = Network(self.timeline, Random(1))
        self.network.latency_s = latency_s
        self.server = MetadataServer(Random(2))
        self.bookies = [BookieNode(self.network, self.server, f"10.0.0.{number}", number) for number in (1, 2, 3)]
        self.client = ClientNode(self.network, self.server, "10.0.1.1", 4, on_asyncio)
        for bookie in self.bookies:
            bookie.start()
        self.timeline.run(3.0)
        self.client.start()

    def run(self, task: Any) -> None:
        ended: list[Any] = []
        self.client.machine.post(self.timeline.now, lambda: self.client.run(task, lambda error, _: ended.append(error)))
        self.timeline.run(self.timeline.now + PAUSE_S / 2, lambda: bool(ended))
        assert ended == [None]

    async def read(self, reader: Any, durations_s: list[float]) -> None:
        for entry_id in range(READS):
            started_s = self.timeline.now
            await reader.read(entry_id % ENTRIES, entry_id % ENTRIES)
            durations_s.append(self.timeline.now - started_s)

    async def read_before_and_while_one_hangs(
        self, client: Client[Any, Any, Any], hung: int, usual_s: list[float], hanging_s: list[float]
    ) -> None:
        await client.start()
        writer = await client.create_ledger(3, 3, 2)
        for entry_id in range(ENTRIES):
            await writer.append(b"%d" % entry_id)
        await writer.close()
        reader = await client.open_ledger(writer.ledger_id)
        await self.read(reader, usual_s)
        await self.read(reader, usual_s)
        self.bookies[hung].machine.pause(PAUSE_S)
        await self.read(reader, hanging_s)


def p99(durations_s: list[float]) -> float:
    return sorted(durations_s)[ceil(0.99 * len(durations_s)) - 1]


@pytest.mark.parametrize("hung", range(3))
@pytest.mark.parametrize("latency_s", [0.0002, 0.03])
@pytest.mark.parametrize("on_asyncio", [False, True], ids=["twisted", "asyncio"])
def test_no_read_waits_longer_than_until_another_replica_is_asked(
    on_asyncio: bool, latency_s: float, hung: int
) -> None:
    world = _World(on_asyncio, latency_s)
    usual_s: list[float] = []
    hanging_s: list[float] = []
    assert world.client.client is not None
    world.run(world.read_before_and_while_one_hangs(world.client.client, hung, usual_s, hanging_s))
    usual_p99_s = p99(usual_s[READS:])
    speculation_s = max(SHORTEST_S, p99(usual_s))
    assert max(hanging_s) > usual_p99_s, "no read was sent to the bookie that hangs"
    assert max(hanging_s) <= 1.5 * usual_p99_s + speculation_s + TURNS_S
    assert sum(each > usual_p99_s for each in hanging_s) < READS / 10, "slow reads go on"
