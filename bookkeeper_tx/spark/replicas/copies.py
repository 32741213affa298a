"""Reading the copies of some entries from one bookie only: each is there, or absent with the bookie's error."""

from collections import deque
from collections.abc import Iterator

from attrs import define, frozen

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    NO_ANSWER,
    BookKeeperError,
    NoSuchEntry,
    NoSuchLedger,
    StorageFailed,
    TooManyRequests,
    UnknownLedgerState,
)
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.reading.ledger_reader import FRAME_SLACK
from bookkeeper_tx.spark.reading.run_reads import ReadSizes, RunReads, SizeEstimate
from bookkeeper_tx.spark.replicas.pieces import Piece
from bookkeeper_tx.transport.blocking import Token

OF_ENTRY = (NoSuchEntry, StorageFailed, UnknownLedgerState)
"""Errors about one entry; the bookie may have the next."""

_BUSY = (*NO_ANSWER, TooManyRequests)

LOOKED_AT_MIN, LOOKED_AT_MAX = 32, 4096
"""How many entries after an absent one are asked for one by one; more, if others of them are absent, too."""


@frozen
class Absent:
    """Entries that a bookie did not give, and why."""

    entry_ids: range
    error: BookKeeperError


@define(eq=False)
class CopyReader:
    """Reads copies from bookies; one for a task, which remembers the bookies that do not answer."""

    channels: BookieChannels
    batch: bool
    sizes: ReadSizes
    num_retries: int
    retry_interval_s: float
    _dead: dict[BookieId, BookKeeperError]

    @classmethod
    def make(
        cls, channels: BookieChannels, *, batch: bool, window: int, num_retries: int, retry_interval_s: float
    ) -> "CopyReader":
        size = min(ReadSizes().batch_size_max, channels.config.frame_size_max - FRAME_SLACK)
        sizes = ReadSizes(batch_size_max=size, window=window)
        return cls(channels, batch, sizes, num_retries, retry_interval_s, {})

    def copies(self, piece: Piece, bookie: BookieId) -> Iterator[EntryRun | Absent]:
        """Give all entries of ``piece``, in order and each once: runs of consecutive ones, not verified, or absent."""
        ids, tries = piece.entry_ids, 0
        while ids:
            if bookie in self._dead:
                yield Absent(ids, self._dead[bookie])
                return
            try:
                for found in _Copies(self, piece, bookie, ids):
                    ids = ids[found.count if isinstance(found, EntryRun) else len(found.entry_ids) :]
                    tries = 0
                    yield found
            except _BUSY as error:
                self.channels.failed(bookie, error)
                if tries >= self.num_retries:
                    self._dead[bookie] = error
                    continue
                tries += 1
                self.channels.sleep(self.retry_interval_s)
            except BookKeeperError as error:
                # Authentication, or a request that the bookie does not understand: none of them will be given.
                yield Absent(ids, error)
                return


class _Copies:
    """One attempt at the entries ``ids``; it ends with the error of a bookie that does not answer."""

    def __init__(self, reader: CopyReader, piece: Piece, bookie: BookieId, ids: range) -> None:
        self._reader = reader
        self._ledger_id = piece.ledger.ledger_id
        self._bookie = bookie
        self._ids = ids
        self._estimate = SizeEstimate()

    def __iter__(self) -> Iterator[EntryRun | Absent]:
        if self._ids.step > 1:
            return self._singles(self._ids)
        return self._runs()

    def _runs(self) -> Iterator[EntryRun | Absent]:
        """Read many at a time; after an absent entry, read the next ones one by one first."""
        ids, looked_at = self._ids, LOOKED_AT_MIN
        while ids:
            try:
                for run in self._stretch(ids):
                    ids, looked_at = ids[run.count :], LOOKED_AT_MIN
                    yield run
                continue
            except NoSuchLedger as error:
                yield Absent(ids, error)
                return
            except OF_ENTRY:
                pass
            yield from self._singles(ids[:looked_at])
            ids, looked_at = ids[looked_at:], min(2 * looked_at, LOOKED_AT_MAX)

    def _stretch(self, ids: range) -> RunReads:
        reader = self._reader
        return RunReads(
            reader.channels,
            self._bookie,
            self._ledger_id,
            ids[0],
            ids[-1],
            batch=reader.batch,
            sizes=reader.sizes,
            estimate=self._estimate,
        )

    def _singles(self, ids: range) -> Iterator[EntryRun | Absent]:
        """Read entries one by one, many in flight."""
        channels, ledger_id = self._reader.channels, self._ledger_id
        channel = channels.channel(self._bookie, ledger_id)
        in_flight: deque[tuple[int, Token]] = deque()
        asked = 0
        try:
            while in_flight or asked < len(ids):
                limit = self._estimate.singles_for(self._reader.sizes)
                if len(in_flight) <= limit // 2:
                    for entry_id in ids[asked : asked + limit - len(in_flight)]:
                        channels.before_request(self._bookie)
                        in_flight.append((entry_id, channel.start_read(ledger_id, entry_id)))
                        asked += 1
                    channel.flush()
                entry_id, token = in_flight.popleft()
                try:
                    entry = bytes(channel.result(token))
                except OF_ENTRY as error:
                    yield Absent(range(entry_id, entry_id + 1), error)
                    continue
                except NoSuchLedger as error:
                    yield Absent(ids[ids.index(entry_id) :], error)
                    return
                run = EntryRun.of_entries(ledger_id, entry_id, [entry])
                self._estimate.learn(run)
                channels.received(self._bookie, 1, run.size)
                yield run
        finally:
            channel.forget([token for _, token in in_flight])
