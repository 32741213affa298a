"""A blocking connection to one bookie, over the same core as the Twisted driver; imports no Twisted.

For programs without a reactor: Spark executors, scripts.
"""

import selectors
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry_run import EntryRun
from bookkeeper_tx.errors import BookieUnavailable, IllegalOperation, RequestTimedOut
from bookkeeper_tx.protocol.completion import Completion
from bookkeeper_tx.protocol.v2_client import V2ClientConnection

RECEIVE_SIZE = 256 * 1024


class BlockingChannel:
    """Sends requests to the bookie at ``host:port`` and waits for their replies; V2 only.

    Not thread-safe: one channel a thread.  After BookieUnavailable, RequestTimedOut or ProtocolViolation the channel is
    closed; make another.
    """

    def __init__(self, host: str, port: int, config: ClientConfig | None = None) -> None:
        """Connect; raises :class:`BookieUnavailable`, and IllegalOperation if ``config`` asks for TLS or a plugin."""
        self._config = config or ClientConfig()
        if self._config.tls is not None or self._config.auth is not None:
            raise IllegalOperation(
                "a blocking channel speaks neither TLS nor authenticates: take BookKeeper, the client on Twisted"
            )
        self._peer = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=self._config.connect_timeout_s)
        except OSError as error:
            raise BookieUnavailable(f"cannot connect to bookie {self._peer}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._connection = V2ClientConnection(self._config.frame_size_max)

    def add_entries(
        self, ledger_id: int, first_entry_id: int, entries: Sequence[bytes], master_key: bytes, flags: int = 0
    ) -> None:
        """Add sealed entries with ids from ``first_entry_id`` on, all in flight at once.

        Raises the first error that the bookie answers, once every entry is answered.
        """
        deadline = self._deadline(self._config.add_timeout_s)
        for entry_id, entry in enumerate(entries, first_entry_id):
            self._connection.add_entry(entry_id, deadline, ledger_id, entry_id, entry, master_key, flags)
        errors = [error for _, error, _ in self._wait(deadline, len(entries)) if error is not None]
        if errors:
            raise errors[0]

    def read_entry(self, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None) -> bytes:
        """Return one entry, not verified."""
        deadline = self._deadline(self._config.read_timeout_s)
        # A token of None would mean that nobody waits.
        self._connection.read_entry(entry_id, deadline, ledger_id, entry_id, flags, master_key)
        return bytes(self._answer(deadline))

    def read_range(self, ledger_id: int, first: int, last: int) -> EntryRun:
        """Return the entries, not verified, before the first that cannot be had; raises the error of the very first."""
        deadline = self._deadline(self._config.read_timeout_s)
        self._connection.read_range(first, deadline, ledger_id, first, last)
        run: EntryRun = self._answer(deadline)
        return run

    def batch_read(
        self,
        ledger_id: int,
        start_entry_id: int,
        max_count: int,
        max_size: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> EntryRun:
        """Return a run of entries, not verified."""
        deadline = self._deadline(self._config.read_timeout_s)
        self._connection.batch_read(
            start_entry_id, deadline, ledger_id, start_entry_id, max_count, max_size, flags, master_key
        )
        run: EntryRun = self._answer(deadline)
        return run

    def close(self) -> None:
        """Close the connection; what is in flight is given up."""
        self._selector.close()
        self._socket.close()

    def __enter__(self) -> "BlockingChannel":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _deadline(timeout_s: float) -> float:
        return time.monotonic() + timeout_s

    def _answer(self, deadline: float) -> Any:
        _, error, value = self._wait(deadline, 1)[0]
        if error is not None:
            raise error
        return value

    def _wait(self, deadline: float, count: int) -> list[Completion]:
        """Send what was asked and return ``count`` completions."""
        if self._socket.fileno() < 0:
            raise BookieUnavailable(
                f"this channel to bookie {self._peer} was closed (an error closes it): make another"
            )
        done: list[Completion] = []
        unsent = memoryview(self._connection.data_to_send())
        try:
            # Replies are taken while requests are sent, or both sides could wait for the other to read.
            while len(done) < count:
                readable, writable = self._ready(bool(unsent), deadline)
                if writable:
                    unsent = unsent[self._socket.send(unsent) :]
                if readable:
                    done += self._connection.receive(self._receive())
        except OSError as error:
            self.close()
            raise BookieUnavailable(f"connection to bookie {self._peer} lost: {error}") from error
        except BaseException:
            # An interrupt, too: the replies that it leaves behind would pass for those of the next requests.
            self.close()
            raise
        return done

    def _ready(self, sending: bool, deadline: float) -> tuple[bool, bool]:
        """Wait until the socket can be read or, if ``sending``, written."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if sending else 0)
        self._selector.modify(self._socket, events)
        ready = self._selector.select(max(deadline - time.monotonic(), 0))
        if not ready:
            raise RequestTimedOut(f"bookie {self._peer} did not answer in time")
        mask = ready[0][1]
        return bool(mask & selectors.EVENT_READ), bool(mask & selectors.EVENT_WRITE)

    def _receive(self) -> bytes:
        data = self._socket.recv(RECEIVE_SIZE)
        if not data:
            raise BookieUnavailable(f"bookie {self._peer} closed the connection")
        return data
