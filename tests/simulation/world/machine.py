"""A machine and the one process on it: its clock, its pauses, its reactor."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol, TypeAlias

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import AlreadyCalled, AlreadyCancelled

from tests.simulation.world.timeline import Timeline

EPOCH_S = 1_700_000_000.0
"""The time of day at which a simulation begins."""


UPTIME_S = 1_000_000.0
"""How long the machines have been running when a simulation begins."""

ROUNDING_S = 1e-6
"""A time of day is a float of 53 bits: a call that is due a little earlier would be looked at again and again."""


Happening: TypeAlias = tuple[Callable[..., object], tuple[Any, ...]]
"""A call that the network, a thread or the store brings to a process, and its arguments."""


class Process(Protocol):
    """What makes the turns of a process: a reactor, or an event loop."""

    def take(self, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Make a call that comes from outside."""

    def catch_up(self, held: list[Happening]) -> None:
        """Go on after a pause in which these calls have come."""


class Call:
    """What a process has arranged to be called later, as Twisted's ``IDelayedCall``."""

    __slots__ = ("_arguments", "_call", "_state", "time")

    def __init__(self, time: float, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.time = time
        self._call = call
        self._arguments = arguments
        self._state = "active"

    def getTime(self) -> float:
        return self.time

    def active(self) -> bool:
        return self._state == "active"

    def cancel(self) -> None:
        if self._state == "called":
            raise AlreadyCalled
        if self._state == "cancelled":
            raise AlreadyCancelled
        self._state = "cancelled"

    def make(self) -> None:
        if self._state == "active":
            self._state = "called"
            self._call(*self._arguments)


class Reactor:
    """What the production code asks of a reactor, for one life of a process.

    Timers hang on a monotonic clock, as ``twistd bookie`` has it and ``docs/guides/client.md`` tells programs.  A turn
    calls what is due, and then what the network has brought.
    """

    def __init__(self, machine: "Machine", network: Any) -> None:
        self.running = True
        self.shut_down: Callable[[], Deferred[Any]] = lambda: succeed(None)
        """What is to be done before the process ends."""
        self._machine = machine
        self._network = network
        self._calls: list[tuple[float, int, Call]] = []
        self._numbers = count()
        self._armed = float("inf")
        """When the next turn is."""

    def seconds(self) -> float:
        return self._machine.monotonic

    def callLater(self, delay: float, call: Callable[..., object], *arguments: Any, **named: Any) -> Call:
        assert delay >= 0
        assert not named
        later = Call(self.seconds() + delay, call, arguments)
        heappush(self._calls, (later.time, next(self._numbers), later))
        self._arm()
        return later

    def callWhenRunning(self, call: Callable[..., object], *arguments: Any) -> None:
        self.callLater(0, call, *arguments)

    def callFromThread(self, call: Callable[..., object], *arguments: Any) -> None:
        self.callLater(0, call, *arguments)

    def getDelayedCalls(self) -> list[Call]:
        return [call for _, _, call in self._calls if call.active()]

    def stop(self) -> None:
        """Shut down, and end the process."""
        self.running = False
        self.shut_down().addBoth(lambda _: self._machine.timeline.after(0, self._machine.ended, self))

    def connectTCP(self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None) -> Any:
        return self._network.connect(self._machine, host, port, factory, timeout)

    def adoptStreamPort(self, descriptor: Any, family: Any, factory: Any) -> Any:
        return self._network.listen(self._machine, factory)

    def take(self, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        call(*arguments)

    def catch_up(self, held: list[Happening]) -> None:
        self.run_due()  # a reactor looks at its timers before its sockets
        for call, arguments in held:
            if self._machine.reactor is self:
                call(*arguments)

    def run_due(self) -> None:
        """Call what is due at the beginning of this turn."""
        now = self.seconds()
        due = []
        while self._calls and self._calls[0][0] <= now:
            due.append(heappop(self._calls)[2])
        for call in due:
            call.make()
        self._arm()

    def _arm(self) -> None:
        if not self._calls:
            return
        wait_s = self._calls[0][0] - self.seconds()
        at = self._machine.timeline.now + (wait_s + ROUNDING_S if wait_s > 0 else 0.0)
        if at < self._armed:
            self._armed = at
            self._machine.post(at, self._turn, at)

    def _turn(self, at: float) -> None:
        if at == self._armed:  # else there was an earlier turn, which has arranged the next one
            self._armed = float("inf")
            self.run_due()


class Machine:
    """A host of the simulation, with a process that can be paused and killed.

    ``address`` is its IP address.
    """

    def __init__(self, timeline: Timeline, address: str) -> None:
        self.timeline = timeline
        self.address = address
        self.life = 0
        """Counts the processes; what was meant for an earlier one does not happen."""
        self.paused_until = 0.0
        self._paused_since = 0.0
        self._paused_before_s = 0.0
        self.clock_offset_s = 0.0
        self.reactor: Any = None
        """That of the process, a :class:`Reactor` or another :class:`Process`; None while there is none."""
        self.on_exit: Callable[[], None] = lambda: None
        """Called when the process has ended by itself."""
        self.on_step: Callable[[], None] = lambda: None
        """Called when the process has done something."""
        self.on_killed: list[Callable[[], None]] = []
        """Called when the process ends, however: its connections end, too."""
        self.on_paused: list[Callable[[], None]] = []
        """Called when a pause of the process begins."""
        self.pauses = 0
        """Counts the pauses that have begun; one that another one prolongs is the same."""
        self._held: list[Happening] = []

    @property
    def paused_s(self) -> float:
        """For how long it has been paused so far, all in all."""
        last_s = max(0.0, min(self.timeline.now, self.paused_until) - self._paused_since)
        return self._paused_before_s + last_s

    @property
    def monotonic(self) -> float:
        """Seconds since the machine was switched on."""
        return UPTIME_S + self.timeline.now

    @property
    def clock(self) -> float:
        """The time of day, as this machine has it."""
        return EPOCH_S + self.timeline.now + self.clock_offset_s

    def step_clock(self, seconds: float) -> None:
        """Set the clock forward, or back."""
        self.clock_offset_s += seconds

    @property
    def is_paused(self) -> bool:
        return self.timeline.now < self.paused_until

    def begin(self, network: Any) -> Reactor:
        """Begin a process on Twisted; return its reactor."""
        reactor = Reactor(self, network)
        self.begin_with(reactor)
        return reactor

    def begin_with(self, process: Process) -> None:
        """Begin a process."""
        assert self.reactor is None
        self.reactor = process

    def kill(self) -> None:
        """End the process at once, as SIGKILL."""
        self.reactor = None
        self.life += 1
        self.paused_until = 0.0
        self._held = []
        killed, self.on_killed, self.on_paused = self.on_killed, [], []
        for call in killed:
            call()

    def ended(self, reactor: Reactor) -> None:
        """End after the process has stopped its reactor."""
        if self.reactor is reactor:
            self.kill()
            self.on_exit()

    def pause(self, seconds: float) -> None:
        """Let nothing happen here for a while, as SIGSTOP, a long turn or a machine that sleeps."""
        begins = not self.is_paused
        self._paused_before_s, self._paused_since = self.paused_s, self.timeline.now
        self.paused_until = self.timeline.now + seconds
        self.timeline.at(self.paused_until, self._go_on, self.life, self.paused_until)
        if begins:
            self.pauses += 1
            for paused in self.on_paused:
                paused()

    def post(self, at: float, call: Callable[..., object], *arguments: Any) -> None:
        """Make a call in this process, later if it is paused then, never if it has ended by then."""
        self.timeline.at(at, self._happen, self.life, call, arguments)

    def _happen(self, life: int, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        if life != self.life or self.reactor is None:
            return
        if self.timeline.now < self.paused_until:
            self._held.append((call, arguments))
        else:
            self.reactor.take(call, arguments)
            self.on_step()

    def _go_on(self, life: int, paused_until: float) -> None:
        if life != self.life or paused_until != self.paused_until or self.reactor is None:
            return
        held, self._held = self._held, []
        self.reactor.catch_up(held)
