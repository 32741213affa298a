"""Appends without an end: after each acknowledgement the next one is sent."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.driver import Driver, Promise
from tests.integration.support.our_client import make_driver


class AppendStream:
    """Keeps ``window`` appends of one writer on their way; entry ``i`` has the payload ``payload_of(i)``.

    To be started and stopped where the client is, with ``wait_for``; counters may be looked at from any thread.
    """

    _driver: Driver

    def __init__(self, writer: Any, payload_of: Callable[[int], bytes], window: int) -> None:
        self.writer = writer
        self.payload_of = payload_of
        self.window = window
        self.acknowledged: list[int] = []
        """Entry ids, in the order they came."""
        self.outstanding_min = window
        """The fewest that were on their way since it was last set, until the stream was stopped or failed."""
        self.error: BaseException | None = None
        """The error of the first append that failed."""
        self._sent = 0
        self._answered = 0
        self._stopped = False
        self._ended: Promise[None] | None = None

    @property
    def ledger_id(self) -> int:
        return int(self.writer.ledger_id)

    @property
    def sent(self) -> int:
        return self._sent

    @property
    def outstanding(self) -> int:
        """Appends that are not answered."""
        return self._sent - self._answered

    def start(self) -> None:
        self._driver = make_driver()
        for _ in range(self.window):
            self._append()

    def stop(self) -> "Promise[None]":
        """Append no more; fires when all are answered."""
        self._stopped = True
        self._ended = ended = self._driver.promise()
        self._look()
        return ended

    def _append(self) -> None:
        self._sent += 1
        self._driver.when_done(self.writer.append(self.payload_of(self._sent - 1)), self._answered_one)

    def _answered_one(self, error: Exception | None, entry_id: Any) -> None:
        self._answered += 1
        if error is not None:
            self.error = self.error or error
        else:
            self.acknowledged.append(entry_id)
            if not self._stopped and self.error is None:
                self.outstanding_min = min(self.outstanding_min, self.outstanding)
                self._append()
        self._look()

    def _look(self) -> None:
        if self._ended is not None and not self.outstanding and not self._ended.called:
            self._ended.callback(None)
