"""The only writer of a log: writes go to its newest ledger, which is followed by another now and then."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Self

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.driver import Promise, answer_all
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, LogClosed, TooManyOutstandingAdds
from bookkeeper_tx.replicated_log.acknowledgement import Acknowledgements, told
from bookkeeper_tx.replicated_log.add_segment import SegmentAdder
from bookkeeper_tx.replicated_log.dlsn import DLSN
from bookkeeper_tx.replicated_log.rolling import Rolling, RollingPolicy
from bookkeeper_tx.replicated_log.segment_list import LogSegment

PUBLISH_AFTER_S: Final = 0.001
"""How soon followers hear of the last of several records: whoever writes one by one has sent the next by then."""

Held = tuple[Callable[[Any, Any], None], Any, Any]
"""What sends a write, its payload or payloads, and its promise."""


class LogWriter:
    """Writes to one log, as the only one who can, until another writer opens it or this one is closed.

    Writes are sent in the order of the calls and complete in that order, also across ledgers.  As many may wait as of a
    :class:`~bookkeeper_tx.LedgerWriter`.
    """

    def __init__(self, adder: SegmentAdder, writer: LedgerWriter, segment: LogSegment, policy: RollingPolicy) -> None:
        self.name = adder.metadata.name
        """The name of the log."""
        self._driver = adder.client.driver
        self._promise = self._driver.promise
        self._held_max = 2 * adder.client.config.outstanding_adds_max
        """The records that may wait for the next ledger: as many as that takes, on their way and held back."""
        self._held_count = 0
        self._begin(writer, segment)
        self._held: deque[Held] | None = None
        """The writes that wait while the ledger is changed, None at all other times."""
        self._refusal: BookKeeperError | None = None
        """The error of new writes, once this takes no more."""
        self._aside = False
        """Whether one of these two is so: looked at by each write."""
        self._closing: list[Promise[None]] = []
        self._rolling = Rolling(self, adder, policy)
        self._size_bytes_max = policy.size_bytes_max
        self.look_at_size()

    @property
    def log_segment_sequence_no(self) -> int:
        """The number of the ledger that is being written, of all that the log ever had."""
        return self._sequence_no

    @property
    def ledger_id(self) -> int:
        """The id of the ledger that is being written."""
        return self._writer.ledger_id

    @promised
    def write(self, payload: bytes) -> Promise[DLSN]:
        """Write one record; gives its position when it and all before it are stored.

        :param payload: bytes, as for :meth:`bookkeeper_tx.LedgerWriter.append`
        :raises LogFenced: another writer has taken the log; the record may be in it or not
        :raises LogClosed: this writer was closed
        :raises InvalidArgument: the payload is too large, or is not bytes
        :raises TooManyOutstandingAdds: too many writes wait already
        :raises BookKeeperError: the other errors of :meth:`bookkeeper_tx.LedgerWriter.append`, after which the log has
            to be opened again
        """
        # Of each write: what the append of a ledger does, and no more.
        if self._aside or type(payload) is not bytes or len(payload) > self._payload_size_max:
            promise: Promise[DLSN] = self._promise()
            self.write_for(payload, promise)
            return promise
        return self._append(payload)

    def write_for(self, payload: bytes, promise: Any) -> None:
        """Write as :meth:`write`, with a promise of the caller's, which ends: for faces of the client."""
        if self._aside:
            self._hold_one(payload, promise)
        else:
            self._append_for(payload, promise)

    @promised
    def write_bulk(self, payloads: Iterable[bytes]) -> Promise[list[DLSN]]:
        """Write records in order, all into one ledger; gives their positions when all are stored.

        :param payloads: as for :meth:`write`; they are all read before the first is sent, and held in memory
        :raises BookKeeperError: the errors of :meth:`write`; some of the first records may have been stored
        """
        promise: Promise[list[DLSN]] = self._promise()
        try:
            # A copy: the caller may change what was given, and a generator may run what changes the ledger.
            checked = list(map(self._writer.checked, payloads))
        except BaseException as error:  # also of a generator: that is the end of this call alone
            promise.errback(error)
            return promise
        if self._aside:
            self._hold(self._append_bulk, checked, promise, len(checked))
        else:
            self._append_bulk(checked, promise)
        return promise

    @promised
    def roll(self) -> Promise[None]:
        """Go on in another ledger; done when that is so and the one before is closed.

        :raises LogFenced: another writer has taken the log
        :raises BookKeeperError: that was not possible now; it is tried again
        """
        return self._rolling.roll()

    @promised
    def close(self) -> Promise[None]:
        """Wait for the outstanding writes, then close the ledger that is being written.

        :raises LogFenced: another writer has taken the log
        :raises BookKeeperError: the errors of :meth:`bookkeeper_tx.LedgerWriter.close`
        """
        answer: Promise[None] = self._promise()
        self.refuse(LogClosed(f"log {self.name}: this writer has closed it"))
        self._closing.append(answer)
        if len(self._closing) == 1:
            self._driver.when_done(self._driver.spawn(self._rolling.close()), self._answer_close)
        return answer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close, also after an error: at the last record that was acknowledged."""
        await self.close()

    # For rolling -----------------------------------------------------------------------------------------------------

    @property
    def writer(self) -> LedgerWriter:
        """That of the ledger that is being written."""
        return self._writer

    @property
    def refusal(self) -> BookKeeperError | None:
        """The error of new writes, once this takes no more."""
        return self._refusal

    def refuse(self, error: BookKeeperError) -> None:
        """Let new writes fail with ``error``, or with that of the first call."""
        self._refusal = self._refusal or error
        self._aside = True

    def look_at_size(self) -> None:
        """Have the log rolled once the ledger has its size, and something is written behind that."""
        self._writer.tell_at(self._size_bytes_max, self._rolling.begin_soon)

    async def change_ledger(self, writer: LedgerWriter, segment: LogSegment) -> LedgerWriter:
        """Let writes go to another ledger once all that were sent to this one are stored; return the one before.

        A write that fails there would leave a gap in front of one that is stored here: then this writer has failed.
        """
        before = self._writer
        self._held, self._held_count, self._aside = deque(), 0, True
        try:
            await before.drained()
        except BookKeeperError as failed:
            error = told(failed, self.name)
            self.refuse(error)
            held, self._held = self._held, None
            for _, _, promise in held:
                promise.errback(error.again())
            raise error from failed
        self._begin(writer, segment)
        while self._held:
            send, payload, promise = self._held.popleft()
            send(payload, promise)
        self._held, self._aside = None, self._refusal is not None
        return before

    # -----------------------------------------------------------------------------------------------------------------

    def _begin(self, writer: LedgerWriter, segment: LogSegment) -> None:
        self._writer = writer
        self._sequence_no = segment.log_segment_sequence_no
        self._acknowledgements = Acknowledgements(self._sequence_no)
        self._append = writer.answer(self._acknowledgements, partial(told, log=self.name))
        writer.publish_when_idle(PUBLISH_AFTER_S)
        self._payload_size_max = writer.payload_size_max

    def _append_for(self, payload: bytes, promise: Any) -> None:
        self._writer.append_for(payload, promise)

    def _append_bulk(self, payloads: Sequence[bytes], promise: Any) -> None:
        self._writer.append_many_for(payloads, promise, self._acknowledgements.many)

    def _hold_one(self, payload: bytes, promise: Any) -> None:
        try:
            self._hold(self._append_for, self._writer.checked(payload), promise, 1)
        except InvalidArgument as error:
            promise.errback(error)

    def _hold(self, send: Callable[[Any, Any], None], payload: Any, promise: Any, count: int) -> None:
        """Keep a write until the ledger is changed, or refuse it."""
        if self._refusal is not None:
            promise.errback(self._refusal.again())
        elif self._held is not None and self._held_count < self._held_max:
            self._held_count += count
            self._held.append((send, payload, promise))
        else:
            promise.errback(TooManyOutstandingAdds(f"log {self.name}: too many writes wait for its next ledger"))

    def _answer_close(self, error: Exception | None, _: Any) -> None:
        answers, self._closing = self._closing, []
        answer_all(answers, error)
