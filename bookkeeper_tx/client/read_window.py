"""How much a reader asks for at a time: as many bytes in flight as the link soon brings (docs/guides/client.md)."""

from collections import deque

from attrs import define

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun

START_SIZE = 64 * 1024
"""Bytes in flight before anything is known of the link; never fewer later on."""

NEAR_SIZE_MAX = 4 * 1024 * 1024
"""Bytes in flight that keep both sides of a fast link busy, unless it is a long one."""

FAR_SIZE_MAX = 16 * 1024 * 1024
"""Bytes in flight at most: a gigabit with a round trip of a tenth of a second."""

SPAN_S = 0.25
"""As much is in flight as the link brings in this time, or in two round trips if these take longer."""

TIMEOUT_SHARE = 4
"""The bytes in flight take at most this part of a time-out."""

COPIES = 4
"""How often a byte may be in memory: as it came, in its run, as a payload, and in the caller's piece."""

RATES_KEPT = 8
"""Answers that tell how fast the link is: the fastest counts, since a bookie may be slow and a request small."""

ELAPSED_MIN_S = 1e-6

FIRST_SINGLES = 8
"""Single reads that are sent while the size of entries is not known, or fewer: each may be as large as a frame."""


@define
class Asked:
    """A request in flight: the size it is expected to bring, and the state when it was sent."""

    size: int
    sent_s: float
    delivered: int
    delivered_s: float


class ReadWindow:
    """The bytes that all range reads of one handle have in flight, and the speed and sizes learnt from their answers.

    The speed of the link is measured from the delivery before a request was sent to the delivery of its answer, so that
    neither pauses of the reader nor answers that come at once count.  The time is an argument.
    """

    def __init__(self, config: ClientConfig, entry_size: float) -> None:
        self.entry_size = entry_size
        """Bytes that an entry is expected to have in a batch reply; 0 while nothing is known."""
        memory = config.read_bytes_max // COPIES
        self.size_max = max(START_SIZE, min(FAR_SIZE_MAX, memory))
        self._first_singles = max(1, min(FIRST_SINGLES, memory // config.frame_size_max))
        self.size = START_SIZE
        """Bytes that may be in flight now."""
        self.in_flight = 0
        self._span_max_s = config.read_timeout_s / TIMEOUT_SHARE
        self._delivered = 0
        self._delivered_s = 0.0
        self._rates: deque[float] = deque(maxlen=RATES_KEPT)
        self._round_trip_s = self._span_max_s

    def sent(self, size: int, now: float) -> Asked:
        """Take note of a request for about ``size`` bytes; pass the result to :meth:`arrived`."""
        if not self.in_flight:
            self._delivered_s = now
        self.in_flight += size
        return Asked(size, now, self._delivered, self._delivered_s)

    def arrived(self, asked: Asked, run: EntryRun | None, now: float) -> None:
        """Take note of the answer to a request: its entries, or None if they could not be had."""
        self.in_flight -= asked.size
        if run is None:
            return
        self._delivered += run.size
        self._delivered_s = now
        rate = (self._delivered - asked.delivered) / max(now - asked.delivered_s, ELAPSED_MIN_S)
        self._rates.append(rate)
        self._round_trip_s = min(self._round_trip_s, now - asked.sent_s)
        self.size = int(max(START_SIZE, min(self.size + run.size, self._worth(), self.size_max)))
        self.learn(run)

    def learn(self, run: EntryRun) -> None:
        """Expect entries as large as those of ``run``: larger ones at once, smaller ones by and by."""
        size = run.size / run.count - run.prefix + RECORD_LENGTH_SIZE
        self.entry_size = size if size > self.entry_size else (size + self.entry_size) / 2

    def count_for(self, size: int) -> int:
        """Return how many entries are about ``size`` bytes, at least one; a few while nothing is known."""
        return max(1, int(size / self.entry_size)) if self.entry_size else self._first_singles

    def _worth(self) -> float:
        """Return how many bytes in flight are of use."""
        rate = max(self._rates)
        return max(min(rate * SPAN_S, NEAR_SIZE_MAX), rate * min(2 * self._round_trip_s, self._span_max_s))
