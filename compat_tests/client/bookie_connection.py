"""One connection of a client to a scripted bookie: requests in; replies out, by the bookie's rules or honest."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import traceback
from collections.abc import Callable
from typing import Protocol

import attrs

from compat_tests.client import client_requests as names
from compat_tests.client.answers import Answer, encode
from compat_tests.client.client_requests import ClientRequest, understand
from compat_tests.client.entry_store import EntryStore
from compat_tests.client.rules import Exchange, Rule
from compat_tests.client.tls_side import TlsSide
from compat_tests.judge.case import V2
from compat_tests.judge.recording import Recording
from protocol_specs import codecs, fields

_LENGTH = codecs.RECORD_LENGTH
_CHUNK = 1 << 18
_LINGER_NONE = struct.pack("ii", 1, 0)
_SEND_WITHIN = struct.pack("ll", 10, 0)
"""Seconds and microseconds that a client may leave a reply unread, so that no sender waits for ever."""
_GOODBYE_WITHIN_S = 0.1


class ConnectedBookie(Protocol):
    """The bookie of a connection, as the connection needs it."""

    name: str
    store: EntryStore
    recording: Recording
    tls: ssl.SSLContext | None
    certificates: list[bytes | None]
    troubles: list[str]

    def rule_for(self, request: ClientRequest) -> Rule | None:
        """Note the request, and find the rule that takes it."""

    def carry_out(self, request: ClientRequest) -> Answer:
        """Do what the request asks for."""

    def poll(self, request: ClientRequest, answer: Callable[[], None]) -> bool:
        """Whether a long poll has to wait; then ``answer`` is called once, when it is over."""

    def stop(self) -> None:
        """Vanish: nothing listens, every connection is closed."""

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Call after a while."""


class BookieConnection:
    """Reads on a thread of its own; any thread may send."""

    def __init__(self, bookie: ConnectedBookie, connected: socket.socket, name: str) -> None:
        self.bookie = bookie
        self.name = name
        self._socket = connected
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_WITHIN)  # reading has no time-out
        self._sending = threading.Lock()
        self._buffer = b""
        self._agreed_to_tls = False
        self._tls: TlsSide | None = None

    def start(self) -> None:
        """Begin to read."""
        self.bookie.recording.note(self.name, "opened by the target")
        threading.Thread(target=self._read, name=self.name, daemon=True).start()

    def send(self, *frames: bytes) -> None:
        """Send frames in one piece, each after its length."""
        self.send_bytes(b"".join(_LENGTH.pack_fixed(len(frame)) + frame for frame in frames))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are, within TLS as one record; nothing happens if the connection is gone."""
        with self._sending, contextlib.suppress(OSError):
            self.bookie.recording.sent(self.name, data)
            self._put(data if self._tls is None else self._tls.seal(data))

    def break_off(self, data: bytes = b"", missing: int = 0) -> None:
        """Send bytes without the last ``missing`` of them on the wire, and close without the close_notify of TLS."""
        with self._sending, contextlib.suppress(OSError):
            self.bookie.recording.sent(self.name, data)
            wire = data if self._tls is None or not data else self._tls.seal(data)
            self._put(wire[: len(wire) - missing])
        kept = f": the last {missing} bytes of the wire are kept back" if missing else ""
        self.bookie.recording.note(self.name, f"broken off by the suite{kept}")
        self._end()

    def close(self) -> None:
        """Close in order: bytes that were sent arrive first."""
        self.bookie.recording.note(self.name, "closed by the suite")
        if self._tls is not None and self._sending.acquire(timeout=_GOODBYE_WITHIN_S):
            with contextlib.suppress(OSError):
                self._socket.sendall(self._tls.goodbye())
            self._sending.release()
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _put(self, wire: bytes) -> None:
        """Send bytes of the wire; the lock is held."""
        try:
            self._socket.sendall(wire)
        except BlockingIOError:  # no frame can follow half of one
            self.bookie.recording.note(self.name, "the target reads nothing")
            self._end()

    def reset(self) -> None:
        """Close with RST."""
        self.bookie.recording.note(self.name, "reset by the suite")
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        # The reading thread waits inside the socket, which would put the RST off until it wakes.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)
        self._socket.close()

    def carry_out(self, request: ClientRequest) -> bytes:
        """Carry out a request, and give the frame of the honest reply."""
        if request.operation == names.START_TLS and self.bookie.tls is not None and not request.inside_tls:
            self._agreed_to_tls = True
            return encode(request, Answer())
        return encode(request, self.bookie.carry_out(request))

    def frame(self, request: ClientRequest, answer: Answer) -> bytes:
        """The frame of any answer."""
        return encode(request, answer)

    def _read(self) -> None:
        while (data := self._receive()) is not None:
            self._buffer += data if self._tls is None else self._decrypt(data)
            while (frame := self._next_frame()) is not None:
                try:
                    self._take(attrs.evolve(understand(frame), inside_tls=self._tls is not None))
                except Exception:  # a rule is wrong: the case must say so, and not blame the client
                    self.bookie.troubles.append(traceback.format_exc())
                    self.close()
                    return

    def _receive(self) -> bytes | None:
        """Bytes of the wire; None when no more come."""
        try:
            data = self._socket.recv(_CHUNK)
        except ConnectionResetError:
            self.bookie.recording.note(self.name, "reset by the target")
            return None
        except OSError:
            return None
        if not data:
            self.bookie.recording.note(self.name, "closed by the target")
            with contextlib.suppress(OSError):
                self._socket.close()
            return None
        if self._agreed_to_tls and self._tls is None and self.bookie.tls is not None:
            self._tls = TlsSide(self.bookie.tls)
        return data

    def _decrypt(self, data: bytes) -> bytes:
        """The bytes inside TLS; a handshake that is under way goes on."""
        tls, inside = self._tls, b""
        assert tls is not None
        was_up = tls.up
        with self._sending, contextlib.suppress(OSError):
            try:
                inside = tls.receive(data)
            except ssl.SSLError as error:
                self.bookie.recording.note(self.name, f"{'broken' if was_up else 'no'} TLS: {error}")
                self._put(tls.wire())
                self._end()
                return b""
            if tls.up and not was_up:
                self.bookie.certificates.append(tls.certificate)
                self.bookie.recording.note(
                    self.name, f"TLS is up ({tls.about}): from here on the bytes inside are shown"
                )
            self._put(tls.wire())
        return inside

    def _next_frame(self) -> bytes | None:
        """The next whole frame without its length, if it is there; a length that no frame has ends the connection."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_fixed(self._buffer)
        if not 0 <= length <= fields.FRAME_SIZE_MAX:
            self.bookie.recording.received(self.name, self._buffer)
            self._buffer = b""
            self.close()
            return None
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        self.bookie.recording.received(self.name, self._buffer[:end])
        frame, self._buffer = self._buffer[_LENGTH.size : end], self._buffer[end:]
        return frame

    def _take(self, request: ClientRequest) -> None:
        rule = self.bookie.rule_for(request)
        if rule is not None and rule.action is not None:
            rule.action(Exchange(request, self))
        elif request.operation == names.UNKNOWN or self._lacks_batch_read(request):
            self.close()
        elif not self.bookie.poll(request, lambda: self.send(self.carry_out(request))):
            self.send(self.carry_out(request))

    def _lacks_batch_read(self, request: ClientRequest) -> bool:
        """A bookie without batch read closes the connection on it, in V2."""
        store = self.bookie.store
        return request.dialect == V2 and request.operation == names.BATCH_READ and not store.serves_batch_read
