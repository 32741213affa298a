"""The exchange between the suite and a target, event by event, for the report."""

import threading
import time

from attrs import Factory, define, frozen

SUITE, TARGET, NOTE = "suite", "target", "note"

EVENTS_MAX = 400
BYTES_MAX = 64 * 1024
"""Limits of the recording of one case; further bytes are only counted.  A flood must not fill memory or report."""


@frozen
class Event:
    """Bytes on a connection, or a remark."""

    time_s: float
    """Since the case began."""
    line: str
    """The connection's name."""
    sender: str
    """``suite``, ``target`` or ``note``."""
    data: bytes = b""
    text: str = ""

    def to_json(self) -> dict[str, object]:
        content = {"text": self.text} if self.sender == NOTE else {"hex": self.data.hex()}
        return {"t": round(self.time_s, 6), "line": self.line, "from": self.sender, **content}

    @classmethod
    def from_json(cls, data: dict[str, object]) -> "Event":
        text, content = str(data.get("text", "")), bytes.fromhex(str(data.get("hex", "")))
        return cls(float(str(data["t"])), str(data["line"]), str(data["from"]), content, text)


@define
class Recording:
    """The events of one case; several threads may record."""

    _started: float = Factory(time.monotonic)
    _events: list[Event] = Factory(list)
    _bytes: int = 0
    _left_out: int = 0
    _lock: threading.Lock = Factory(threading.Lock)

    def sent(self, line: str, data: bytes) -> None:
        """Record bytes from the suite."""
        self._add(line, SUITE, data)

    def received(self, line: str, data: bytes) -> None:
        """Record bytes from the target."""
        self._add(line, TARGET, data)

    def note(self, line: str, text: str) -> None:
        """Record another event, as "closed by the target"."""
        with self._lock:
            if len(self._events) < EVENTS_MAX:
                self._events.append(Event(self._now(), line, NOTE, text=text))

    @property
    def events(self) -> list[Event]:
        """The events that were kept, in order of time, and a remark on the bytes that were not."""
        with self._lock:
            found = list(self._events)
            if self._left_out:
                found.append(Event(self._now(), "", NOTE, text=f"{self._left_out} more bytes are not shown"))
        return found

    def _add(self, line: str, sender: str, data: bytes) -> None:
        with self._lock:
            room = BYTES_MAX - self._bytes if len(self._events) < EVENTS_MAX else 0
            kept = data[: max(room, 0)]
            self._bytes += len(kept)
            self._left_out += len(data) - len(kept)
            if kept:
                self._events.append(Event(self._now(), line, sender, bytes(kept)))

    def _now(self) -> float:
        return time.monotonic() - self._started
