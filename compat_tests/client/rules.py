"""Rules by which a case makes a scripted bookie deviate from honest answers.

    bookie.on("add", entry_id=3).answer(EIO)             # every add of entry 3
    bookie.on("read", nth=2).silence()                   # the second read
    gate = bookie.on("add", entry_id=1).hold()           # kept until gate.release()
    bookie.on("read", times=1).change(lambda frame: frame[:-1])
    bookie.on("batch read").do(lambda ask: ask.close())  # anything, see Exchange

Of the rules that match a request the one put in last decides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs

from compat_tests.client.answers import Answer
from compat_tests.client.client_requests import ClientRequest
from compat_tests.judge.verdict import Mismatch
from protocol_specs.wire.status import Status

HELD_S = 8.0
"""How long a case waits for a request that a client should send."""


class Bookie(Protocol):
    """The bookie that got a request, as its exchange needs it."""

    name: str

    def stop(self) -> None:
        """Vanish: nothing listens, every connection is closed."""

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Call after a while."""


class Connection(Protocol):
    """The connection that a request came on, as its exchange needs it."""

    name: str

    @property
    def bookie(self) -> Bookie: ...

    def carry_out(self, request: ClientRequest) -> bytes: ...

    def frame(self, request: ClientRequest, answer: Answer) -> bytes: ...

    def send(self, *frames: bytes) -> None: ...

    def send_bytes(self, data: bytes) -> None: ...

    def break_off(self, data: bytes = b"", missing: int = 0) -> None: ...

    def close(self) -> None: ...

    def reset(self) -> None: ...


class Exchange:
    """One request, and the ways to answer it: a rule's action gets this."""

    def __init__(self, request: ClientRequest, connection: Connection) -> None:
        self.request = request
        self._connection = connection

    @property
    def line(self) -> str:
        """The name of the connection."""
        return self._connection.name

    @property
    def bookie(self) -> Bookie:
        """The bookie that got the request."""
        return self._connection.bookie

    def honest(self) -> bytes:
        """Carry the request out and give the frame of the honest reply."""
        return self._connection.carry_out(self.request)

    def frame(self, **fields: Any) -> bytes:
        """The frame of a reply with these fields of :class:`.answers.Answer`; nothing is carried out."""
        return self._connection.frame(self.request, Answer(**fields))

    def send(self, *frames: bytes) -> None:
        """Send frames, each after its length."""
        self._connection.send(*frames)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.send_bytes(data)

    def close(self) -> None:
        """Close the connection in order."""
        self._connection.close()

    def break_off(self, data: bytes = b"", missing: int = 0) -> None:
        """Send bytes without the last ``missing`` of them on the wire, and close without the close_notify of TLS."""
        self._connection.break_off(data, missing)

    def reset(self) -> None:
        """Close the connection with RST."""
        self._connection.reset()

    def stop_listening(self) -> None:
        """The bookie vanishes: all its connections, and its port."""
        self._connection.bookie.stop()

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Call a function after a while; the connection goes on meanwhile."""
        self._connection.bookie.later(delay_s, what)


Action = Callable[[Exchange], None]


class Gate:
    """Requests that a rule holds back."""

    def __init__(self, stored: bool) -> None:
        self._stored = stored
        self._held: list[tuple[Exchange, bytes | None]] = []
        self._changed = threading.Condition()

    def arrive(self, exchange: Exchange) -> None:
        frame = exchange.honest() if self._stored else None
        with self._changed:
            self._held.append((exchange, frame))
            self._changed.notify_all()

    @property
    def requests(self) -> list[ClientRequest]:
        """The requests that are held."""
        with self._changed:
            return [exchange.request for exchange, _ in self._held]

    def wait(self, count: int = 1, timeout_s: float = HELD_S) -> list[ClientRequest]:
        """Wait until ``count`` requests are held.  Raises Mismatch if the client does not send them."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._held) >= count, timeout_s):
                raise Mismatch("requests to a bookie that holds them", f"{count}", f"{len(self._held)}")
        return self.requests

    def release(self, **fields: Any) -> None:
        """Answer all requests that are held, in order: honestly, or with these fields of an answer."""
        with self._changed:
            held, self._held = self._held, []
        for exchange, frame in held:
            if fields:
                exchange.send(exchange.frame(**fields))
            else:
                exchange.send(exchange.honest() if frame is None else frame)


