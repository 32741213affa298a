"""The client on Twisted and the client on asyncio, each in a process of the world."""

from collections.abc import Callable
from random import Random
from typing import Any

from bookkeeper_tx import aio
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.core import Client
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.transport.aio_driver import AioDriver
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from tests.simulation.world.event_loop import EventLoop
from tests.simulation.world.machine import Machine
from tests.simulation.world.network import Network
from tests.simulation.world.store_session import StoreSession


class OnTwisted(BookKeeper):
    """The client on Twisted, with a driver of the world."""

    def __init__(self, driver: Any, store: Any, config: ClientConfig, random: Random) -> None:
        Client.__init__(self, driver, store, config, random=random)


class OnAsyncio(aio.BookKeeper):
    """The client on asyncio, with a driver of the world."""

    def __init__(self, driver: Any, store: Any, config: ClientConfig, random: Random) -> None:
        Client.__init__(self, driver, store, config, random=random)


class Futures:
    """The store of a process with an event loop: a session that gives Futures in the place of Deferreds."""

    def __init__(self, session: StoreSession, loop: EventLoop) -> None:
        self.uri = session.uri
        self.watch_ledger = session.watch_ledger
        self.watch_bookies = session.watch_bookies
        self._session = session
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        ask = getattr(self._session, name)
        return lambda *arguments: ask(*arguments).asFuture(self._loop)


def begin(machine: Machine, network: Network, session: StoreSession, on_asyncio: bool) -> tuple[Any, Any, Any]:
    """Begin a process; return its driver, its store, and the class of its client."""
    driver: Any
    if not on_asyncio:
        driver = TwistedDriver(machine.begin(network))
        driver.epoch_s = lambda: machine.clock
        return driver, session, OnTwisted
    loop = EventLoop(machine, network)
    machine.begin_with(loop)
    driver = AioDriver(loop)
    driver.epoch_s = lambda: machine.clock
    driver.clock.seconds = loop.time
    return driver, Futures(session, loop), OnAsyncio
