"""One recorded connection to a target: anything can be sent, and everything that comes is reported."""

import socket
import time
from collections.abc import Callable
from typing import Self, TypeAlias

from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Interrupted, Mismatch
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence, Unreadable, mismatch_of, parse
from protocol_specs import codecs

REPLY_TIMEOUT_S = 10.0
"""How long a reply may take, within the limit of the case: several JVMs on two cores are slow at times."""

_CONNECT_TIMEOUT_S = 10.0
_LOOK_UP_S = 0.5
"""How often a wait looks whether the run is being stopped."""
_CHUNK_SIZE = 1 << 18
_FRAME_SIZE_MAX = 16 << 20
"""Three times what any bookie sends; a length above it is not waited for."""
_WAITING_MAX, _WAITING_SIZE_MAX = 20_000, 128 << 20
"""The most replies that are kept for later calls, and the most bytes of them."""

_LENGTH = codecs.RECORD_LENGTH

Outcome: TypeAlias = Reply | ConnectionClosed | Silence


def with_length(frame: bytes) -> bytes:
    """A frame after its length."""
    return len(frame).to_bytes(_LENGTH.size, "big") + frame


class Line:
    """A connection of a case.

    :param name: for the record
    :param connection: a connected socket
    :param deadline: ``time.monotonic()`` when the case must have ended; no call waits longer
    :param stopped: whether the run is being stopped
    """

    def __init__(
        self,
        name: str,
        connection: socket.socket,
        recording: Recording,
        deadline: float,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = name
        self.socket = connection
        self.recording = recording
        self._deadline = deadline
        self._stopped = stopped
        self._buffer = bytearray()
        self._waiting: list[Reply] = []
        self._waiting_size = 0
        self._unanswered: list[bytes] = []
        self._ended: ConnectionClosed | None = None

    @classmethod
    def to(
        cls,
        address: tuple[str, int],
        name: str,
        recording: Recording,
        deadline: float,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Connect.  Raises Mismatch if that fails."""
        left_s = max(deadline - time.monotonic(), 0.001)
        try:
            connection = socket.create_connection(address, timeout=min(_CONNECT_TIMEOUT_S, left_s))
        except (OSError, UnicodeError) as error:  # the latter for what can be no name of a host
            why = getattr(error, "strerror", None) or error
            raise Mismatch("connecting", "a connection", f"{why}") from None
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(name, connection, recording, deadline, stopped)

    # Sending ---------------------------------------------------------------------------------------------------------

    def send(self, *frames: bytes) -> None:
        """Send frames, each after its length, in one piece; their replies are received later."""
        self._unanswered += frames
        self.send_bytes(b"".join(map(with_length, frames)))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are.  If the target has closed the connection, the next call to receive says so."""
        self.recording.sent(self.name, data)
        try:
            self.socket.settimeout(self.left_s())
            self.socket.sendall(data)
        except TimeoutError:
            self._check_stopped()
            raise Mismatch(
                "sending", f"{len(data)} bytes taken", "nothing taken within the limit of the case"
            ) from None
        except OSError:
            self._check_stopped()

    def send_slowly(self, data: bytes, piece_size: int = 1, pause_s: float = 0.0) -> None:
        """Send bytes in pieces, each in a segment of its own as far as the kernel lets it."""
        for at in range(0, len(data), piece_size):
            self.send_bytes(data[at : at + piece_size])
            if pause_s:
                time.sleep(min(pause_s, self.left_s()))

    def half_close(self) -> None:
        """Say that nothing more will be sent."""
        self.recording.note(self.name, "the suite sends no more")
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._check_stopped()

    def close(self) -> None:
        """Close the connection in order."""
        self.socket.close()

    def reset(self) -> None:
        """Close the connection with a reset."""
        self.recording.note(self.name, "reset by the suite")
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(4, "little") + bytes(4))
        self.socket.close()

    # Receiving -------------------------------------------------------------------------------------------------------

    def receive(self, timeout_s: float | None = None) -> Outcome:
        """The next reply, the end of the connection, or silence.  Raises Mismatch for bytes that are no reply."""
        if self._waiting:
            return self._take(0)
        outcome = self._next(timeout_s)
        if isinstance(outcome, Reply):
            self._unanswered = _without_first(self._unanswered, outcome)
        return outcome

    def receive_for(self, frame: bytes, timeout_s: float | None = None) -> Outcome:
        """The reply to this request; replies that come before it are kept for their own requests."""
        for index, reply in enumerate(self._waiting):
            if mismatch_of(frame, reply) is None:
                return self._take(index)
        deadline = time.monotonic() + min(REPLY_TIMEOUT_S if timeout_s is None else timeout_s, self.left_s())
        while True:
            outcome = self._next(max(deadline - time.monotonic(), 0.001))
            if not isinstance(outcome, Reply):
                return outcome
            if mismatch_of(frame, outcome) is None:
                self._unanswered = _without_first(self._unanswered, outcome)
                return outcome
            self._keep(outcome)

    def ask(self, frame: bytes) -> Outcome:
        """Send a request and return its outcome.  Raises Mismatch for a reply to another request."""
        alone = not self._unanswered and not self._waiting
        self.send(frame)
        outcome = self._next(None) if alone else self.receive_for(frame)
        if not isinstance(outcome, Reply):
            return outcome
        wrong = mismatch_of(frame, outcome)
        if wrong is not None:
            raise Mismatch(*wrong)
        self._unanswered = _without_first(self._unanswered, outcome)
        return outcome

    def receive_bytes(self, timeout_s: float) -> bytes | ConnectionClosed:
        """The bytes that have come, or come within ``timeout_s``; empty if there are none."""
        if self._buffer:
            data, self._buffer = bytes(self._buffer), bytearray()
            return data
        more = self._more(time.monotonic() + min(timeout_s, self.left_s()))
        if isinstance(more, ConnectionClosed):
            return more
        return self.receive_bytes(0) if more else b""

    @property
    def unread(self) -> bytes:
        """The bytes that have come of an incomplete frame."""
        return bytes(self._buffer)

    # ---------------------------------------------------------------------------------------------------------------

    def _keep(self, reply: Reply) -> None:
        """Keep a reply for a later call.  Raises Mismatch for a flood, which must not fill the memory."""
        self._waiting.append(reply)
        self._waiting_size += len(reply.raw)
        if len(self._waiting) > _WAITING_MAX or self._waiting_size > _WAITING_SIZE_MAX:
            seen = f"{len(self._waiting)} of {self._waiting_size} bytes that nobody asked for"
            raise Mismatch("replies", "one for each request", seen)

    def _take(self, index: int) -> Reply:
        reply = self._waiting.pop(index)
        self._waiting_size -= len(reply.raw)
        return reply

    def _next(self, timeout_s: float | None) -> Outcome:
        wait_s = min(REPLY_TIMEOUT_S if timeout_s is None else timeout_s, self.left_s())
        deadline = time.monotonic() + wait_s
        while (frame := self._frame()) is None:
            more = self._more(deadline)
            if isinstance(more, ConnectionClosed):
                return more
            if not more:
                return Silence(wait_s)
        try:
            return parse(frame)
        except Unreadable as error:
            raise Mismatch("the reply", "a V2 or V3 reply", str(error)) from None

    def _frame(self) -> bytes | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        length = int.from_bytes(self._buffer[: _LENGTH.size], "big")
        if length > _FRAME_SIZE_MAX:
            head = bytes(self._buffer[:64])
            raise Mismatch("length of the reply", f"at most {_FRAME_SIZE_MAX}", f"{length}, as of {head!r}")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return frame

    def _more(self, deadline: float) -> bool | ConnectionClosed:
        """Wait for bytes: True if some came, False if the time is over."""
        if self._ended is not None:
            return self._ended
        wait_s = max(min(deadline - time.monotonic(), self.left_s()), 0.001)
        try:
            self.socket.settimeout(min(wait_s, _LOOK_UP_S))
            data = self.socket.recv(_CHUNK_SIZE)
        except TimeoutError:
            self._check_stopped()
            return wait_s > _LOOK_UP_S and self._more(deadline)
        except OSError as error:
            self._check_stopped()
            return self._end(ConnectionClosed("reset" if isinstance(error, ConnectionResetError) else "closed"))
        if not data:
            self._check_stopped()
            return self._end(ConnectionClosed())
        self.recording.received(self.name, data)
        self._buffer += data
        return True

    def _end(self, how: ConnectionClosed) -> ConnectionClosed:
        self._ended = how
        left = f", {len(self._buffer)} bytes of a frame before that" if self._buffer else ""
        self.recording.note(self.name, f"{'reset' if how.how == 'reset' else 'closed'} by the target{left}")
        return how

    def left_s(self) -> float:
        """How long the case may still take.  Raises Mismatch if that is over."""
        self._check_stopped()
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Mismatch("the case", "a verdict within its limit", "the limit passed")
        return left

    def _check_stopped(self) -> None:
        if self._stopped():
            raise Interrupted


def _without_first(requests: list[bytes], reply: Reply) -> list[bytes]:
    for index, request in enumerate(requests):
        if mismatch_of(request, reply) is None:
            return requests[:index] + requests[index + 1 :]
    return requests
