"""A link of a given bandwidth and delay between any client and a bookie, which can forget a connection, or be cut.

It is on the reactor's thread, wherever the client is.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.protocol import Factory, Protocol, connectionDone

from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.model import BookieId
from tests.reactor_thread import run_in_reactor

QUEUE_SIZE_MAX = 1024 * 1024
"""Bytes of one direction that wait on the link; more stay where they come from, as with a router.  With fewer, the link
would stand still whenever this process is busy with something else."""

PART_SIZE = 16 * 1024
_LENGTH_SIZE = 4


class Frames:
    """The frames of one direction of a connection, counted as they pass."""

    def __init__(self) -> None:
        self.count = 0
        self.size_max = 0
        self._head = b""
        self._missing = 0

    def pass_by(self, data: bytes) -> None:
        while data:
            if self._missing:
                taken = min(self._missing, len(data))
                data, self._missing = data[taken:], self._missing - taken
                self.count += not self._missing
                continue
            taken = _LENGTH_SIZE - len(self._head)
            self._head, data = self._head + data[:taken], data[taken:]
            if len(self._head) == _LENGTH_SIZE:
                self._missing = int.from_bytes(self._head, "big")
                self.size_max = max(self.size_max, self._missing)
                self._head = b""


class Flow:
    """One connection over the link, in both directions."""

    def __init__(self, link: "SlowLink") -> None:
        self.link = link
        self.client = End(self, Frames())
        self.bookie = End(self, Frames())
        self.forgotten = False
        self.in_flight_max = 0
        """Most requests that the bookie was sent and whose answers had not passed the link completely."""

    @property
    def requests(self) -> Frames:
        """The frames that the client has sent."""
        return self.client.frames

    @property
    def replies(self) -> Frames:
        """The frames that have reached the client."""
        return self.bookie.frames

    @property
    def bytes_in_flight_max(self) -> int:
        """Most bytes that were asked for and had not arrived, if all answers are as large as the largest."""
        return self.in_flight_max * self.replies.size_max

    def forget(self) -> None:
        """Pass nothing on any more, and tell neither side.  On any thread."""
        self.forgotten = True

    def other(self, end: "End") -> "End":
        return self.bookie if end is self.client else self.client

    def passed(self) -> None:
        self.in_flight_max = max(self.in_flight_max, self.requests.count - self.replies.count)


class End(Protocol):
    """One end of a flow: bytes that come in here go over the link, and out at the other end."""

    def __init__(self, flow: Flow, frames: Frames) -> None:
        self._flow = flow
        self.frames = frames
        self._queued = 0
        self._early: list[bytes] = []
        """Bytes that came before the other end was connected."""

    def connectionMade(self) -> None:
        early, self._early = self._early, []
        for data in early:
            self.transport.write(data)

    def dataReceived(self, data: bytes) -> None:
        if self._flow.forgotten:
            return
        for start in range(0, len(data), PART_SIZE):
            part = data[start : start + PART_SIZE]
            self._queued += len(part)
            self._flow.link.send(len(part), lambda part=part: self._arrive(part))
        if self._queued > QUEUE_SIZE_MAX:
            self.transport.pauseProducing()

    def _arrive(self, part: bytes) -> None:
        self._queued -= len(part)
        if self._queued <= QUEUE_SIZE_MAX and self.transport.connected:
            self.transport.resumeProducing()
        if self._flow.forgotten:
            return
        self.frames.pass_by(part)
        self._flow.passed()
        other = self._flow.other(self)
        if other.transport is None:
            other._early.append(part)
        else:
            other.transport.write(part)

    def connectionRefused(self) -> None:
        """The other end could not be connected."""
        if not self._flow.forgotten:
            self.transport.loseConnection()

    def connectionLost(self, reason: Any = connectionDone) -> None:
        other = self._flow.other(self)
        if other.transport is not None and not self._flow.forgotten:
            other.transport.loseConnection()


class SlowLink:
    """A link to the bookie at ``port``: ``rate`` bytes a second, all connections and both directions together.

    It is entered at ``host``, on ``entrance_port`` or one that is free.
    """

    def __init__(self, port: int, rate: float, host: str = "127.0.0.1", entrance_port: int = 0) -> None:
        self.rate = rate
        self.delay_s = 0.0
        """How long bytes take besides."""
        self.flows: list[Flow] = []
        self.cut = False
        """Whether nothing passes, on new connections neither."""
        self._bookie_port = port
        self._free_s = 0.0
        self._under_way: deque[Callable[[], object]] = deque()
        self._listening: Any = None
        self._host = host
        self.port = entrance_port
        """Where the client connects to."""

    def __enter__(self) -> "SlowLink":
        self._listening = _there(reactor.listenTCP, self.port, _Accepting(self), interface=self._host)
        self.port = self._listening.getHost().port
        return self

    def __exit__(self, *_: object) -> None:
        _there(self._listening.stopListening)
        self.reset()

    def reset(self) -> None:
        """End all connections on both sides, at once."""
        for flow in list(self.flows):
            for end in (flow.client, flow.bookie):
                if end.transport is not None:
                    _there(end.transport.abortConnection)

    def sever(self) -> None:
        """Let nothing pass, and tell neither side, until :meth:`mend`.  On any thread."""
        self.cut = True
        for flow in list(self.flows):
            flow.forget()

    def mend(self) -> None:
        """Let new connections pass.  On any thread."""
        self.cut = False

    def send(self, size: int, arrive: Callable[[], object]) -> None:
        """Call ``arrive`` when ``size`` bytes have passed the link, after all that was sent before."""
        now = reactor.seconds()
        self._free_s = max(now, self._free_s) + size / self.rate
        # Two timers may be due at once, or the delay may become shorter: whichever comes first, bytes keep their order.
        self._under_way.append(arrive)
        reactor.callLater(self._free_s - now + self.delay_s, self._arrive_first)

    def _arrive_first(self) -> None:
        self._under_way.popleft()()

    def connect(self, flow: Flow) -> None:
        """Connect a new flow to the bookie."""
        self.flows.append(flow)
        if self.cut:
            flow.forget()
        factory = Factory.forProtocol(lambda: flow.bookie)
        factory.noisy = False
        factory.startedConnecting = factory.clientConnectionLost = lambda *_: None
        factory.clientConnectionFailed = lambda *_: flow.client.connectionRefused()
        reactor.connectTCP("127.0.0.1", self._bookie_port, factory)


def _there(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function on the reactor's thread, and wait for its result."""

    async def call() -> Any:
        result = function(*arguments, **options)
        return await result if isawaitable(result) else result

    return run_in_reactor(call)


class _Accepting(Factory):
    noisy = False

    def __init__(self, link: SlowLink) -> None:
        self._link = link

    def buildProtocol(self, address: Any) -> Protocol:
        flow = Flow(self._link)
        self._link.connect(flow)
        return flow.client


@contextmanager
def reached_over(links: dict[BookieId, SlowLink], metadata_uri: str) -> Iterator[None]:
    """Have every client that connects meanwhile, of any face, go over the links: the store names them as the bookies.

    A bookie that restarts registers itself again, and is reached as before.
    """
    tables = Tables(metadata_uri.removeprefix("sqlite://"))
    try:
        registered = {bookie_id: (read_only, info) for bookie_id, read_only, info in tables.bookies()}
        for bookie_id, link in links.items():
            read_only, info = registered[bookie_id]
            tables.put_bookie(bookie_id, read_only, _elsewhere(info, bookie_id, link.port))
        try:
            yield
        finally:
            for bookie_id in links:
                tables.put_bookie(bookie_id, *registered[bookie_id])
    finally:
        tables.close()


def _elsewhere(info: bytes, bookie_id: BookieId, port: int) -> bytes:
    return service_info.serialize(evolve(service_info.parse(info, bookie_id), port=port))
