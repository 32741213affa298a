"""One wait for the last add confirmed of a ledger that is being written (docs/protocol/long-poll.md).

It sends long polls to the bookies of the last ensemble, each a little later than the one before, until one of them
knows a last add confirmed past the reader's.  A bookie that fails is asked again after a while.  When all fail, as
bookies without V3 do, the ensemble is asked by plain reads from time to time.  A change of the metadata ends the wait
at once when the ledger was closed, and redirects it when the ensemble was changed.
"""

from collections.abc import Callable, Coroutine
from math import ceil
from typing import Any

from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.driver import Promise, Timer
from bookkeeper_tx.errors import (
    BookKeeperError,
    DigestMismatch,
    LedgerScopeNotSupported,
    LocalError,
    NoSuchEntry,
    NoSuchLedger,
    TooManyRequests,
)
from bookkeeper_tx.model import BookieId, Entry, ledger_name
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed

POLL_MAX_S = 30.0
"""Longest single long poll: it bounds the time until a connection that died silently is noticed."""

SPECULATION_S = 1.5
"""Time between the polls to one bookie and to the next: the first may know less than the others.  It is less if the
first is to answer at once and does not, as slow reads are found (``client/replica_read.py``)."""

AGAIN_S = 0.5
"""Pause before a bookie is asked again that failed or answered without waiting, and between plain reads."""


