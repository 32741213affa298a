"""Reading a complete range of entries: in segments, several under way at a time, joined in order."""

from contextlib import suppress
from functools import partial

from twisted.internet.defer import Deferred, fail

from bookkeeper_tx.client.batch_read import require_batch_read
from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_prefix import ReadStyle
from bookkeeper_tx.client.read_striped import start_prefix_read
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError

SEGMENT_SIZE = 1024 * 1024
"""Bytes that one segment aims at."""

SEGMENTS_IN_FLIGHT = 4
"""Enough to keep client and bookie busy at the same time; each segment may hold ``SEGMENT_SIZE`` bytes."""


def read_range(reader: LedgerView, first: int, last: int, batch: bool, end: int) -> "Deferred[LedgerEntries]":
    """Read ``first`` … ``last``, both up to ``end``; with ``batch`` by batch reads where they are available."""
    if not isinstance(first, int) or not 0 <= first <= end:
        return fail(reader.out_of_range("first_entry_id", first, last=end))
    if not isinstance(last, int) or not first <= last <= end:
        return fail(reader.out_of_range("last_entry_id", last, first, end))
    style = ReadStyle.SINGLES
    if batch:
        with suppress(BatchReadNotSupported):
            require_batch_read(reader.quorum.striped, reader.context.config)
            style = ReadStyle.BATCH_ELSE_SINGLES
    read = RangeRead(reader, first, last, style)
    read.start()
    return read.deferred


def segment_count(reader: LedgerView, style: ReadStyle) -> int:
    """Return how many entries one segment asks for."""
    config = reader.context.config
    if style is not ReadStyle.SINGLES:
        return config.batch_read_count
    share = max(1, config.outstanding_reads_max // SEGMENTS_IN_FLIGHT)
    return min(share, reader.single_reads_for(SEGMENT_SIZE))


class _Segment:
    """Consecutive entries that are read prefix by prefix, each from any replica that returns it."""

    __slots__ = ("last", "next", "payloads", "runs")

    def __init__(self, first: int, last: int) -> None:
        self.next = first
        self.last = last
        self.payloads: list[bytes] = []
        self.runs: list[EntryRun] = []


class RangeRead:
    """One range read under way; ``deferred`` fires with :class:`LedgerEntries` when every entry is there."""

    def __init__(self, reader: LedgerView, first_entry_id: int, last_entry_id: int, style: ReadStyle) -> None:
        self._reader = reader
        self._first = first_entry_id
        self._next = first_entry_id
        self._last = last_entry_id
        self._style = style
        self._segments: list[_Segment] = []
        self._in_flight = 0
        self._failed = False
        self.deferred: Deferred[LedgerEntries] = Deferred(lambda _: self._stop())

    def start(self) -> None:
        """Send the first requests."""
        while self._in_flight < SEGMENTS_IN_FLIGHT and self._next <= self._last and not self._failed:
            reader = self._reader
            count = segment_count(reader, self._style)
            segment = _Segment(self._next, min(self._last, self._next + count - 1))
            self._next = segment.last + 1
            self._segments.append(segment)
            self._in_flight += 1
            self._read_on(segment)

    def _read_on(self, segment: _Segment) -> None:
        reader, done = self._reader, partial(self._prefix_read, segment)
        start_prefix_read(reader, segment.next, segment.last, reader.context.config.frame_size_max, self._style, done)

    def _prefix_read(
        self, segment: _Segment, error: BookKeeperError | None, payloads: list[bytes], run: EntryRun | None
    ) -> None:
        if run is None:
            self._segment_done(error)
            return
        segment.runs.append(run)
        segment.next += len(payloads)
        if segment.payloads:
            segment.payloads += payloads
        else:
            segment.payloads = payloads
        if segment.next > segment.last:
            self._reader.learn_size(segment.payloads)
            self._segment_done(None)
        elif not self._failed:
            self._read_on(segment)

    def _segment_done(self, error: BookKeeperError | None) -> None:
        self._in_flight -= 1
        if self._failed:
            return
        if error is not None:
            self._stop()
            self.deferred.errback(error)
        elif self._next <= self._last:
            self.start()
        elif not self._in_flight:
            self.deferred.callback(self._joined())

    def _joined(self) -> LedgerEntries:
        segments, self._segments = self._segments, []
        payloads = segments[0].payloads
        for segment in segments[1:]:
            payloads += segment.payloads
        runs = [run for segment in segments for run in segment.runs]
        return LedgerEntries(self._reader.ledger_id, self._first, payloads, runs)

    def _stop(self) -> None:
        """Send nothing more; later replies have no effect."""
        self._failed = True
        self._segments = []
