"""Reading a verified, non-empty prefix of a range from one replica, by batch or by single reads."""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import pairwise
from typing import Any

from bookkeeper_tx.client.batch_read import COUNT_MAX, BatchAttempt
from bookkeeper_tx.client.bookie_watcher import NOT_ASKED
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replicas import Replicas, more_telling, of_replica
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError, ClientClosed, ProtocolViolation
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


class PrefixRead:
    """Reads entries from ``first_entry_id`` on, at most to ``last_entry_id`` or the end of the fragment.

    ``done(error, payloads, run)`` gets at least one payload.  ``max_size`` bounds the reply as a bookie counts it:
    36 bytes and 4 more than the size of each entry; the first entry comes whatever its size.  With ``fast_fail`` no
    congested bookie is asked.
    """

    __slots__ = (
        "_at",
        "_done",
        "_error",
        "_fast_fail",
        "_first",
        "_lacking",
        "_last",
        "_max_size",
        "_order",
        "_reader",
        "_replicas",
        "_retried",
        "_style",
    )

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
        self._reader = reader
        self._first = first_entry_id
        self._last = last_entry_id
        self._max_size = max_size
        self._style = style
        self._done = done
        self._fast_fail = fast_fail
        self._replicas: Replicas
        self._order: Sequence[int] = ()
        self._at = 0
        self._error: BookKeeperError | None = None
        self._lacking: BatchReadNotSupported | None = None
        self._retried = False

    def start(self) -> None:
        """Ask the first replica."""
        self._replicas = self._reader.replicas_of(self._first)
        self._order = self._replicas.order(self._first, self._reader.context)
        self._ask()

    def _ask(self) -> None:
        index = self._order[self._at]
        if self._fast_fail and self._replicas.channels[index].congested:
            self._ask_next(NOT_ASKED)
            return
        if self._style is ReadStyle.SINGLES:
            self._ask_by_singles()
            return
        last = min(self._last, self._replicas.last_entry_id)
        BatchAttempt(
            self._reader.context,
            self._replicas.bookies[index],
            self._replicas.channels[index],
            self._reader.ledger_id,
            self._first,
            min(last - self._first + 1, COUNT_MAX),
            self._max_size,
            self._replied,
        ).start()

    def _ask_by_singles(self) -> None:
        reader = self._reader
        last = min(self._last, self._replicas.last_entry_id, self._first + reader.single_reads_for(self._max_size) - 1)
        channel = self._replicas.channels[self._order[self._at]]
        channel.read_range(reader.ledger_id, self._first, last, self._replied, self._max_size)

    def _replied(self, error: BookKeeperError | None, run: Any) -> None:
        if isinstance(error, BatchReadNotSupported):
            if self._style is ReadStyle.BATCH_ELSE_SINGLES:
                self._ask_by_singles()
            else:
                self._lacking = error
                self._ask_next(error)
        elif error is not None:
            self._ask_next(error)
        else:
            self._verify_run(run)

    def _verify_run(self, run: EntryRun) -> None:
        reader = self._reader
        if run.ledger_id != reader.ledger_id or run.first_entry_id != self._first or not run.count:
            self._ask_next(ProtocolViolation(f"asked for entries from {self._first} on, got {run!r}"))
            return
        payloads = reader.digest.verify_run(run)
        # Entries past the end were never acknowledged, but a bookie that has them serves them.  They are dropped: the
        # same request gives the same entries by batch reads and by single reads.
        del payloads[min(self._last - self._first + 1, count_within(run, self._max_size)) :]
        if payloads:
            self._done(None, payloads, run)
        else:
            self._refuse_first(run.entry(self._first))

    def _refuse_first(self, entry: Any) -> None:
        """The first entry is bad: verify it alone, for the error, and ask the next replica."""
        try:
            self._reader.digest.verify(self._reader.ledger_id, self._first, entry)
        except BookKeeperError as error:
            self._ask_next(error)
        else:
            raise AssertionError("an entry verifies alone but not in a run")

    def _ask_next(self, error: BookKeeperError) -> None:
        if isinstance(error, ClientClosed):
            self._done(error, [], None)
            return
        reader = self._reader
        if error is not self._lacking:
            bookie_id = self._replicas.bookies[self._order[self._at]]
            reader.context.bookies.quarantine(bookie_id, error)
            self._error = more_telling(self._error, of_replica(error, reader.ledger_id, self._first, bookie_id))
        self._at += 1
        if self._at < len(self._order):
            self._ask()
        elif self._retried:
            self._give_up()
        else:
            self._retried = True
            reader.after_failure(self._first, self._replicas, self._again, self._give_up)

    def _again(self) -> None:
        """The ledger has another fragment there now: ask its bookies."""
        self._error, self._lacking, self._at = None, None, 0
        self.start()

    def _give_up(self) -> None:
        error = self._lacking or self._error
        assert error is not None
        self._done(error, [], None)