class TailWait:
    """One wait; ``deferred`` fires with (last add confirmed, the entry after ``beyond`` or None).

    It fires when the last add confirmed is past ``beyond``, when the ledger is closed, or after ``timeout_s`` with the
    last add confirmed known then.  It fails when no bookie has answered by then, or when the ledger is deleted.
    """

    def __init__(self, reader: LedgerView, beyond: int, timeout_s: float) -> None:
        self._reader = reader
        self._driver = reader.context.driver
        self._clock = self._driver.clock
        self._beyond = beyond
        self._deadline = self._clock.seconds() + timeout_s
        self._timeout_s = timeout_s
        self._ensemble: tuple[BookieId, ...] = ()
        self._unasked: list[BookieId] = []
        self._polls: dict[BookieId, Callable[[], None]] = {}
        """Bookie → the function that gives up the long poll that waits there."""
        self._calls: set[Timer] = set()
        self._errors: dict[BookieId, BookKeeperError] = {}
        """The bookies that failed the last time they were asked."""
        self._answered = False
        self._reading: Promise[Any] | None = None
        """A read of the last add confirmed, or of the metadata, that is under way."""
        self._read_due_s = 0.0
        self._over = False
        self._stop_listening: Callable[[], None] = lambda: None
        self.deferred: Promise[tuple[int, Entry | None]] = self._driver.cancellable(lambda _: self._end())

    def start(self) -> "Promise[tuple[int, Entry | None]]":
        """Ask the first bookie."""
        self._later(self._timeout_s, self._timed_out)
        self._stop_listening = self._reader.when_changed(self._refresh)
        self._ask_ensemble()
        if self._reader.stale or not self._reader.watched:
            self._refresh()
        return self.deferred

    # Bookies ---------------------------------------------------------------------------------------------------------

    def _ask_ensemble(self) -> None:
        self._drop_polls()
        ensemble = self._reader.metadata.last_fragment.ensemble
        # Entry beyond + 1 is confirmed by an add of entry beyond + 2: begin with the first bookie of its write set,
        # which stores both entries if the write quorum is above 1.
        first = self._beyond + 2
        order = [ensemble[(first + step) % len(ensemble)] for step in range(len(ensemble))]
        self._ensemble = ensemble
        self._unasked = sorted(order, key=self._reader.context.rank())
        self._ask_next()

    def _ask_next(self) -> None:
        speculation_s = SPECULATION_S
        if self._unasked:
            bookie_id = self._unasked.pop(0)
            if bookie_id not in self._reader.polled:
                speculation_s = min(speculation_s, self._reader.context.reads.pace(bookie_id).speculation_s)
            self._poll(bookie_id)
        if self._unasked:
            self._later(speculation_s, self._ask_next)

    def _poll(self, bookie_id: BookieId) -> None:
        if bookie_id in self._polls or bookie_id not in self._ensemble:
            return
        reader, now = self._reader, self._clock.seconds()
        wait_s = min(POLL_MAX_S, max(0.0, self._deadline - now))
        # The first poll to a bookie does not wait: Java's DbLedgerStorage lets the first long poll of a ledger wait its
        # whole time even if the last add confirmed is past ``beyond`` already (S6 in docs/protocol/errata.md).
        timeout_ms = ceil(wait_s * 1000) if bookie_id in reader.polled else 0
        reader.polled.add(bookie_id)
        channel = reader.context.channel(bookie_id, reader.ledger_id)

        def done(error: BookKeeperError | None, value: Any) -> None:
            if self._polls.pop(bookie_id, None) is not None:
                waited = self._clock.seconds() - now >= wait_s / 2
                self._replied(bookie_id, error, value, at_once=bool(timeout_ms) and not waited)

        request = AwaitLastAddConfirmed(reader.ledger_id, self._beyond, timeout_ms, piggyback=True)
        self._polls[bookie_id] = channel.send(request, done)

    def _replied(self, bookie_id: BookieId, error: BookKeeperError | None, value: Any, at_once: bool) -> None:
        entry: Entry | None = None
        if error is None and value[0] > self._beyond and value[2] is not None:
            try:
                entry = self._verified(*value[1:])
            except DigestMismatch as mismatch:
                error = mismatch
        if isinstance(error, (NoSuchEntry, NoSuchLedger)):
            # The bookie stores nothing of the ledger yet, so it did not wait.
            self._answered = True
            self._errors.pop(bookie_id, None)
            self._later(AGAIN_S, self._poll, bookie_id)
            self._ask_next()
        elif error is not None:
            self._failed(bookie_id, error)
        else:
            self._answered = True
            self._errors.pop(bookie_id, None)
            self._reader.learn_last_add_confirmed(value[0])
            if value[0] > self._beyond:
                self._finish(entry)
            elif at_once:
                self._later(AGAIN_S, self._poll, bookie_id)
            else:
                self._poll(bookie_id)

    def _verified(self, entry_id: int, entry: bytes) -> Entry | None:
        """Return the entry of the reply, None if it is another entry than the next; raises DigestMismatch."""
        if entry_id != self._beyond + 1:
            return None
        reader = self._reader
        _, last_add_confirmed, length, payload = reader.digest.verify(reader.ledger_id, entry_id, entry)
        return Entry(reader.ledger_id, entry_id, payload, last_add_confirmed, length)

    def _failed(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        if self._hopeless(error):
            self._fail(error)
            return
        if not isinstance(error, TooManyRequests):
            # The bookie has too many long polls; it serves other requests as before, so no quarantine.
            self._reader.context.bookies.quarantine(bookie_id, error)
        self._errors[bookie_id] = error
        # The next poll may reach another process, of another release: let its first one not wait either.
        self._reader.polled.discard(bookie_id)
        self._later(AGAIN_S, self._poll, bookie_id)
        self._ask_next()
        if len(self._errors) == len(self._ensemble):
            self._read()

    @staticmethod
    def _hopeless(error: BaseException) -> bool:
        """Return whether neither another bookie nor another attempt can succeed after ``error``."""
        if not isinstance(error, BookKeeperError):
            return True
        return isinstance(error, LocalError) and not isinstance(error, LedgerScopeNotSupported)

    # Without long polls ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """No bookie takes a long poll: ask all of them with plain reads."""
        if self._reading is None and self._clock.seconds() >= self._read_due_s:
            self._read_due_s = self._clock.seconds() + AGAIN_S
            self._begin(self._reader.ask_last_add_confirmed(explicit=False), self._read_done)

    def _read_done(self, error: Exception | None, _: Any) -> None:
        self._reading = None
        if self._over:
            return
        if error is not None and self._hopeless(error):
            self._fail(error)
            return
        if error is None:
            self._answered = True
        self._look_again()

    # Metadata --------------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        if self._reading is None:
            self._begin(self._reader.refresh(), self._refreshed)

    def _refreshed(self, error: Exception | None, _: Any) -> None:
        self._reading = None
        if self._over:
            return
        if error is None:
            self._look_again()
        elif isinstance(error, NoSuchLedger) or self._hopeless(error):
            self._fail(error)
        else:
            self._later(AGAIN_S, self._look_again)

    def _begin(self, reading: Coroutine[Any, Any, object], done: Callable[[Exception | None, Any], None]) -> None:
        self._reading = self._driver.spawn(reading)
        self._driver.when_done(self._reading, done)

    def _look_again(self) -> None:
        """After new knowledge: end the wait, refresh the metadata, or turn to a new ensemble, as needed."""
        reader = self._reader
        if self._over:
            return
        if reader.closed or reader.last_add_confirmed > self._beyond:
            self._finish(None)
        elif reader.stale:
            self._refresh()
        elif reader.metadata.last_fragment.ensemble != self._ensemble:
            self._errors.clear()
            self._ask_ensemble()

    # End -------------------------------------------------------------------------------------------------------------

    def _timed_out(self) -> None:
        if self._answered or not self._errors:
            self._finish(None)
            return
        reasons = "; ".join(f"{bookie_id}: {error}" for bookie_id, error in self._errors.items())
        kind = type(next(iter(self._errors.values())))
        ledger = ledger_name(self._reader.ledger_id)
        self._fail(kind(f"no bookie tells the last add confirmed of ledger {ledger} ({reasons})"))

    def _finish(self, entry: Entry | None) -> None:
        self._end()
        self.deferred.callback((self._reader.last_add_confirmed, entry))

    def _fail(self, error: BaseException) -> None:
        self._end()
        self.deferred.errback(error)

    def _end(self) -> None:
        """Give up everything under way; later answers have no effect."""
        self._over = True
        self._stop_listening()
        for call in self._calls:
            call.cancel()
        self._calls.clear()
        self._unasked = []
        self._drop_polls()
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()

    def _drop_polls(self) -> None:
        polls, self._polls = self._polls, {}
        for give_up in polls.values():
            give_up()

    def _later(self, delay_s: float, function: Callable[..., None], *arguments: Any) -> None:
        def due() -> None:
            self._calls.discard(call)
            function(*arguments)

        call = self._clock.callLater(delay_s, due)
        self._calls.add(call)
