"""One connection of a client to a scripted bookie: frames in, what its rules or its honesty make of them out."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import traceback
from typing import TYPE_CHECKING

from compat_tests.client import asked as names
from compat_tests.client.answers import Answer, encode
from compat_tests.client.asked import Asked, understand
from compat_tests.client.rules import Exchange
from compat_tests.judge.case import V2
from protocol_specs import codecs, fields

if TYPE_CHECKING:
    from compat_tests.client.scripted_bookie import ScriptedBookie

_LENGTH = codecs.RECORD_LENGTH
_CHUNK = 1 << 18
_LINGER_NONE = struct.pack("ii", 1, 0)
_SEND_WITHIN = struct.pack("ll", 10, 0)
"""Seconds and microseconds that a client may leave a reply unread: nobody is to wait for it for ever."""


class BookieConnection:
    """Reads on a thread of its own; any thread may send."""

    def __init__(self, bookie: ScriptedBookie, connected: socket.socket, name: str) -> None:
        self.bookie = bookie
        self.name = name
        self._socket = connected
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_WITHIN)  # and no time-out for what is read
        self._sending = threading.Lock()

    def start(self) -> None:
        """Begin to read."""
        self.bookie.recording.note(self.name, "opened by the target")
        threading.Thread(target=self._read, name=self.name, daemon=True).start()

    def send(self, *frames: bytes) -> None:
        """Send frames in one piece, each behind its length."""
        self.send_bytes(b"".join(_LENGTH.pack_fixed(len(frame)) + frame for frame in frames))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are; nothing happens if the connection is gone."""
        with self._sending, contextlib.suppress(OSError):
            self.bookie.recording.sent(self.name, data)
            try:
                self._socket.sendall(data)
            except BlockingIOError:  # no frame can follow half of one
                self.bookie.recording.note(self.name, "the target reads nothing")
                self.close()

    def close(self) -> None:
        """Close in order: what was sent arrives first."""
        self.bookie.recording.note(self.name, "closed by the suite")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def reset(self) -> None:
        """Close with RST."""
        self.bookie.recording.note(self.name, "reset by the suite")
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        # The reading thread waits inside the socket, which would put the RST off until it wakes.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)
        self._socket.close()

    def carry_out(self, asked: Asked) -> bytes:
        """Do what is asked and give the frame of the reply."""
        return encode(asked, self.bookie.carry_out(asked))

    def frame(self, asked: Asked, answer: Answer) -> bytes:
        """The frame of any answer."""
        return encode(asked, answer)

    def _read(self) -> None:
        buffer = b""
        while True:
            try:
                data = self._socket.recv(_CHUNK)
            except ConnectionResetError:
                self.bookie.recording.note(self.name, "reset by the target")
                return
            except OSError:
                return
            if not data:
                self.bookie.recording.note(self.name, "closed by the target")
                with contextlib.suppress(OSError):
                    self._socket.close()
                return
            buffer += data
            while len(buffer) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_fixed(buffer)
                if not 0 <= length <= fields.FRAME_SIZE_MAX:
                    self.bookie.recording.received(self.name, buffer)
                    self.close()
                    return
                end = _LENGTH.size + length
                if len(buffer) < end:
                    break
                self.bookie.recording.received(self.name, buffer[:end])
                frame, buffer = buffer[_LENGTH.size : end], buffer[end:]
                try:
                    self._take(understand(frame))
                except Exception:  # a rule is wrong: the case must say so, and not blame the client
                    self.bookie.troubles.append(traceback.format_exc())
                    self.close()
                    return

    def _take(self, asked: Asked) -> None:
        rule = self.bookie.rule_for(asked)
        if rule is not None and rule.action is not None:
            rule.action(Exchange(asked, self))
        elif asked.operation == names.UNKNOWN or self._lacks_batch_read(asked):
            self.close()
        elif not self.bookie.poll(asked, lambda: self.send(self.carry_out(asked))):
            self.send(self.carry_out(asked))

    def _lacks_batch_read(self, asked: Asked) -> bool:
        """A bookie without batch read closes the connection on it, in V2."""
        stored = self.bookie.stored
        return asked.dialect == V2 and asked.operation == names.BATCH_READ and not stored.serves_batch_read
