"""A network in virtual time.

Bytes arrive after the latency of their link, and as fast as its bandwidth lets them.  What is lost between two hosts is
sent again, as TCP does, so it comes late; a partition holds everything up until it is over.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet import error
from twisted.internet.address import IPv4Address
from twisted.python.failure import Failure

from tests.simulation.world.connection import Connection, End
from tests.simulation.world.machine import Machine
from tests.simulation.world.timeline import Timeline

RESEND_S = 0.2
"""How much later what was lost arrives."""


class Attempt:
    """An attempt to connect, which is told once how it ends."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.over = False

    def connected(self, end: End) -> None:
        """Have this end of a connection."""
        raise NotImplementedError

    def failed(self, reason: Exception) -> None:
        """Have none."""
        raise NotImplementedError

    def succeed(self, end: End) -> None:
        if self.over:
            end.refuse()
        else:
            self.over = True
            self.connected(end)

    def fail(self, reason: Exception) -> None:
        if not self.over:
            self.over = True
            self.failed(reason)


class Connector(Attempt):
    """An attempt of a factory of Twisted."""

    def __init__(self, host: str, port: int, factory: Any) -> None:
        super().__init__(host, port)
        self.factory = factory

    def getDestination(self) -> IPv4Address:
        return IPv4Address("TCP", self.host, self.port)

    def stopConnecting(self) -> None:
        self.fail(error.UserError())

    def connected(self, end: End) -> None:
        protocol = self.factory.buildProtocol(end.getPeer())
        end.begin(protocol, protocol.makeConnection, end)

    def failed(self, reason: Exception) -> None:
        self.factory.clientConnectionFailed(self, Failure(reason))
        self.factory.doStop()


class Listening:
    """A port that a process listens on."""

    def __init__(self, network: "Network", machine: Machine, factory: Any) -> None:
        self.machine = machine
        self.factory = factory
        self._network = network
        self._life = machine.life
        factory.doStart()

    @property
    def open(self) -> bool:
        return self.machine.life == self._life and self.machine.reactor is not None

    def stopListening(self) -> None:
        self._network.listening.pop(self.machine.address, None)
        self.factory.doStop()


class Network:
    """Connects the machines.  ``random`` draws latencies."""

    def __init__(self, timeline: Timeline, random: Random) -> None:
        self.timeline = timeline
        self.random = random
        self.machines: dict[str, Machine] = {}
        self.listening: dict[str, Listening] = {}
        self.connections: list[Connection] = []
        self.latency_s = 0.000_2
        self.jitter = 1.0
        """By how many times the latency a piece may be late."""
        self.loss = 0.0
        """How many of the pieces are lost, and sent again."""
        self.bandwidth = 100e6
        """Bytes a second."""
        self.slow: dict[str, tuple[float, float]] = {}
        """Hosts of which the latency is so much more (seconds), and the bandwidth so much (bytes a second)."""
        self.cut: set[tuple[str, str]] = set()
        """Hosts between which nothing passes, in this direction."""
        self.refused: set[tuple[str, str]] = set()
        """Hosts of which the first cannot connect to the second."""
        self.late: dict[tuple[str, str], float] = {}
        """How many seconds later pieces arrive that pass between two hosts, in this direction."""
        self.closes_at_once: set[str] = set()
        """Hosts at which a connection is accepted and closed."""
        self._waiting: list[tuple[str, str, Callable[[], None]]] = []

    def machine(self, address: str) -> Machine:
        """Add a machine."""
        self.machines[address] = machine = Machine(self.timeline, address)
        return machine

    def listen(self, machine: Machine, factory: Any) -> Listening:
        self.listening[machine.address] = listening = Listening(self, machine, factory)
        return listening

    def connect(self, machine: Machine, host: str, port: int, factory: Any, timeout_s: float) -> Connector:
        """Connect from ``machine``; the factory is told as a reactor does."""
        connector = Connector(host, port, factory)
        factory.doStart()
        factory.startedConnecting(connector)
        assert machine.reactor is not None
        machine.reactor.callLater(timeout_s, connector.fail, error.TimeoutError())
        self.attempt(machine, connector)
        return connector

    def attempt(self, machine: Machine, attempt: Attempt) -> None:
        """Connect from ``machine``."""
        self._pass(machine.address, attempt.host, self._knock, machine, machine.life, attempt)

    def carry(self, end: End, size: int, call: Callable[..., object], *arguments: Any) -> None:
        """Make a call at the other side when ``size`` bytes sent by ``end`` have arrived there."""
        source, target = end.machine.address, end.peer.machine.address
        if (source, target) in self.cut:
            self._waiting.append((source, target, lambda: self.carry(end, 0, call, *arguments)))
            return
        latency_s, bandwidth = self._link(source, target)
        # Its order is that of the connection: nothing overtakes what waits for a partition to end.
        self.timeline.at(end.arrival(size, self.timeline.now, latency_s, bandwidth), call, *arguments)

    def heal(self, source: str, target: str) -> None:
        """Let pass what has waited between two hosts, in this direction."""
        self.cut.discard((source, target))
        passing = [each for each in self._waiting if each[:2] == (source, target)]
        self._waiting = [each for each in self._waiting if each[:2] != (source, target)]
        for _, _, send in passing:
            send()

    def between(self, one: str, other: str) -> list[Connection]:
        """Return the connections between two hosts."""
        self.connections = [each for each in self.connections if each.client._open or each.server._open]
        return [each for each in self.connections if each.hosts == {one, other}]

    def _link(self, source: str, target: str) -> tuple[float, float]:
        latency_s = self.latency_s * (1 + self.random.random() * self.jitter)
        if self.loss and self.random.random() < self.loss:
            latency_s += RESEND_S
        latency_s += self.late.get((source, target), 0.0)
        bandwidth = self.bandwidth
        for host in source, target:
            if host in self.slow:
                more_s, most = self.slow[host]
                latency_s += more_s
                bandwidth = min(bandwidth, most)
        return latency_s, bandwidth

    def _pass(self, source: str, target: str, call: Callable[..., object], *arguments: Any) -> None:
        if (source, target) in self.cut:
            self._waiting.append((source, target, lambda: self._pass(source, target, call, *arguments)))
        else:
            self.timeline.after(self._link(source, target)[0], call, *arguments)

    def _knock(self, machine: Machine, life: int, attempt: Attempt) -> None:
        host = attempt.host
        listening = self.listening.get(host)
        if listening is None or not listening.open or (machine.address, host) in self.refused:
            self._pass(host, machine.address, self._ended, machine, life, attempt.fail, error.ConnectionRefusedError())
            return
        connection = Connection(self, machine, listening.machine, attempt.port)
        self.connections.append(connection)
        self._pass(host, machine.address, self._ended, machine, life, attempt.succeed, connection.client)
        server = connection.server
        listening.machine.post(self.timeline.now, self._serve, listening, server)

    def _serve(self, listening: Listening, server: End) -> None:
        if listening.machine.address in self.closes_at_once:
            server.refuse()  # the bookie does not hear of it
            return
        protocol = listening.factory.buildProtocol(server.getPeer())
        if protocol is None:
            server.refuse()
            return
        server.protocol = protocol
        protocol.makeConnection(server)

    def _ended(self, machine: Machine, life: int, told: Callable[[Any], None], how: Any) -> None:
        if machine.life == life:
            machine.post(self.timeline.now, told, how)
