"""A blocking connection to one bookie, over the same core as the Twisted driver; imports no Twisted.

For programs without a reactor: Spark executors, scripts.
"""

import math
import selectors
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, TypeAlias

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    ProtocolViolation,
    RequestTimedOut,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.protocol.client.connection import ClientConnection
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection, out_of_reach
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.transport.blocking_connect import NO_CREDENTIALS, connect_to_bookie
from bookkeeper_tx.transport.receive_size import RECEIVE_SIZE
from protocol_specs.ledger_id import SCOPED_MIN

SENDING_FACTOR = 10
"""How many time-outs a request may take while the bookie keeps sending, as with large replies over a slow line."""

Token: TypeAlias = int
"""Names a request in flight on one channel."""


class BlockingChannel:
    """Sends requests to the bookie at ``host:port``, in the version ``config.protocol``, and waits for their replies.

    A ``master_key`` is the 20 bytes of :attr:`EntryDigest.master_key`, ``flags`` are those of
    docs/protocol/add-entry.md#sec-add-entry-flags and docs/protocol/read-entry.md#sec-read-entry-flags.

    Not thread-safe: one channel a thread.  After BookieUnavailable, RequestTimedOut or ProtocolViolation the channel is
    closed; make another.

    The ``start_`` methods put requests in flight and return their tokens; :meth:`result` waits for one of them.  Every
    token has to be given to :meth:`result` or to :meth:`forget`; the reply to a forgotten request is dropped.
    """

    def __init__(self, host: str, port: int, config: ClientConfig | None = None) -> None:
        """Connect, with TLS and authentication if ``config`` asks for them.

        :raises CannotConnect: nobody listens there, or not in time
        :raises TlsFailed: no TLS, or a certificate that is not trusted
        :raises AuthenticationFailed: the bookie refuses the credentials
        :raises AuthenticationUnanswered: it has failed, or does not accept them and says nothing
        :raises InvalidConfig: a file cannot be used
        """
        self._config = config or ClientConfig()
        self._peer = f"{host}:{port}"
        self._socket = connect_to_bookie(host, port, self._config, self._config.protocol)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._watching_writes = False
        self._v2 = self._config.protocol is WireProtocol.V2
        self._connection: ClientConnection = (V2ClientConnection if self._v2 else V3ClientConnection)(
            self._config.frame_size_max
        )
        self._unsent = memoryview(b"")
        self._next_token = 1
        self._awaited: set[Token] = set()
        self._done: dict[Token, tuple[BookKeeperError | None, Any]] = {}
        """The outcomes, error and value, that :meth:`result` has not returned yet."""

    @property
    def closed(self) -> bool:
        """Whether it was closed, by :meth:`close` or by an error."""
        return self._socket.fileno() < 0

    # Requests in flight ----------------------------------------------------------------------------------------------

    def start_read(self, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None) -> Token:
        """Ask for one entry; its result is the bytes of the entry, not verified."""
        token = self._new_token(ledger_id)
        self._connection.read_entry(token, math.inf, ledger_id, entry_id, flags, master_key)
        return token

    def start_range_read(self, ledger_id: int, first: int, last: int) -> Token:
        """Ask for the entries one by one; see :meth:`read_range` for the result."""
        token = self._new_token(ledger_id)
        self._connection.read_range(token, math.inf, ledger_id, first, last)
        return token

    def start_batch_read(
        self,
        ledger_id: int,
        start_entry_id: int,
        max_count: int,
        max_size: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> Token:
        """Ask for a batch; see :meth:`batch_read` for the result."""
        return self.start(ReadBatch(ledger_id, start_entry_id, max_count, max_size, flags, master_key))

    def start(self, request: Request) -> Token:
        """Make any other request; its result is the value that it says."""
        token = self._new_token(request.ledger_id)
        self._connection.send(request, token, math.inf)
        return token

    def flush(self) -> None:
        """Send the requests that were started as far as the bookie takes them, without waiting."""
        self._check_open()
        try:
            self._send()
        except OSError as error:
            self._lose(error)
        except TlsFailed:
            self.close()
            raise

    def result(self, token: Token, timeout_s: float | None = None) -> Any:
        """Wait for a request; return its result, or raise the error that the bookie answered.

        ``timeout_s`` is ``config.read_timeout_s`` unless given, and counts from this call on.  A bookie that keeps
        sending has ``SENDING_FACTOR`` times as long.
        """
        if token not in self._done:
            self._wait((token,), self._config.read_timeout_s if timeout_s is None else timeout_s)
        error, value = self._done.pop(token)
        if error is not None:
            raise error
        return value

    def done(self, token: Token) -> bool:
        """Tell whether :meth:`result` would return, or raise, without waiting."""
        return token in self._done

    def forget(self, tokens: Collection[Token]) -> None:
        """Drop the results of these requests."""
        self._awaited.difference_update(tokens)
        for token in tokens:
            self._done.pop(token, None)

    # One at a time ---------------------------------------------------------------------------------------------------

    def read_entry(self, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None) -> bytes:
        """Return one entry, not verified.  Protocol: docs/protocol/read-entry.md."""
        return bytes(self.result(self.start_read(ledger_id, entry_id, flags, master_key)))

    def read_range(self, ledger_id: int, first: int, last: int) -> EntryRun:
        """Return the entries, not verified, before the first error; raise the error if it is the very first entry's."""
        run: EntryRun = self.result(self.start_range_read(ledger_id, first, last))
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
        """Return a run of entries, not verified.  Protocol: docs/protocol/batch-read.md."""
        token = self.start_batch_read(ledger_id, start_entry_id, max_count, max_size, flags, master_key)
        run: EntryRun = self.result(token)
        return run

    def close(self) -> None:
        """Close the connection; requests in flight are given up."""
        self._selector.close()
        self._socket.close()

    def __enter__(self) -> "BlockingChannel":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # The socket ------------------------------------------------------------------------------------------------------

    def _new_token(self, ledger_id: int) -> Token:
        if self._v2 and ledger_id >= SCOPED_MIN:
            raise out_of_reach(ledger_id)
        token = self._next_token
        self._next_token += 1
        self._awaited.add(token)
        return token

    def _check_open(self) -> None:
        if self.closed:
            raise BookieUnavailable(
                f"this channel to bookie {self._peer} was closed (an error closes it): make another"
            )

    def _wait(self, tokens: Sequence[Token], timeout_s: float) -> None:
        """Send the requests that were started, and return when all of ``tokens`` are done."""
        self._check_open()
        began = time.monotonic()
        deadline, end = began + timeout_s, began + SENDING_FACTOR * timeout_s
        missing = set(tokens).difference(self._done)
        try:
            self._send()
            # Replies are taken while requests are sent, or both sides could wait for the other to read.
            while missing:
                readable, writable = self._ready(deadline)
                if writable:
                    self._send()
                if readable:
                    missing.difference_update(self._take(self._receive()))
                if missing and time.monotonic() > end:
                    raise RequestTimedOut(f"bookie {self._peer} sent other things, and no answer")
        except OSError as error:
            self._lose(error)
        except BaseException:
            # After an interrupt, too: a frame may be half sent, so the connection is of no use any more.
            self.close()
            raise

    def _take(self, data: bytes) -> list[Token]:
        """Keep the completions of the replies in ``data`` that are waited for; return their tokens."""
        try:
            completions = self._connection.receive(data)
        except ProtocolViolation as error:
            raise ProtocolViolation(f"bookie {self._peer}: {error}") from error
        done = []
        for token, answer, value in completions:
            if token in self._awaited:
                self._awaited.discard(token)
                self._done[token] = self._explained(answer), value
                done.append(token)
        return done

    def _explained(self, error: BookKeeperError | None) -> BookKeeperError | None:
        """Return the error of a bookie with the likeliest reason."""
        if type(error) is Unauthorized and self._config.auth is None:
            return Unauthorized(f"bookie {self._peer}: {NO_CREDENTIALS}; or the ledger's password is wrong")
        return error

    def _send(self) -> None:
        """Send as much as the socket takes."""
        while True:
            if not self._unsent:
                self._unsent = memoryview(self._connection.data_to_send())
                if not self._unsent:
                    return
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]

    def _ready(self, deadline: float) -> tuple[bool, bool]:
        """Wait until the socket can be read or, if something is to be sent, written."""
        sending = bool(self._unsent)
        if sending is not self._watching_writes:
            self._watching_writes = sending
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if sending else 0)
            self._selector.modify(self._socket, events)
        ready = self._selector.select(max(deadline - time.monotonic(), 0))
        if not ready:
            raise RequestTimedOut(f"bookie {self._peer} did not answer in time")
        mask = ready[0][1]
        return bool(mask & selectors.EVENT_READ), bool(mask & selectors.EVENT_WRITE)

    def _receive(self) -> bytes:
        try:
            data = self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return b""
        if not data:
            raise BookieUnavailable(f"bookie {self._peer} closed the connection")
        return data

    def _lose(self, error: OSError) -> None:
        self.close()
        raise BookieUnavailable(f"connection to bookie {self._peer} lost: {error}") from error
