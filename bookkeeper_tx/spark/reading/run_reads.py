"""Reading consecutive entries from one bookie, several requests in flight."""

from collections import deque
from collections.abc import Iterator

from attrs import define, frozen

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BookKeeperError, ProtocolViolation
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.protocol.client.completion import joined
from bookkeeper_tx.protocol.v2_frames import BATCH_REPLY_SIZE
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.transport.blocking import BlockingChannel, Token

FIRST_COUNT = 64
"""Entries of a batch read while their size is not known; the reply has a size limit anyway."""

FIRST_SINGLES = 8
"""Single reads in flight while the size of entries is not known: each may be as large as a frame."""

BATCHES_IN_FLIGHT = 3
"""One that the reader takes in, one on the network, and one that the bookie makes."""

SINGLES_PER_REQUEST = 64
"""Single reads that complete together.  At worst a reader holds so many entries that are each as large as a frame."""

JOINED_SIZE = 64 * 1024
"""Bytes of a run that is large enough to be handled by itself."""


@frozen(kw_only=True)
class ReadSizes:
    """How much to ask for at a time."""

    batch_size_max: int = 1024 * 1024
    """Bytes of one batch reply; the first entry comes whatever its size."""
    window: int = 512
    """Single reads in flight."""


@define(eq=False)
class SizeEstimate:
    """The expected size of a ledger's entries, learnt from those that came."""

    bytes_per_entry: float = 0.0
    """0 while it is not known."""

    def learn(self, run: EntryRun) -> None:
        self.bytes_per_entry = run.size / run.count - run.prefix + RECORD_LENGTH_SIZE

    def count_for(self, size: int) -> int:
        """Return how many entries are about ``size`` bytes in a batch reply."""
        if not self.bytes_per_entry:
            return FIRST_COUNT
        return max(1, int((size - BATCH_REPLY_SIZE) / self.bytes_per_entry))

    def singles_for(self, sizes: ReadSizes) -> int:
        """Return how many single reads may be in flight: together no more bytes than a few batch replies."""
        if not self.bytes_per_entry:
            return min(sizes.window, FIRST_SINGLES)
        return min(sizes.window, BATCHES_IN_FLIGHT * self.count_for(sizes.batch_size_max))


@define(eq=False)
class _Request:
    """A request in flight, for the entries ``first`` … ``last``."""

    token: Token
    first: int
    last: int


class RunReads:
    """Reads the entries ``first`` … ``last`` of a ledger from one bookie: by batch, if it serves that, or single reads.

    Iterate over it for the runs, not verified, in order and without a gap.  It raises the bookie's error for the first
    entry that the bookie does not give, and the errors of the channel.  The next requests are in flight before a run is
    given out.
    """

    def __init__(
        self,
        channels: BookieChannels,
        bookie: BookieId,
        ledger_id: int,
        first: int,
        last: int,
        *,
        batch: bool,
        sizes: ReadSizes,
        estimate: SizeEstimate,
    ) -> None:
        self._channels = channels
        self._bookie = bookie
        self._ledger_id = ledger_id
        self._next = first
        self._last = last
        self._batch = batch
        self._sizes = sizes
        self._estimate = estimate
        self._in_flight: deque[_Request] = deque()
        self._channel: BlockingChannel

    def __iter__(self) -> Iterator[EntryRun]:
        channels, bookie = self._channels, self._bookie
        self._batch = self._batch and channels.serves_batch(bookie, self._ledger_id, self._next)
        self._channel = channels.channel(bookie, self._ledger_id)
        try:
            self._ask_on()
            while self._in_flight:
                runs = [self._take()]
                error: BookKeeperError | None = None
                # Many small runs take longer than one large run.
                while error is None and self._more_at_hand(runs):
                    try:
                        runs.append(self._take())
                    except BookKeeperError as raised:
                        error = raised
                run = joined(runs)
                self._estimate.learn(run)
                if error is None:
                    self._ask_on()
                channels.received(bookie, run.count, run.size)
                yield run
                if error is not None:
                    raise error
        finally:
            self._channel.forget([request.token for request in self._in_flight])

    def _take(self) -> EntryRun:
        """Wait for the oldest request, and ask again for the entries that its reply lacks."""
        request = self._in_flight.popleft()
        run = self._checked(self._channel.result(request.token), request)
        if run.last_entry_id < request.last:
            self._in_flight.appendleft(self._ask(run.last_entry_id + 1, request.last))
        return run

    def _more_at_hand(self, runs: list[EntryRun]) -> bool:
        """Tell whether ``runs`` are small, and the next can be taken without waiting and joined to them."""
        return (
            bool(self._in_flight)
            and self._channel.done(self._in_flight[0].token)
            and sum(run.size for run in runs) < JOINED_SIZE
        )

    def _ask_on(self) -> None:
        """Send requests until as many are in flight as allowed."""
        in_flight_max, count_max = self._limits()
        while self._next <= self._last and len(self._in_flight) < in_flight_max:
            last = min(self._last, self._next + count_max - 1)
            self._in_flight.append(self._ask(self._next, last))
            self._next = last + 1
        self._channel.flush()

    def _limits(self) -> tuple[int, int]:
        """Return how many requests may be in flight, and for how many entries each."""
        sizes = self._sizes
        count = self._estimate.count_for(sizes.batch_size_max)
        if not self._batch:
            in_flight = self._estimate.singles_for(sizes)
            count = min(count, SINGLES_PER_REQUEST, in_flight)
            return in_flight // count, count
        # While the size of entries is not known, a single request finds it out.
        return BATCHES_IN_FLIGHT if self._estimate.bytes_per_entry else 1, count

    def _ask(self, first: int, last: int) -> _Request:
        self._channels.before_request(self._bookie)
        if self._batch:
            token = self._channel.start_batch_read(self._ledger_id, first, last - first + 1, self._sizes.batch_size_max)
        else:
            token = self._channel.start_range_read(self._ledger_id, first, last)
        return _Request(token, first, last)

    def _checked(self, run: EntryRun, request: _Request) -> EntryRun:
        """Return the part of ``run`` that was asked for."""
        if run.ledger_id != self._ledger_id or run.first_entry_id != request.first or not run.count:
            raise ProtocolViolation(f"asked for entries {request.first} … {request.last}, got {run!r}")
        # A bookie may send more than it was asked for.
        return run.part(request.first, min(run.last_entry_id, request.last))
