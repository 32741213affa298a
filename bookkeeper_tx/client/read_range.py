"""Reading a complete range of entries: many requests, as many bytes of them under way as the link brings."""

from functools import partial

from attrs import define

from bookkeeper_tx.client.batch_read import require_batch_read
from bookkeeper_tx.client.ledger_entries import LedgerEntries, without_payloads
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_prefix import ReadStyle
from bookkeeper_tx.client.read_striped import start_prefix_read
from bookkeeper_tx.client.read_window import START_SIZE, Asked
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError

REQUEST_SIZE_MAX = 1024 * 1024
"""Bytes that one request aims at."""

REQUEST_SHARE = 4
"""A request aims at this part of the bytes in flight: some on the link, one at the bookie, one taken in here."""

REQUESTS_MAX = 16
"""Requests in flight, however small they are."""

PIECE_SIZE_MAX = 4 * 1024 * 1024
"""Bytes that a piece is filled up to, if so many are there."""


def read_range(
    reader: LedgerView, first: int, last: int, batch: bool, end: int, held_max: int | None = None
) -> "RangeRead":
    """Return a read of ``first`` … ``last``, both up to ``end``; with ``batch`` by batch reads where there are any.

    ``held_max`` is for :class:`RangeRead`.  Raises :class:`InvalidArgument` for a range that is not there.
    """
    if not isinstance(first, int) or not 0 <= first <= end:
        raise reader.out_of_range("first_entry_id", first, last=end)
    if not isinstance(last, int) or not first <= last <= end:
        raise reader.out_of_range("last_entry_id", last, first, end)
    style = ReadStyle.SINGLES
    if batch:
        try:
            require_batch_read(reader.quorum.striped, reader.context.config)
            style = ReadStyle.BATCH_ELSE_SINGLES
        except BatchReadNotSupported:
            pass
    return RangeRead(reader, first, last, style, held_max)


@define
class _Request:
    """Entries that were asked for together."""

    first: int
    last: int
    asked: Asked


@define
class _Part:
    """The entries of one answer, and the bytes that they took in it."""

    payloads: list[bytes]
    run: EntryRun
    size: int


