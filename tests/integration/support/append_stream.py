"""Appends without an end: after each acknowledgement the next one is sent."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_tx.client.ledger_writer import LedgerWriter


class AppendStream:
    """Keeps ``window`` appends of one writer on their way; entry ``i`` has the payload ``payload_of(i)``.

    To be started and stopped on the reactor thread; counters may be looked at from any other.
    """

    def __init__(self, writer: LedgerWriter, payload_of: Callable[[int], bytes], window: int) -> None:
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
        self._ended: Deferred[None] = Deferred()

    @property
    def ledger_id(self) -> int:
        return self.writer.ledger_id

    @property
    def sent(self) -> int:
        return self._sent

    @property
    def outstanding(self) -> int:
        """Appends that are not answered."""
        return self._sent - self._answered

    def start(self) -> None:
        for _ in range(self.window):
            self._append()

    def stop(self) -> Deferred[None]:
        """Append no more; fires when all are answered."""
        self._stopped = True
        self._look()
        return self._ended

    def _append(self) -> None:
        self._sent += 1
        appended = self.writer.append(self.payload_of(self._sent - 1))
        appended.addCallbacks(self._acknowledged, self._failed)

    def _acknowledged(self, entry_id: int) -> None:
        self._answered += 1
        self.acknowledged.append(entry_id)
        if not self._stopped and self.error is None:
            self.outstanding_min = min(self.outstanding_min, self.outstanding)
            self._append()
        self._look()

    def _failed(self, failure: Failure) -> None:
        self._answered += 1
        if self.error is None:
            self.error = failure.value
        self._look()

    def _look(self) -> None:
        if self._stopped and not self.outstanding and not self._ended.called:
            self._ended.callback(None)
