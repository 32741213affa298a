"""An asyncio event loop in virtual time: time, I/O and turns are those of the world."""

import asyncio
from asyncio import events
from collections.abc import Callable, Coroutine, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from twisted.internet import error
from twisted.python.failure import Failure

from tests.simulation.world.connection import End
from tests.simulation.world.machine import ROUNDING_S, Happening, Machine
from tests.simulation.world.network import Attempt, Network


class EventLoop(asyncio.AbstractEventLoop):
    """What the production code asks of an event loop, for one life of a process.

    A turn calls what is ready, then what the network has brought, and then the timers that are due, as asyncio's own.
    What one of these makes ready is called in the next turn.
    """

    def __init__(self, machine: Machine, network: Network) -> None:
        self._machine = machine
        self._network = network
        self._life = machine.life
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._armed = float("inf")
        """When the next turn is."""

    # Turns -----------------------------------------------------------------------------------------------------------

    def take(self, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Have a turn for what comes from outside."""
        self._turn(((call, arguments),))

    def catch_up(self, held: list[Happening]) -> None:
        """Go on after a pause: all that has come in the meantime comes in one turn."""
        self._armed = float("inf")
        self._turn(held)

    def end(self, tasks: list["asyncio.Task[Any]"]) -> None:
        """Cancel tasks, and call what is ready until nothing is: no timer, and nothing that comes from outside."""
        for task in tasks:
            task.cancel()
        events._set_running_loop(self)
        try:
            while self._ready:
                self._call_ready()
        finally:
            events._set_running_loop(None)

    def _turn(self, brought: Iterable[Happening] = ()) -> None:
        due = self._due()
        events._set_running_loop(self)
        try:
            self._call_ready()
            for call, arguments in brought:
                call(*arguments)
            for timer in due:
                if not timer._cancelled:
                    timer._run()
        finally:
            events._set_running_loop(None)
            self._arm()

    def _call_ready(self) -> None:
        ready, self._ready = self._ready, []
        for handle in ready:
            if not handle._cancelled:
                handle._run()

    def _due(self) -> list[asyncio.TimerHandle]:
        now, due = self.time(), []
        while self._timers and (self._timers[0][0] <= now or self._timers[0][2]._cancelled):
            due.append(heappop(self._timers)[2])
        return due

    def _arm(self) -> None:
        now = self._machine.timeline.now
        if self._ready:
            at = now
        elif self._timers:
            wait_s = self._timers[0][0] - self.time()
            at = now + (wait_s + ROUNDING_S if wait_s > 0 else 0.0)
        else:
            return
        if at < self._armed:
            self._armed = at
            self._machine.timeline.at(at, self._next, at)

    def _next(self, at: float) -> None:
        """Have the turn that was arranged, unless there was an earlier one, or :meth:`catch_up` will."""
        if at == self._armed and self._machine.life == self._life and not self._machine.is_paused:
            self._armed = float("inf")
            self._turn()

    # What is asked of an event loop ----------------------------------------------------------------------------------

    def time(self) -> float:
        return self._machine.monotonic

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_closed()

    def is_closed(self) -> bool:
        return self._machine.life != self._life

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is passed over when it is due."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **named: Any) -> "asyncio.Task[Any]":
        return asyncio.Task(coro, loop=self, **named)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Log it, unless it is said after the end of the process, or of the history."""
        if events._get_running_loop() is self:
            asyncio.log.logger.error(context["message"], exc_info=context.get("exception"))

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], host: str, port: int
    ) -> tuple["Transport", asyncio.Protocol]:
        attempt = _Attempt(host, port, self.create_future())
        self._network.attempt(self._machine, attempt)
        try:
            end = await attempt.made
        except BaseException:
            attempt.give_up()
            raise
        protocol = protocol_factory()
        transport = Transport(end, protocol)
        end.begin(transport, protocol.connection_made, transport)
        return transport, protocol


class _Attempt(Attempt):
    """An attempt to connect; ``made`` gets our end of the connection."""

    def __init__(self, host: str, port: int, made: "asyncio.Future[End]") -> None:
        super().__init__(host, port)
        self.made = made

    def connected(self, end: End) -> None:
        self.made.set_result(end)

    def failed(self, reason: Exception) -> None:
        refused = isinstance(reason, error.ConnectionRefusedError)
        self.made.set_exception(ConnectionRefusedError() if refused else OSError(str(reason)))

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self.over = True
        if self.made.done() and not self.made.cancelled() and self.made.exception() is None:
            self.made.result().refuse()


class Transport(asyncio.Transport):
    """One end of a connection, as asyncio shows it to ``protocol``; to the end it is a protocol and a producer."""

    def __init__(self, end: End, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._end = end
        self.dataReceived = protocol.data_received
        self.pauseProducing = protocol.pause_writing
        self.resumeProducing = protocol.resume_writing
        self._protocol = protocol
        end.registerProducer(self, streaming=True)

    def connectionLost(self, reason: Failure) -> None:
        clean = reason.check(error.ConnectionDone, error.ConnectionAborted)
        self._protocol.connection_lost(None if clean else ConnectionResetError(str(reason.value)))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        peer = self._end.getPeer()
        return {"socket": self._end, "peername": (peer.host, peer.port)}.get(name, default)

    def write(self, data: Any) -> None:
        self._end.write(data)

    def close(self) -> None:
        self._end.loseConnection()

    def abort(self) -> None:
        self._end.abortConnection()