@attrs.define(eq=False)
class Rule:
    """Which requests it takes, and how it answers them."""

    operation: str | None = None
    wanted: dict[str, Any] = attrs.field(factory=dict)
    """Values of the request's fields by name; a callable is called with the field's value."""
    nth: int = 1
    """The first matching request that it takes, counted from 1."""
    times: int | None = None
    """How many requests it takes; None: all that follow."""
    action: Action | None = None
    seen: int = 0
    _counting: threading.Lock = attrs.field(factory=threading.Lock)
    """One rule may be put to several bookies."""

    def takes(self, request: ClientRequest) -> bool:
        """Whether this request is one of them; counts it."""
        if self.action is None or self.operation not in (None, request.operation):
            return False
        if not all(_fits(value, getattr(request, name)) for name, value in self.wanted.items()):
            return False
        with self._counting:
            self.seen += 1
            behind = self.seen - self.nth
        return behind >= 0 and (self.times is None or behind < self.times)

    def do(self, action: Action) -> Rule:
        """Have this function answer."""
        self.action = action
        return self

    def answer(self, status: Status | int | None = None, **fields: Any) -> Rule:
        """Answer with this status, or these fields of an :class:`.answers.Answer`; nothing is carried out."""
        if status is not None:
            fields["status"] = status
        return self.do(lambda exchange: exchange.send(exchange.frame(**fields)))

    def silence(self, stored: bool = False) -> Rule:
        """Send no reply; the request is carried out if ``stored``."""
        return self.do(lambda exchange: _carry_out_if(exchange, stored))

    def hold(self, stored: bool = False) -> Gate:
        """Hold the request until the gate is released; if ``stored``, it is carried out and only its reply is held."""
        gate = Gate(stored)
        self.do(gate.arrive)
        return gate

    def late(self, delay_s: float) -> Rule:
        """Carry the request out at once, and answer it after a while."""

        def act(exchange: Exchange) -> None:
            frame = exchange.honest()
            exchange.later(delay_s, lambda: exchange.send(frame))

        return self.do(act)

    def change(self, change: Callable[[bytes], bytes]) -> Rule:
        """Carry the request out, and send what ``change`` makes of the frame of the honest reply."""
        return self.do(lambda exchange: exchange.send(change(exchange.honest())))

    def close(self, stored: bool = False) -> Rule:
        """Close the connection instead of a reply."""

        def act(exchange: Exchange) -> None:
            _carry_out_if(exchange, stored)
            exchange.close()

        return self.do(act)

    def reset(self) -> Rule:
        """Reset the connection instead of a reply."""
        return self.do(lambda exchange: exchange.reset())

    def vanish(self, stored: bool = False) -> Rule:
        """Have the bookie vanish with this request."""

        def act(exchange: Exchange) -> None:
            _carry_out_if(exchange, stored)
            exchange.stop_listening()

        return self.do(act)

    def twice(self) -> Rule:
        """Send the honest reply two times."""

        def act(exchange: Exchange) -> None:
            frame = exchange.honest()
            exchange.send(frame, frame)

        return self.do(act)

    def split(self, positions: Sequence[int] | None = None) -> Rule:
        """Send the honest reply in pieces, cut at these positions of its bytes with length; None: at each."""

        def act(exchange: Exchange) -> None:
            frame = exchange.honest()
            data = len(frame).to_bytes(4, "big") + frame
            at = list(positions) if positions is not None else list(range(1, len(data)))
            for start, end in zip([0, *at], [*at, len(data)], strict=True):
                exchange.send_bytes(data[start:end])

        return self.do(act)


def _carry_out_if(exchange: Exchange, stored: bool) -> None:
    if stored:
        exchange.honest()


def _fits(wanted: Any, value: Any) -> bool:
    return bool(wanted(value)) if callable(wanted) else bool(wanted == value)
