"""The range reads of one connection that wait for the replies to their single reads; no IO, no clock."""

from itertools import chain
from math import inf
from typing import Any

from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import RemoteError
from bookkeeper_tx.protocol.client.completion import Completion, RangeRead
from bookkeeper_tx.protocol.client.slow_requests import Tell


class RangeReads:
    """Range reads by ledger: V2 replies name ledger and entry, and not the request."""

    def __init__(self) -> None:
        self._ranges: dict[int, list[RangeRead]] = {}
        self.answered: float | None = None
        """The earliest deadline of the ranges that were answered in part lately; set to None to look anew."""

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def add(self, whole: RangeRead) -> None:
        """Wait for the replies to ``whole``."""
        self._ranges.setdefault(whole.ledger_id, []).append(whole)

    def take(self, run: EntryRun, done: list[Completion]) -> None:
        """Hand entries to the ranges that want them."""
        for waiting in self._ranges.get(run.ledger_id, ()):
            if waiting.first <= run.first_entry_id <= waiting.last:
                self._note(waiting)
            waiting.take(run)
        self._complete(run.ledger_id, done)

    def refuse(self, ledger_id: int, entry_id: int, error: RemoteError, done: list[Completion]) -> None:
        """Hand the error of one entry to the ranges that want it."""
        for waiting in self._ranges.get(ledger_id, ()):
            if waiting.first <= entry_id <= waiting.last:
                self._note(waiting)
            waiting.refuse(entry_id, error)
        self._complete(ledger_id, done)

    def expire(self, now: float, error: RemoteError) -> list[Completion]:
        """Complete the ranges whose deadline has passed; ``error`` is that of the entries without an answer."""
        done: list[Completion] = []
        for ledger_id, ranges in list(self._ranges.items()):
            done += [waiting.completion(error) for waiting in ranges if waiting.deadline <= now]
            self._keep(ledger_id, [waiting for waiting in ranges if waiting.deadline > now])
        return done

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        """Tell each range as :meth:`Correlation.tell_slow` does."""
        waiting = list(chain.from_iterable(self._ranges.values()))
        return min((each.tell_slow(deadline, tell) for each in waiting), default=inf)

    def take_all(self) -> list[Any]:
        """Take out every range, and return the tokens."""
        ranges, self._ranges = self._ranges, {}
        return [waiting.token for each in ranges.values() for waiting in each]

    def _note(self, waiting: RangeRead) -> None:
        if self.answered is None or waiting.deadline < self.answered:
            self.answered = waiting.deadline

    def _complete(self, ledger_id: int, done: list[Completion]) -> None:
        ranges = self._ranges.get(ledger_id, ())
        if any(waiting.complete for waiting in ranges):
            done += [waiting.completion() for waiting in ranges if waiting.complete]
            self._keep(ledger_id, [waiting for waiting in ranges if not waiting.complete])

    def _keep(self, ledger_id: int, ranges: list[RangeRead]) -> None:
        if ranges:
            self._ranges[ledger_id] = ranges
        else:
            self._ranges.pop(ledger_id, None)
