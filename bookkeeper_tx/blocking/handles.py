"""The handles of ledgers for callers that wait: those of the client on asyncio, each call on its thread."""

from collections import deque
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from itertools import chain, islice
from threading import Lock, get_ident
from typing import Any, TypeVar

from bookkeeper_tx.blocking.iterating import iterated
from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.blocking.waiting import Waiting, waits
from bookkeeper_tx.blocking.write_handle import WriteHandle
from bookkeeper_tx.client import ledger_reader, ledger_writer, ledger_writer_adv
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_handle import LedgerHandle
from bookkeeper_tx.errors import IllegalOperation
from bookkeeper_tx.model import Entry, LedgerMetadata

T = TypeVar("T")

PIECE_COUNT = 1000
"""Payloads of an iterable that are handed over at once."""

PIECE_SIZE = 1024 * 1024
"""Bytes from which fewer payloads are."""

STEP_COUNT = 20
"""Payloads after which their bytes are counted."""

PIECES_MAX = 4
"""So many are on their way while the next payloads are read."""


class LedgerWriter(WriteHandle[ledger_writer.LedgerWriter]):
    """Appends to one ledger, and closes it; see :class:`bookkeeper_tx.LedgerWriter`."""

    def __init__(self, thread: LoopThread, writer: ledger_writer.LedgerWriter) -> None:
        super().__init__(thread, writer)
        self._in_order = Lock()
        """Held while appends are begun: those of an iterable are many, and their ids follow one another."""
        self._reading: int | None = None
        """The thread that holds it while it reads an iterable."""

    def append(self, payload: bytes) -> int:
        """Append one entry; return its id when the ack quorum has stored it and every entry before it.

        Each call waits for a round trip; :meth:`append_later` and :meth:`append_many` do not wait for each entry.
        Errors are those of :meth:`bookkeeper_tx.LedgerWriter.append`.

        Protocol: docs/protocol/add-entry.md#sec-add-entry-client.
        """
        return self._thread.wait(self.append_later(payload))

    def append_later(self, payload: bytes) -> "Future[int]":
        """Append one entry, after those of earlier calls; return a Future that will have its id, or the error."""
        if type(payload) is not bytes:
            payload = _kept(payload)
        self._require_may_append()
        with self._in_order:
            return self._thread.answered(self._inner.append_for, payload)

    def append_many(self, payloads: Iterable[bytes]) -> range:
        """Append entries in order; return the range of their ids when all are acknowledged.

        Other iterables than a list or a tuple are read by this thread as their entries are sent, so they may give any
        number; what one of them raises is raised here, and the entries before it are stored.  Appends of other threads
        wait meanwhile; one of the iterable itself raises IllegalOperation.
        """
        self._require_may_append()
        if isinstance(payloads, Sequence):
            with self._in_order:
                appended = self._thread.begin(lambda: self._inner.append_many(payloads))
            return self._thread.wait(appended)
        with self._in_order:
            try:
                self._reading = get_ident()
                return self._append_pieces(map(self._inner.checked, payloads))
            finally:
                self._reading = None

    def _require_may_append(self) -> None:
        """Raise IllegalOperation to a caller that would wait for itself: the loop's thread, or an iterable."""
        self._thread.require_elsewhere()
        if self._reading == get_ident():
            raise IllegalOperation("append_many() is reading this iterable: it cannot append to the same writer itself")

    def _append_pieces(self, payloads: Iterator[bytes]) -> range:
        """Append payloads that were checked, pieces of them at a time."""
        under_way: deque[Future[range]] = deque()
        found: list[range] = []
        refused: list[BaseException] = []

        def append(piece: list[bytes]) -> Awaitable[range]:
            if refused:
                raise refused[0]  # no later piece is stored without one before it
            # As of any iterable, its first payload alone counts among those that are held back.
            promise: Any = self._inner.append_many(iter(piece))
            if promise.done() and promise.exception() is not None:
                refused.append(promise.exception())
            return promise  # type: ignore[no-any-return]

        try:
            for piece in _pieces(payloads):
                if len(under_way) == PIECES_MAX:
                    found.append(under_way.popleft().result())
                under_way.append(self._thread.begin(partial(append, piece)))
        except KeyboardInterrupt:
            for each in reversed(under_way):  # the last first: none is stored without those before it
                each.cancel()
            raise
        except BaseException:
            wait(under_way)
            raise
        found += [piece.result() for piece in under_way]
        if not found:
            found.append(self._thread.call(lambda: self._inner.append_many(())))
        return range(found[0].start, found[-1].stop)


