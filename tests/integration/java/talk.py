"""Send the same requests to two bookies, and keep the answers of each."""

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from compat_tests.wire import v3_replies
from compat_tests.wire.replies import txn_id_of
from protocol_specs import codecs

REPLY_TIMEOUT_S = 20
#: How long a poll is given to reach the place where it waits, and a reply that must not come to come all the same.
SETTLE_S = 0.3

CLOSED = "closed"
SILENT = "silent"

Outcome: TypeAlias = bytes | str

_LENGTH = codecs.RECORD_LENGTH


class _Connection:
    """A connection that takes any bytes for a frame."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=REPLY_TIMEOUT_S)
        self._buffer = b""
        self.waiting: dict[int | None, bytes] = {}
        """Replies that came before they were asked for, by transaction id."""

    def send(self, frame: bytes) -> None:
        try:
            self._socket.sendall(_LENGTH.pack_fixed(len(frame)) + frame)
        except OSError:
            pass  # closed: the next receive says so

    def receive(self, txn_id: int | None, timeout_s: float = REPLY_TIMEOUT_S) -> Outcome:
        """The reply with this transaction id, of V3, or the next reply if that is None."""
        if txn_id in self.waiting:
            return self.waiting.pop(txn_id)
        deadline = time.monotonic() + timeout_s
        while True:
            reply = self._frame(deadline)
            if isinstance(reply, str) or txn_id is None:
                return reply
            found = v3_replies.txn_id_of_reply(reply)
            if found == txn_id:
                return reply
            self.waiting[found] = reply

    def close(self) -> None:
        self._socket.close()

    def _frame(self, deadline: float) -> Outcome:
        while True:
            if len(self._buffer) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_fixed(self._buffer)
                end = _LENGTH.size + length
                if len(self._buffer) >= end:
                    frame, self._buffer = self._buffer[_LENGTH.size : end], self._buffer[end:]
                    return frame
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return SILENT
            except OSError:
                return CLOSED
            if not data:
                return CLOSED
            self._buffer += data


@define
class Talk:
    """One exchange with one bookie: frames out, outcomes in, each under a label."""

    port: int
    ledger: int
    """The first of ten ledger ids that are this exchange's own."""
    outcomes: dict[str, Outcome] = field(factory=dict)
    requests: dict[str, bytes] = field(factory=dict)
    """The request that each outcome answers."""
    _connections: dict[str, _Connection] = field(factory=dict)

    def ask(self, label: str, frame: bytes, on: str = "") -> Outcome:
        """Send a request and wait for its reply."""
        connection = self._connection(on)
        connection.send(frame)
        return self._kept(label, frame, connection.receive(self._txn_id(frame)))

    def ask_together(self, frames: Mapping[str, bytes]) -> None:
        """Send V3 requests of different transactions at once, and wait for all replies, in whatever order."""
        connection = self._connection("")
        for frame in frames.values():
            connection.send(frame)
        for label, frame in frames.items():
            self._kept(label, frame, connection.receive(self._txn_id(frame)))

    def send(self, frame: bytes, on: str = "") -> None:
        """Send a request whose reply may take its time; give it a moment to be looked at."""
        self._connection(on).send(frame)
        time.sleep(SETTLE_S)

    def answer(self, label: str, frame: bytes, on: str = "") -> Outcome:
        """Wait for the reply to the request sent before."""
        return self._kept(label, frame, self._connection(on).receive(self._txn_id(frame)))

    def no_answer_yet(self, label: str, frame: bytes, on: str = "") -> Outcome:
        """Look whether the request sent before has been answered."""
        outcome = self._connection(on).receive(self._txn_id(frame), timeout_s=SETTLE_S)
        return self._kept(label, frame, outcome)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _txn_id(self, frame: bytes) -> int | None:
        return txn_id_of(frame)

    def _connection(self, name: str) -> _Connection:
        if name not in self._connections:
            self._connections[name] = _Connection(self.port)
        return self._connections[name]

    def _kept(self, label: str, frame: bytes, outcome: Outcome) -> Outcome:
        assert label not in self.outcomes, f"two steps are called {label}"
        self.outcomes[label] = outcome
        self.requests[label] = frame
        return outcome


@frozen
class Differs:
    """A step that Java releases, or some of them, answer in another way than ours does."""

    code: str
    """The code of the difference, D… or S…, as in the errata."""
    java: str
    ours: str
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = (999,)

    def concerns(self, release: tuple[int, ...]) -> bool:
        return self.since <= release and release[: len(self.until)] <= self.until


@frozen
class Exchange:
    """A named conversation; in two parts if the bookie is started again in between."""

    name: str
    parts: tuple[Callable[[Talk], None], ...]
    differs: Mapping[str, Sequence[Differs]]
    """Keyed by the label of the step."""
    crash: bool = False
    """Whether the bookie is killed between the parts, rather than stopped."""

    def difference(self, label: str, release: tuple[int, ...]) -> Differs | None:
        """The known difference of this step and release, if any."""
        return next((each for each in self.differs.get(label, ()) if each.concerns(release)), None)


class Table:
    """Exchanges, each a function that holds the conversation."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def exchange(
        self, differs: Mapping[str, Sequence[Differs]] | None = None
    ) -> Callable[[Callable[[Talk], None]], Callable[[Talk], None]]:
        """Enter a function."""

        def enter(function: Callable[[Talk], None]) -> Callable[[Talk], None]:
            self.exchanges.append(Exchange(function.__name__, (function,), differs or {}))
            return function

        return enter

    def over_restart(
        self, before: Callable[[Talk], None], *, crash: bool, differs: Mapping[str, Sequence[Differs]] | None = None
    ) -> Callable[[Callable[[Talk], None]], Callable[[Talk], None]]:
        """Enter a function that goes on, after the bookie was started again, from where ``before`` ended."""

        def enter(function: Callable[[Talk], None]) -> Callable[[Talk], None]:
            self.exchanges.append(Exchange(function.__name__, (before, function), differs or {}, crash))
            return function

        return enter
