"""The handles of ledgers for callers that wait: those of the client on asyncio, each call on its thread."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, Self, TypeVar

from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.client import ledger_reader, ledger_writer
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import Entry, LedgerMetadata

T = TypeVar("T")

PIECE_COUNT = 1000
"""Payloads of an iterable that are handed over at once."""

PIECE_SIZE = 1024 * 1024
"""Bytes from which fewer payloads are."""

PIECES_MAX = 4
"""So many are on their way while the next payloads are read."""


class LedgerWriter:
    """Appends to one ledger, and closes it; see :class:`bookkeeper_tx.LedgerWriter`."""

    def __init__(self, thread: LoopThread, writer: ledger_writer.LedgerWriter) -> None:
        self._thread = thread
        self._writer = writer
        self._in_order = Lock()
        """Held while appends are begun: those of an iterable are many, and their ids follow one another."""
        self.ledger_id = writer.ledger_id
        """The whole id; see :class:`~bookkeeper_tx.LedgerId`."""

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that is acknowledged together with all entries before it; -1 at first."""
        return self._writer.last_add_confirmed

    @property
    def length(self) -> int:
        """Payload bytes up to the last add confirmed."""
        return self._writer.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this writer last knew it."""
        return self._writer.metadata

    def append(self, payload: bytes) -> int:
        """Append one entry; return its id when the ack quorum has stored it and every entry before it.

        Each call waits for a round trip; :meth:`append_later` and :meth:`append_many` do not wait for each entry.
        Errors are those of :meth:`bookkeeper_tx.LedgerWriter.append`.

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        return self._thread.wait(self.append_later(payload))

    def append_later(self, payload: bytes) -> "Future[int]":
        """Append one entry, after those of earlier calls; return a Future that will have its id, or the error."""
        with self._in_order:
            return self._thread.begin(lambda: self._writer.append(payload))

    def append_many(self, payloads: Iterable[bytes]) -> range:
        """Append entries in order; return the range of their ids when all are acknowledged.

        Other iterables than a list or a tuple are read by this thread as their entries are sent, so they may give any
        number; what one of them raises is raised here, and the entries before it are stored.
        """
        if isinstance(payloads, Sequence):
            with self._in_order:
                appended = self._thread.begin(lambda: self._writer.append_many(payloads))
            return self._thread.wait(appended)
        with self._in_order:
            return self._append_pieces(map(self._writer.checked, payloads))

    def _append_pieces(self, payloads: Iterator[bytes]) -> range:
        """Append payloads that were checked, pieces of them at a time."""
        under_way: deque[Future[range]] = deque()
        found: list[range] = []
        refused: list[BaseException] = []

        def append(piece: list[bytes]) -> Awaitable[range]:
            if refused:
                raise refused[0]  # no later piece is stored without one before it
            # As of any iterable, its first payload alone counts among those that are held back.
            promise: Any = self._writer.append_many(iter(piece))
            if promise.done() and promise.exception() is not None:
                refused.append(promise.exception())
            return promise  # type: ignore[no-any-return]

        try:
            for piece in _pieces(payloads):
                if len(under_way) == PIECES_MAX:
                    found.append(under_way.popleft().result())
                under_way.append(self._thread.begin(partial(append, piece)))
        except KeyboardInterrupt:
            for each in under_way:
                each.cancel()
            raise
        except BaseException:
            wait(under_way)
            raise
        found += [piece.result() for piece in under_way]
        if not found:
            found.append(self._thread.call(lambda: self._writer.append_many(())))
        return range(found[0].start, found[-1].stop)

    def force(self) -> None:
        """Return when the entries acknowledged before this call are durable on every bookie of the ensemble."""
        self._thread.call(self._writer.force)

    def write_last_add_confirmed(self) -> int:
        """Publish the last add confirmed without an append; return it when readers cannot miss it."""
        return self._thread.call(self._writer.write_last_add_confirmed)

    def close(self) -> None:
        """Wait for the outstanding appends, then close the ledger at the last add confirmed."""
        self._thread.call(self._writer.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the ledger, also after an error: at the last entry that was acknowledged."""
        self.close()


class LedgerReader:
    """Reads one ledger; see :class:`bookkeeper_tx.LedgerReader`."""

    def __init__(self, thread: LoopThread, reader: ledger_reader.LedgerReader) -> None:
        self._thread = thread
        self._reader = reader
        self.ledger_id = reader.ledger_id
        """The whole id; see :class:`~bookkeeper_tx.LedgerId`."""

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that may be read, -1 if there is none."""
        return self._reader.last_add_confirmed

    @property
    def closed(self) -> bool:
        """Whether the ledger is known to be closed: then nothing will be appended to it."""
        return self._reader.closed

    @property
    def length(self) -> int:
        """Payload bytes of a closed ledger; 0 while it is not closed."""
        return self._reader.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this reader last knew it."""
        return self._reader.metadata

    def read_entry(self, entry_id: int) -> Entry:
        """Read one entry.  Protocol: docs/protocol/read-entry.md#sec-read-entry-client."""
        return self._thread.call(lambda: self._reader.read_entry(entry_id))

    def read(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> LedgerEntries:
        """Read all entries from ``first_entry_id`` to ``last_entry_id``, both included."""
        return self._thread.call(lambda: self._reader.read(first_entry_id, last_entry_id, batch))

    def read_unconfirmed(self, first_entry_id: int, last_entry_id: int, batch: bool = True) -> LedgerEntries:
        """Read as :meth:`read`, past the last add confirmed as well."""
        return self._thread.call(lambda: self._reader.read_unconfirmed(first_entry_id, last_entry_id, batch))

    def read_batch(
        self, start_entry_id: int, max_count: int = 0, max_size: int = 0, fallback: bool = True
    ) -> LedgerEntries:
        """Read entries from ``start_entry_id`` on with one request: at least one entry, possibly fewer than asked for.

        Protocol: docs/protocol/batch-read.md#sec-batch-read-client.
        """
        return self._thread.call(lambda: self._reader.read_batch(start_entry_id, max_count, max_size, fallback))

    def entries(
        self, first_entry_id: int = 0, last_entry_id: int | None = None, batch: bool = True
    ) -> Iterator[LedgerEntries]:
        """Iterate over a range in pieces, for one that is too large for memory."""
        return self._iterated(lambda: self._reader.entries(first_entry_id, last_entry_id, batch))

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries up to the last add confirmed now."""
        return chain.from_iterable(self.entries())

    def tail(self, first_entry_id: int | None = None) -> Iterator[Entry]:
        """Iterate over entries as they are confirmed, from ``first_entry_id`` on, until the ledger is closed."""
        return self._iterated(lambda: self._reader.tail(first_entry_id))

    def read_last_add_confirmed(self, explicit: bool | None = None) -> int:
        """Ask a covering set of bookies for the last add confirmed; it bounds this handle's reads from then on."""
        return self._thread.call(lambda: self._reader.read_last_add_confirmed(explicit))

    def read_length(self) -> int:
        """Ask for the last add confirmed; return the payload bytes of the ledger up to it."""
        return self._thread.call(self._reader.read_length)

    def wait_last_add_confirmed(self, beyond: int | None = None, timeout_s: float = 10.0) -> int:
        """Wait until the last add confirmed is past ``beyond``, or the ledger is closed, or the time is over."""
        return self._thread.call(lambda: self._reader.wait_last_add_confirmed(beyond, timeout_s))

    def read_last_add_confirmed_and_entry(self, entry_id: int, timeout_s: float = 10.0) -> tuple[int, Entry | None]:
        """Wait in the same way until ``entry_id`` is confirmed; return the last add confirmed and the entry."""
        return self._thread.call(lambda: self._reader.read_last_add_confirmed_and_entry(entry_id, timeout_s))

    def close(self) -> None:
        """Stop watching the metadata; the ledger is not touched, and reads go on working."""

        async def close() -> None:
            self._reader.close()

        self._thread.call(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _iterated(self, begin: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """Iterate over what the loop's thread iterates over; it ends there soon after the caller stops."""
        iterator = begin()
        steps: list[asyncio.Task[T]] = []
        """The one that is under way."""

        async def step() -> T:
            task = asyncio.current_task()
            assert task is not None
            steps[:] = [task]
            return await anext(iterator)

        async def end() -> None:
            for task in steps:
                task.cancel()
                await asyncio.wait([task])
            await iterator.aclose()

        try:
            while True:
                try:
                    yield self._thread.call(step)
                except StopAsyncIteration:
                    return
        except BaseException:
            # Not waited for: the interpreter may be ending.
            with suppress(BookKeeperError):
                self._thread.begin(end)
            raise


def _pieces(payloads: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of payloads; what ``payloads`` raises comes after those before it."""
    source = iter(payloads)
    piece: list[bytes] = []
    size = 0
    while True:
        try:
            payload = next(source)
        except StopIteration:
            break
        except BaseException:
            if piece:
                yield piece
            raise
        piece.append(payload)
        size += len(payload) if isinstance(payload, bytes | bytearray | memoryview) else 0
        if len(piece) == PIECE_COUNT or size >= PIECE_SIZE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