class LedgerWriterAdv(WriteHandle[ledger_writer_adv.LedgerWriterAdv]):
    """Appends entries of given ids to one ledger, and closes it; see :class:`bookkeeper_tx.LedgerWriterAdv`."""

    def append(self, entry_id: int, payload: bytes) -> int:
        """Append one entry; return its id when the ack quorum has stored it and every entry of a lower id.

        While a lower id is missing this waits, for other threads to give it or to close the ledger; with
        :meth:`append_later` one thread can give ids in any order.  Errors are those of
        :meth:`bookkeeper_tx.LedgerWriterAdv.append`.

        Protocol: docs/protocol/add-entry.md#sec-add-entry-given-ids.
        """
        return self._thread.wait(self.append_later(entry_id, payload))

    def append_later(self, entry_id: int, payload: bytes) -> "Future[int]":
        """Append one entry; return a Future that will have its id, or the error."""
        kept = _kept(payload)
        return self._thread.begin(lambda: self._inner.append(entry_id, kept))


class LedgerReader(LedgerHandle, Waiting[ledger_reader.LedgerReader]):
    """Reads one ledger; see :class:`bookkeeper_tx.LedgerReader`."""

    def __init__(self, thread: LoopThread, reader: ledger_reader.LedgerReader) -> None:
        super().__init__(thread, reader)
        self.ledger_id = reader.ledger_id
        """The whole id; see :class:`~bookkeeper_tx.LedgerId`."""

    @property
    def last_add_confirmed(self) -> int:
        """Id of the last entry that may be read, -1 if there is none."""
        return self._inner.last_add_confirmed

    @property
    def closed(self) -> bool:
        """Whether the ledger is known to be closed: then nothing will be appended to it."""
        return self._inner.closed

    @property
    def length(self) -> int:
        """Payload bytes of a closed ledger; 0 while it is not closed."""
        return self._inner.length

    @property
    def metadata(self) -> LedgerMetadata:
        """The ledger's metadata as this reader last knew it."""
        return self._inner.metadata

    def read_entry(self, entry_id: int) -> Entry:
        """Read one entry.  Protocol: docs/protocol/read-entry.md#sec-read-entry-client."""
        return self._thread.wait(self.read_entry_later(entry_id))

    def read_entry_later(self, entry_id: int) -> "Future[Entry]":
        """Read one entry; return a Future that will have it, or the error."""
        return self._thread.answered(self._inner.read_entry_for, entry_id)

    read = waits(ledger_reader.LedgerReader.read)

    read_unconfirmed = waits(ledger_reader.LedgerReader.read_unconfirmed)

    read_batch = waits(ledger_reader.LedgerReader.read_batch)

    read_batch_unconfirmed = waits(ledger_reader.LedgerReader.read_batch_unconfirmed)

    def entries(
        self, first_entry_id: int = 0, last_entry_id: int | None = None, batch: bool = True
    ) -> Iterator[LedgerEntries]:
        """Iterate over a range in pieces, for one that is too large for memory."""
        return iterated(self._thread, lambda: self._inner.entries(first_entry_id, last_entry_id, batch))

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries up to the last add confirmed now."""
        return chain.from_iterable(self.entries())

    def tail(self, first_entry_id: int | None = None) -> Iterator[Entry]:
        """Iterate over entries as they are confirmed, from ``first_entry_id`` on, until the ledger is closed."""
        return iterated(self._thread, lambda: self._inner.tail(first_entry_id))

    read_last_add_confirmed = waits(ledger_reader.LedgerReader.read_last_add_confirmed)

    read_length = waits(ledger_reader.LedgerReader.read_length)

    wait_last_add_confirmed = waits(ledger_reader.LedgerReader.wait_last_add_confirmed)

    read_last_add_confirmed_and_entry = waits(ledger_reader.LedgerReader.read_last_add_confirmed_and_entry)

    def close(self) -> None:
        """Stop watching the metadata; the ledger is not touched, and reads go on working."""

        async def close() -> None:
            self._inner.close()

        self._thread.call(close)


def _kept(payload: bytes) -> bytes:
    """Return ``payload`` as it is now: the caller may change it before it is sent."""
    return bytes(payload) if isinstance(payload, (bytearray, memoryview)) else payload


def _pieces(payloads: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of payloads; what ``payloads`` raises comes after those before it."""
    source = iter(payloads)
    while True:
        piece: list[bytes] = []
        size = count = 0
        try:
            while len(piece) < PIECE_COUNT and size < PIECE_SIZE:
                piece.extend(islice(source, STEP_COUNT))  # keeps those before an error
                if len(piece) == count:
                    break
                size += sum(map(len, piece[count:]))
                count = len(piece)
        except BaseException:
            if piece:
                yield piece
            raise
        if not piece:
            return
        yield piece
