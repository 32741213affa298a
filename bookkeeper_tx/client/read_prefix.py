"""Reading a verified, non-empty prefix of a range from one replica, by batch or by single reads."""

from collections.abc import Callable
from enum import Enum
from itertools import pairwise
from typing import Any

from bookkeeper_tx.client.batch_read import COUNT_MAX, BatchAttempt
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replica_read import Attempt, ReplicaRead
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError, ProtocolViolation
from bookkeeper_tx.protocol.v2_frames import BATCH_REPLY_SIZE


class ReadStyle(Enum):
    """The requests that entries are read with."""

    SINGLES = "pipelined single reads"
    BATCH_ELSE_SINGLES = "batch reads; single reads from bookies that lack them"
    BATCH_ONLY = "batch reads, or the error that there are none"


PrefixDone = Callable[[BookKeeperError | None, list[bytes], EntryRun | None], None]
"""``done(error, payloads, run)`` gets an error, or at least one payload and the entries as stored."""


def count_within(run: EntryRun, max_size: int) -> int:
    """Return how many entries of ``run`` a batch reply of ``max_size`` bytes would hold; never less than one."""
    surplus = run.prefix - RECORD_LENGTH_SIZE
    if BATCH_REPLY_SIZE + run.size - surplus * run.count <= max_size:
        return run.count
    used = BATCH_REPLY_SIZE
    for count, (start, end) in enumerate(pairwise(run.offsets)):
        used += end - start - surplus
        if used > max_size and count:
            return count
    return run.count


class PrefixRead(ReplicaRead):
    """Reads entries from ``first_entry_id`` on, at most to ``last_entry_id`` or the end of the fragment.

    ``done(error, payloads, run)`` gets at least one payload.  ``max_size`` bounds the reply as a bookie counts it:
    36 bytes and 4 more than the size of each entry; the first entry comes whatever its size.  With ``fast_fail`` no
    congested bookie is asked.
    """

    __slots__ = ("_done", "_last", "_max_size", "_style")

    def __init__(
        self,
        reader: LedgerView,
        first_entry_id: int,
        last_entry_id: int,
        max_size: int,
        style: ReadStyle,
        done: PrefixDone,
        fast_fail: bool = False,
    ) -> None:
        super().__init__(reader, first_entry_id, fast_fail)
        self._last = last_entry_id
        self._max_size = max_size
        self._style = style
        self._done = done

    def refused(self, attempt: Attempt, error: BookKeeperError) -> None:
        if isinstance(error, BatchReadNotSupported) and self._style is ReadStyle.BATCH_ELSE_SINGLES and not self._over:
            self._ask_by_singles(attempt.again())
        else:
            self.failed(attempt, error)

    def _request(self, attempt: Attempt) -> None:
        if self._style is ReadStyle.SINGLES:
            self._ask_by_singles(attempt)
            return
        count = min(self._last, self._replicas.last_entry_id) - self.entry_id + 1
        BatchAttempt(
            self.reader.context,
            attempt.bookie_id,
            attempt.channel,
            self.reader.ledger_id,
            self.entry_id,
            min(count, COUNT_MAX),
            self._max_size,
            attempt.replied,
        ).start()

    def _ask_by_singles(self, attempt: Attempt) -> None:
        reader = self.reader
        last = min(
            self._last, self._replicas.last_entry_id, self.entry_id + reader.single_reads_for(self._max_size) - 1
        )
        attempt.channel.read_range(reader.ledger_id, self.entry_id, last, attempt.replied, self._max_size)

    def _check(self, attempt: Attempt, value: Any) -> None:
        reader, run = self.reader, value
        if run.ledger_id != reader.ledger_id or run.first_entry_id != self.entry_id or not run.count:
            self.failed(attempt, ProtocolViolation(f"asked for entries from {self.entry_id} on, got {run!r}"))
            return
        payloads = reader.digest.verify_run(run)
        # Entries past the end were never acknowledged, but a bookie that has them serves them.  They are dropped: the
        # same request gives the same entries by batch reads and by single reads.
        del payloads[min(self._last - self.entry_id + 1, count_within(run, self._max_size)) :]
        if payloads:
            self._end()
            self._done(None, payloads, run)
        else:
            self._refuse_first(attempt, run.entry(self.entry_id))

    def _refuse_first(self, attempt: Attempt, entry: Any) -> None:
        """The first entry is bad: verify it alone, for the error, and ask the next replica."""
        try:
            self.reader.digest.verify(self.reader.ledger_id, self.entry_id, entry)
        except BookKeeperError as error:
            self.failed(attempt, error)
        else:
            raise AssertionError("an entry verifies alone but not in a run")

    def _fail(self, error: BookKeeperError) -> None:
        self._done(error, [], None)
