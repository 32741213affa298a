"""A connection of the simulation, as of TCP: two ends, each the transport of a protocol.

Bytes arrive in their order.  A connection can be swallowed for good, break after some bytes, or get junk behind what
was sent.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twisted.internet import error
from twisted.internet.address import IPv4Address
from twisted.python.failure import Failure

from tests.simulation.world.machine import Machine

if TYPE_CHECKING:
    from tests.simulation.world.network import Network

WINDOW_BYTES = 64 * 1024
"""What may be on its way, or wait for the other side to read it, in one direction."""


class Connection:
    """The two ends of a connection, and what is wrong with it."""

    def __init__(self, network: "Network", client: Machine, server: Machine, port: int) -> None:
        self.network = network
        self.swallowed = False
        """Whether nothing arrives any more, and nobody is told."""
        self.client = End(self, client, IPv4Address("TCP", server.address, port))
        self.server = End(self, server, IPv4Address("TCP", client.address, 1))
        self.client.peer, self.server.peer = self.server, self.client

    @property
    def hosts(self) -> set[str]:
        return {self.client.machine.address, self.server.machine.address}

    def break_now(self) -> None:
        """End it for both, as a middle box does that resets it."""
        for end in self.client, self.server:
            end.machine.post(self.network.timeline.now, end.lost, error.ConnectionLost("reset"))


class End:
    """One side of a connection: the transport of its protocol."""

    peer: "End"

    def __init__(self, connection: Connection, machine: Machine, address: IPv4Address) -> None:
        self.connection = connection
        self.machine = machine
        self.protocol: Any = None
        self.bufferSize = 0
        self._network = connection.network
        self._address = address
        self._life = machine.life
        self.cut_after: int | None = None
        """Bytes to this side after which the connection breaks."""
        self._open = True
        self._closing = False
        self._unsent = bytearray()
        self._in_window = 0
        """Bytes that the other side has not read."""
        self._free_at = 0.0
        """When the link has brought all that is on its way."""
        self._arrived_at = 0.0
        self._reading = True
        self._received: list[bytes] = []
        self._end: Exception | None = None
        """Why the connection ends, after what was received."""
        self._producer: Any = None
        self._producer_paused = False
        machine.on_killed.append(self._killed)

    def begin(self, protocol: Any, made: Callable[[Any], object], argument: Any) -> None:
        """Have a protocol; once ``made(argument)`` has returned it is told what came before it was there."""
        self.protocol = protocol
        made(argument)
        self._read()

    def refuse(self) -> None:
        """Close it, before anybody has it."""
        self._open = False
        self._tell(error.ConnectionLost("reset"))

    # The transport of a protocol -------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._open and not self._closing:
            self._unsent += data
            self._send()

    def writeSequence(self, data: Any) -> None:
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        if self._open and not self._closing:
            self._closing = True
            self._send()

    def abortConnection(self) -> None:
        if self._open:
            self._finish(error.ConnectionAborted())
            self._tell(error.ConnectionLost("reset"))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert streaming
        self._producer = producer

    def unregisterProducer(self) -> None:
        self._producer = None

    def pauseProducing(self) -> None:
        self._reading = False

    def resumeProducing(self) -> None:
        self._reading = True
        self.machine.post(self._network.timeline.now, self._read)

    def getPeer(self) -> IPv4Address:
        return self._address

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", self.machine.address, 1)

    def getHandle(self) -> "End":
        return self

    def setTcpNoDelay(self, enabled: bool) -> None: ...

    def setsockopt(self, *_: Any) -> None: ...

    # The way to the other side ---------------------------------------------------------------------------------------

    def add_junk(self, junk: bytes) -> None:
        """Send what is no frame behind what has been sent, if that does not end in the middle of a frame."""
        if self._open and not self._unsent:
            self._in_window += len(junk)
            self._network.carry(self, len(junk), self.peer.arrived, junk)

    def _send(self) -> None:
        network = self._network
        while self._unsent and self._in_window < WINDOW_BYTES:
            piece = bytes(self._unsent[: WINDOW_BYTES - self._in_window])
            del self._unsent[: len(piece)]
            self._in_window += len(piece)
            network.carry(self, len(piece), self.peer.arrived, piece)
        if self._closing and not self._unsent:
            self._closing = False
            self._finish(error.ConnectionDone())
            self._tell(error.ConnectionDone())
        elif self._producer is not None and bool(self._unsent) != self._producer_paused:
            self._producer_paused = bool(self._unsent)
            if self._producer_paused:
                self._producer.pauseProducing()
            else:
                self._producer.resumeProducing()

    def arrival(self, size: int, now: float, latency_s: float, bandwidth: float) -> float:
        """Return when ``size`` bytes arrive that are sent now."""
        self._free_at = max(self._free_at, now) + size / bandwidth
        self._arrived_at = max(self._arrived_at, self._free_at + latency_s)
        return self._arrived_at

    def _tell(self, reason: Exception) -> None:
        self._network.carry(self, 0, self.peer.ending, reason)

    def _killed(self) -> None:
        """The process of this side has ended: its system closes the connection."""
        if self._open:
            self._open = False
            self._tell(error.ConnectionLost("reset"))

    # What comes from the other side ----------------------------------------------------------------------------------

    def arrived(self, data: bytes) -> None:
        """Take bytes, for the protocol to read."""
        if not self._open or self.connection.swallowed:
            return
        if self.cut_after is not None:
            data, self.cut_after = data[: self.cut_after], max(0, self.cut_after - len(data))
        self._received.append(data)
        self.machine.post(self._network.timeline.now, self._read)
        if self.cut_after == 0:
            self.connection.break_now()  # once what came before is read

    def ending(self, reason: Exception) -> None:
        """Take notice that the other side has closed."""
        if self._open and not self.connection.swallowed:
            self._end = reason
            self.machine.post(self._network.timeline.now, self._read)

    def _read(self) -> None:
        if self.protocol is None:
            return  # it is read once there is one
        while self._open and self._reading and self._received:
            data = b"".join(self._received)
            self._received = []
            self._network.timeline.after(0, self.peer.read_by_other, len(data))
            if data:
                self.protocol.dataReceived(data)
        if self._open and self._end is not None and not self._received:
            self.lost(self._end)

    def read_by_other(self, size: int) -> None:
        self._in_window -= size
        waits = self._unsent or self._closing or self._producer_paused
        if waits and self._open and self.machine.life == self._life and self.machine.reactor is not None:
            self.machine.post(self._network.timeline.now, self._sent_on)

    def _sent_on(self) -> None:
        if self._open:
            self._send()

    def lost(self, reason: Exception) -> None:
        """End this side: the protocol is told."""
        if self.protocol is None:
            self._end = reason
        elif self._open:
            self._open = False
            self.protocol.connectionLost(Failure(reason))

    def _finish(self, reason: Exception) -> None:
        self._open = False
        self.machine.post(self._network.timeline.now, self.protocol.connectionLost, Failure(reason))
