"""The event loop of the simulated world has turns as asyncio's own, in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from random import Random
from typing import Any

import pytest
from twisted.internet.protocol import Factory, Protocol

from tests.simulation.world.event_loop import EventLoop
from tests.simulation.world.network import Network
from tests.simulation.world.timeline import Timeline

CLIENT, SERVER = "10.0.1.1", "10.0.0.1"


class _World:
    """A process with an event loop, and a server that sends back what it gets."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.network = Network(self.timeline, Random(1))
        self.server = self.network.machine(SERVER)
        self.client = self.network.machine(CLIENT)
        echo = type("Echo", (Protocol,), {"dataReceived": lambda self, data: self.transport.write(data)})
        self.server.begin(self.network).adoptStreamPort(-1, 0, Factory.forProtocol(echo))
        self.loop = EventLoop(self.client, self.network)
        self.client.begin_with(self.loop)
        self.order: list[Any] = []

    def run(self, work: Callable[[], Coroutine[Any, Any, Any]], end_s: float = 60.0) -> Any:
        tasks: list[asyncio.Task[Any]] = []
        self.client.post(self.timeline.now, lambda: tasks.append(self.loop.create_task(work())))
        self.timeline.run(end_s)
        return tasks[0].result() if tasks[0].done() else None


class _Peer(asyncio.Protocol):
    def __init__(self, order: list[Any]) -> None:
        self.order = order

    def connection_made(self, transport: Any) -> None:
        self.order.append("made")

    def data_received(self, data: bytes) -> None:
        self.order.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.order.append(type(error))


def test_a_sleep_takes_its_time_and_no_longer() -> None:
    world = _World()

    async def work() -> float:
        await asyncio.sleep(2.0)
        return world.timeline.now

    assert world.run(work) == pytest.approx(2.0, abs=1e-3)


def test_what_is_made_ready_comes_in_the_next_turn_and_what_is_due_after_what_is_ready() -> None:
    world = _World()

    async def work() -> None:
        world.loop.call_later(0, world.order.append, "timer")
        world.loop.call_soon(lambda: world.loop.call_soon(world.order.append, "second"))
        world.loop.call_soon(world.order.append, "first")
        world.loop.call_soon(world.order.append, "not this").cancel()
        await asyncio.sleep(1.0)

    world.run(work)
    assert world.order == ["first", "timer", "second"]


@pytest.mark.parametrize(("end", "told"), [("abort", type(None)), ("reset", ConnectionResetError), ("kill", None)])
def test_bytes_come_and_the_end_of_a_connection(end: str, told: type | None) -> None:
    world = _World()

    async def work() -> None:
        transport, _ = await world.loop.create_connection(lambda: _Peer(world.order), SERVER, 3181)
        transport.write(b"x")
        await asyncio.sleep(1.0)
        if end == "abort":
            transport.abort()
        elif end == "reset":
            world.network.between(CLIENT, SERVER)[0].break_now()
        else:
            world.client.kill()
        await asyncio.sleep(1.0)

    world.run(work)
    assert world.order == ["made", b"x", *([told] if told else [])]


def test_a_connection_that_is_refused_is_an_error() -> None:
    world = _World()
    world.server.kill()

    async def work() -> bool:
        with pytest.raises(ConnectionRefusedError):
            await world.loop.create_connection(lambda: _Peer(world.order), SERVER, 3181)
        return True

    assert world.run(work)


def test_who_waits_no_longer_for_a_connection_gets_none() -> None:
    world = _World()
    world.network.cut.add((SERVER, CLIENT))

    async def work() -> bool:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(world.loop.create_connection(lambda: _Peer(world.order), SERVER, 3181), 2.0)
        world.network.heal(SERVER, CLIENT)
        await asyncio.sleep(2.0)
        return True

    assert world.run(work)
    assert world.order == []
    assert world.network.between(CLIENT, SERVER) == []


def test_after_a_pause_bytes_come_before_timers() -> None:
    world = _World()

    async def work() -> None:
        transport, _ = await world.loop.create_connection(lambda: _Peer(world.order), SERVER, 3181)
        world.loop.call_later(1.0, world.order.append, "timer")
        transport.write(b"x")
        world.client.pause(5.0)
        await asyncio.sleep(0.1)

    world.run(work)
    assert world.order == ["made", b"x", "timer"]


def test_before_a_process_is_killed_what_it_does_can_be_ended() -> None:
    world = _World()

    async def steps() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.sleep(5.0)
        finally:
            await asyncio.sleep(0)
            world.order.append("cleaned up")

    async def work() -> None:
        async for each in steps():
            world.order.append(each)

    tasks: list[asyncio.Task[None]] = []
    world.client.post(0.0, lambda: tasks.append(world.loop.create_task(work())))
    world.client.post(1.0, world.loop.call_later, 0.5, world.order.append, "timer")
    world.timeline.at(2.0, world.client.pause, 10.0)
    world.timeline.run(3.0)
    world.loop.end(tasks)
    world.client.kill()
    assert world.order == [1, "timer", "cleaned up"]
    assert tasks[0].cancelled()


def test_a_clock_that_is_set_moves_no_timer() -> None:
    world = _World()

    async def work() -> float:
        world.client.step_clock(3600.0)
        await asyncio.sleep(2.0)
        return world.timeline.now

    assert world.run(work) == pytest.approx(2.0, abs=1e-3)


def test_an_exception_that_nobody_expects_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = _World()

    async def work() -> None:
        world.loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1.0)

    world.run(work)
    assert "ZeroDivisionError" in caplog.text
