"""Rolling: the writer of a log goes on in another ledger, and closes the one before; writing goes on meanwhile."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from attrs import field, frozen

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.driver import Driver, Promise, Timer
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, InvalidArgument, LogFenced, NoSuchLog
from bookkeeper_tx.replicated_log.acknowledgement import told
from bookkeeper_tx.replicated_log.add_segment import SegmentAdder
from bookkeeper_tx.replicated_log.segment_list import LogSegment

AGAIN_S = 5.0
"""When to try again what has failed."""

FOR_GOOD = (LogFenced, NoSuchLog, ClientClosed)
"""Errors after which this writer never writes again."""


def _above_zero(name: str) -> Callable[[Any, Any, Any], None]:
    def check(_policy: Any, _field: Any, value: Any) -> None:
        if not isinstance(value, (int, float)) or not value > 0:
            raise InvalidArgument(f"{name} {value!r} must be a number above 0")

    return check


@frozen
class RollingPolicy:
    """When a log goes on in another ledger."""

    size_bytes_max: float = field(default=256 * 1024 * 1024, validator=_above_zero("roll_size_bytes"))
    """Payload bytes after which it does: the first write behind them begins it."""
    interval_s: float = field(default=7200.0, validator=_above_zero("roll_interval_s"))
    """Seconds after which it does, if anything was written."""


class Written(Protocol):
    """A log that is being written."""

    @property
    def name(self) -> str: ...

    @property
    def writer(self) -> LedgerWriter: ...

    @property
    def refusal(self) -> BookKeeperError | None: ...

    @property
    def change_ledger(self) -> Callable[[LedgerWriter, LogSegment], Awaitable[LedgerWriter]]: ...

    def refuse(self, error: BookKeeperError) -> None: ...

    def look_at_size(self) -> None: ...


class Rolling:
    """The rolling of one log.  A ledger is added only when the one before the last is closed.

    So a new writer that fences the last two has fenced all that can be written.
    """

    def __init__(self, log: Written, adder: SegmentAdder, policy: RollingPolicy) -> None:
        self._log = log
        self._adder = adder
        self._interval_s = policy.interval_s
        self._driver: Driver = adder.client.driver
        self._before: LedgerWriter | None = None
        """The writer of the ledger before, until that is closed."""
        self._under_way = False
        self._wanted = False
        """Whether to go on in another ledger; if not, only the one before is to be closed."""
        self._waiting: list[Promise[None]] = []
        """Those who wait for the end of the attempt under way."""
        self._behind: list[Promise[None]] = []
        """Those who wait for that of the next one."""
        self._timer: Timer | None = None
        self._wait(self._interval_s, self._time_is_up)

    def begin(self) -> None:
        """Begin to roll, unless that is under way."""
        if not self._under_way:
            self._wanted = True
            self._begin_attempt()

    def begin_soon(self) -> None:
        """Begin to roll once what runs now has returned: the write that notices the size still goes where it was.

        A store may answer at once, and then the ledger would be changed and closed in the midst of that write.
        """
        if not self._under_way:
            self._wait(0, self.begin)

    def _begin_attempt(self) -> None:
        if not self._under_way and self._log.refusal is None:
            self._under_way = True
            self._stop_waiting()
            self._driver.when_done(self._driver.spawn(self._attempt()), self._ended)

    def roll(self) -> Promise[None]:
        """Roll from the ledger of now; fires when that is closed, or with the error of this attempt."""
        if self._log.refusal is not None:
            return self._driver.fail(self._log.refusal.again())
        answer: Promise[None] = self._driver.promise()
        if self._under_way and self._before is not None:
            self._behind.append(answer)  # what is under way has changed the ledger already
        else:
            self._waiting.append(answer)
            self.begin()
        return answer

    async def close(self) -> None:
        """End the rolling, then close what is being written, and delete what was made for a roll that has failed."""
        self._stop_waiting()
        if self._under_way:
            ended: Promise[None] = self._driver.promise()
            self._waiting.append(ended)
            with suppress(BookKeeperError):
                await ended
        try:
            await self._close_before()
            await self._close_last()
        finally:
            await self._adder.drop()

    async def _attempt(self) -> None:
        await self._close_before()
        if self._wanted:
            writer, segment = await self._adder.follow(self._log.writer.ledger_id)
            self._before = await self._log.change_ledger(writer, segment)
            self._wanted = False
            await self._close_before()

    async def _close_before(self) -> None:
        if self._before is not None:
            with suppress(NoSuchLog):  # it is truncated already
                await self._close(self._before)
            self._before = None

    async def _close_last(self) -> None:
        try:
            await self._close(self._log.writer)
        except NoSuchLog as error:
            await self._adder.metadata.read()  # it raises this as well if the log was deleted
            text = f"log {self._log.name}: another writer has taken it, and the ledger that was written is truncated"
            raise LogFenced(text) from error

    async def _close(self, writer: LedgerWriter) -> None:
        try:
            await writer.close()
        except BookKeeperError as error:
            raise told(error, self._log.name) from error

    def _ended(self, error: Exception | None, _: Any) -> None:
        self._under_way = False
        waiting, self._waiting, self._behind = self._waiting, self._behind, []
        if isinstance(error, FOR_GOOD):
            self._log.refuse(error)
        elif isinstance(error, BookKeeperError):
            what = "go on in another ledger" if self._wanted else "close the ledger before"
            self._driver.warn(f"log {self._log.name} could not {what}, and goes on in this: {error}")
            self._wait(AGAIN_S, self._begin_attempt)
        elif error is None:
            self._wait(self._interval_s, self._time_is_up)
        for answer in waiting:
            if error is None:
                answer.callback(None)
            else:
                answer.errback(error.again() if isinstance(error, BookKeeperError) else error)
        self._go_on()
        if error is None:
            self._log.look_at_size()
        elif not isinstance(error, BookKeeperError):
            raise error  # a mistake here

    def _go_on(self) -> None:
        """Begin the next attempt for those who have asked for it while the ledger before was closed."""
        refusal = self._log.refusal
        if self._waiting and refusal is None:
            self.begin()
        elif refusal is not None:
            refused, self._waiting = self._waiting, []
            for answer in refused:
                answer.errback(refusal.again())

    def _time_is_up(self) -> None:
        if self._log.writer.last_add_confirmed < 0:
            self._wait(self._interval_s, self._time_is_up)
        else:
            self.begin()

    def _wait(self, delay_s: float, function: Callable[[], None]) -> None:
        self._stop_waiting()
        if self._log.refusal is None:
            self._timer = self._driver.clock.callLater(delay_s, self._due, function)

    def _due(self, function: Callable[[], None]) -> None:
        self._timer = None
        function()

    def _stop_waiting(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