class RangeRead:
    """One range read under way.

    :meth:`whole` gives the whole range, :meth:`piece` the next entries that are there, again and again.  With
    ``held_max``, no more is asked for while so many bytes are in flight or wait to be taken.
    """

    def __init__(
        self, reader: LedgerView, first_entry_id: int, last_entry_id: int, style: ReadStyle, held_max: int | None
    ) -> None:
        self._reader = reader
        self._window = reader.window
        self._cancellable = reader.context.driver.cancellable
        self._clock = reader.context.clock
        config = reader.context.config
        self._style = style
        self._frame_size_max = config.frame_size_max
        self._entries_max = config.outstanding_reads_max
        singles_max = max(1, self._entries_max // REQUEST_SHARE)
        self._count_max = singles_max if style is ReadStyle.SINGLES else config.batch_read_count
        self._held_max = held_max
        self._cursor = first_entry_id
        """The first entry that was not taken yet."""
        self._next = first_entry_id
        """The first entry that was never asked for."""
        self._last = last_entry_id
        self._gaps: list[tuple[int, int]] = []
        """First and last of the entries that were asked for, and that an answer lacked."""
        self._parts: dict[int, _Part] = {}
        """First entry → an answer that was not taken yet."""
        self._held = 0
        """Bytes of these answers."""
        self._requests = 0
        self._entries_in_flight = 0
        self._bytes_in_flight = 0
        self._error: BookKeeperError | None = None
        self._over = False
        self._taker: Promise[LedgerEntries] | None = None
        self._takes_whole = False

    # For the caller ---------------------------------------------------------------------------------------------------

    def whole(self) -> "Promise[LedgerEntries]":
        """Fire with the whole range, or with the first error."""
        self._takes_whole = True
        return self._take()

    def piece(self) -> "Promise[LedgerEntries]":
        """Fire with the next entries, at least one, or with the error of the next if it cannot be had."""
        return self._take()

    @property
    def exhausted(self) -> bool:
        """Whether every entry was taken."""
        return self._cursor > self._last and self._error is None

    def stop(self) -> None:
        """Send nothing more; later replies have no effect."""
        self._over = True
        self._taker = None
        self._parts.clear()
        self._held = 0

    def _take(self) -> "Promise[LedgerEntries]":
        taker: Promise[LedgerEntries] = self._cancellable(lambda _: self.stop())
        self._taker = taker
        self._ask_on()
        self._give()
        return taker

    def _give(self) -> None:
        """Fire the promise that waits, if its entries are there."""
        taker = self._taker
        if taker is None:
            return
        complete = not self._requests and not self._more_to_ask and self._error is None
        if complete if self._takes_whole else self._cursor in self._parts:
            self._taker = None
            entries = self._joined()
            self._ask_on()
            taker.callback(entries)
        elif self._error is not None and (self._takes_whole or self._cursor > self._last):
            self.stop()
            taker.errback(self._error)

    def _joined(self) -> LedgerEntries:
        """Take the parts that follow one another, up to a piece of them unless all are wanted."""
        first = self._cursor
        payloads: list[bytes] = []
        runs: list[EntryRun] = []
        size = 0
        while self._cursor in self._parts and (self._takes_whole or size < PIECE_SIZE_MAX):
            part = self._let_go(self._cursor)
            self._cursor += len(part.payloads)
            payloads += part.payloads
            runs.append(part.run)
            size += part.size
        return LedgerEntries(self._reader.ledger_id, first, payloads, runs)

    # Requests ---------------------------------------------------------------------------------------------------------

    @property
    def _more_to_ask(self) -> bool:
        return bool(self._gaps) or self._next <= self._last

    def _ask_on(self) -> None:
        """Send requests until as much is in flight as may be."""
        while self._more_to_ask and not self._over:
            target = min(REQUEST_SIZE_MAX, self._window.size // REQUEST_SHARE)
            count = min(self._window.count_for(target), self._count_max)
            if not self._may_ask(count):
                return
            self._ask(count)

    def _may_ask(self, count: int) -> bool:
        window = self._window
        if not self._requests:
            # Another read of the same handle may fill the window, and never go on with this one.
            return not self._full or self._cursor not in self._parts
        return (
            bool(window.entry_size)
            and window.in_flight < window.size
            and self._requests < REQUESTS_MAX
            and self._entries_in_flight + count <= self._entries_max
            and not self._full
        )

    @property
    def _full(self) -> bool:
        return self._held_max is not None and self._held + self._bytes_in_flight >= self._held_max

    def _ask(self, count: int) -> None:
        """Ask for up to ``count`` entries: those that an answer lacked before those that follow."""
        if self._gaps:
            first, last = gap = min(self._gaps)
            self._gaps.remove(gap)
            end = min(last, first + count - 1)
            if end < last:
                self._gaps.append((end + 1, last))
        else:
            first = self._next
            end = min(self._last, first + count - 1)
            self._next = end + 1
        size = int(self._window.entry_size * (end - first + 1))
        request = _Request(first, end, self._window.sent(size or START_SIZE, self._clock.seconds()))
        self._requests += 1
        self._entries_in_flight += end - first + 1
        self._bytes_in_flight += request.asked.size
        # Entries differ in size: an answer may be twice as large as expected before it is cut.
        size_max = min(self._frame_size_max, max(2 * size, START_SIZE))
        start_prefix_read(self._reader, first, end, size_max, self._style, partial(self._prefix_read, request))

    def _prefix_read(
        self, request: _Request, error: BookKeeperError | None, payloads: list[bytes], run: EntryRun | None
    ) -> None:
        self._requests -= 1
        self._entries_in_flight -= request.last - request.first + 1
        self._bytes_in_flight -= request.asked.size
        self._window.arrived(request.asked, run, self._clock.seconds())
        if self._over:
            return
        if run is None:
            self._end_before(request.first, error)
        elif request.first <= self._last:
            got = request.first + len(payloads)
            if got <= request.last:
                self._gaps.append((got, request.last))
            self._hold(request.first, payloads, run.part(request.first, got - 1))
        if not (self._takes_whole and self._error):
            self._ask_on()
        self._give()

    def _end_before(self, entry_id: int, error: BookKeeperError | None) -> None:
        """Read only the entries before ``entry_id``, which cannot be read; ``error`` follows them."""
        if entry_id <= self._last:
            self._error = error
            self._last = entry_id - 1
            self._gaps = [gap for gap in self._gaps if gap[0] < entry_id]
            for first in [first for first in self._parts if first >= entry_id]:
                self._let_go(first)

    # Answers ----------------------------------------------------------------------------------------------------------

    def _hold(self, first: int, payloads: list[bytes], run: EntryRun) -> None:
        """Keep the entries of ``run`` until they are taken."""
        self._parts[first] = _Part(payloads, without_payloads(run), run.size)
        self._held += run.size

    def _let_go(self, first: int) -> _Part:
        part = self._parts.pop(first)
        self._held -= part.size
        return part
